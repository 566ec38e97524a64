/* Where the objects lie that the plugin opens. */
#include "mca/gdr_mca.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The directory that the plugin really lies in, behind links; "" if unknown. */
static void plugin_directory(char *out, size_t size)
{
    char *file = realpath(gdr_mca.plugin_file, NULL);
    char *slash = file == NULL ? NULL : strrchr(file, '/');

    out[0] = '\0';
    if (slash != NULL && (size_t)(slash - file) < size) {
        *slash = '\0';
        strcpy(out, file);
    }
    free(file);
}

/*
 * Where it is installed, seen from the plugin, wherever that was moved to; beside the plugin, as in
 * a build tree; where it was configured to be.
 */
bool gdr_mca_place(int number, const char *name, char *path, size_t size)
{
    static const char *const places[] = {"/../coll_gdr", "", GDR_GLUEDIR};
    char directory[PATH_MAX / 2] = "";

    if (number >= 3)
        return false;
    if (number < 2)
        plugin_directory(directory, sizeof(directory));
    snprintf(path, size, "%s%s/%s", directory, places[number], name);
    return true;
}
