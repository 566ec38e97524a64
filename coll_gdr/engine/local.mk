# engine: runs schedules over its four ports
noinst_HEADERS += coll_gdr/engine/gdr_clock.h coll_gdr/engine/gdr_ctl.h coll_gdr/engine/gdr_net.h \
	coll_gdr/engine/gdr_dev.h coll_gdr/engine/gdr_engine.h
