# engine: runs schedules over its four ports
noinst_LTLIBRARIES += libgdr_engine.la
libgdr_engine_la_SOURCES = \
	coll_gdr/engine/gdr_clock.h coll_gdr/engine/gdr_ctl.h coll_gdr/engine/gdr_net.h \
	coll_gdr/engine/gdr_dev.h coll_gdr/engine/gdr_engine.h \
	coll_gdr/engine/gdr_engine_types.h coll_gdr/engine/gdr_engine_priv.h \
	coll_gdr/engine/gdr_items.h coll_gdr/engine/gdr_lock.h coll_gdr/engine/gdr_messages.h \
	coll_gdr/engine/gdr_program.h \
	coll_gdr/engine/engine.c coll_gdr/engine/team.c coll_gdr/engine/vote.c \
	coll_gdr/engine/messages.c coll_gdr/engine/peers.c coll_gdr/engine/windows.c \
	coll_gdr/engine/lanes.c coll_gdr/engine/lost.c coll_gdr/engine/streams.c \
	coll_gdr/engine/members.c coll_gdr/engine/nodes.c coll_gdr/engine/plans.c \
	coll_gdr/engine/program.c coll_gdr/engine/calls.c coll_gdr/engine/contexts.c \
	coll_gdr/engine/issue.c coll_gdr/engine/host.c coll_gdr/engine/ordered.c \
	coll_gdr/engine/renew.c coll_gdr/engine/fail.c coll_gdr/engine/explain.c \
	coll_gdr/engine/gdr_ways.h coll_gdr/engine/ways.c coll_gdr/engine/ask.c coll_gdr/engine/begin.c
