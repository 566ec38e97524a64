/* gdr_watch.so: an object that is nothing but the last one that was loaded, see watch.c. */
extern const char gdr_watch_object;
__attribute__((visibility("default"))) const char gdr_watch_object = 1;
