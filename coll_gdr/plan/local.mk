# plan: which algorithm, its schedule, the lane layout; pure
noinst_LTLIBRARIES += libgdr_plan.la
libgdr_plan_la_SOURCES = \
	coll_gdr/plan/gdr_schedule.h coll_gdr/plan/gdr_sched.c \
	coll_gdr/plan/gdr_layout.h coll_gdr/plan/gdr_layout.c \
	coll_gdr/plan/gdr_plan.h coll_gdr/plan/gdr_plan.c \
	coll_gdr/plan/gdr_builder.h coll_gdr/plan/gdr_builder.c \
	coll_gdr/plan/gdr_select.h coll_gdr/plan/select.c \
	coll_gdr/plan/gdr_algorithms.h coll_gdr/plan/algorithms.c \
	coll_gdr/plan/gdr_blocks.h coll_gdr/plan/twoshot.c coll_gdr/plan/ring.c
