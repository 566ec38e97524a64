# plan: which algorithm, its schedule, the lane layout; pure
noinst_LTLIBRARIES += libgdr_plan.la
libgdr_plan_la_SOURCES = \
	coll_gdr/plan/gdr_schedule.h coll_gdr/plan/gdr_sched.c \
	coll_gdr/plan/gdr_layout.h coll_gdr/plan/gdr_layout.c \
	coll_gdr/plan/gdr_plan.h coll_gdr/plan/gdr_plan.c coll_gdr/plan/growth.c \
	coll_gdr/plan/gdr_builder.h coll_gdr/plan/gdr_builder.c \
	coll_gdr/plan/gdr_select.h coll_gdr/plan/select.c \
	coll_gdr/plan/gdr_cost.h coll_gdr/plan/cost.c \
	coll_gdr/plan/gdr_machine.h coll_gdr/plan/machine.c \
	coll_gdr/plan/gdr_algorithms.h coll_gdr/plan/algorithms.c coll_gdr/plan/work.c \
	coll_gdr/plan/gdr_blocks.h coll_gdr/plan/oneshot.c coll_gdr/plan/knomial.c \
	coll_gdr/plan/twoshot.c coll_gdr/plan/ring.c \
	coll_gdr/plan/gdr_circulant.h coll_gdr/plan/circulant_steps.c coll_gdr/plan/circulant.c \
	coll_gdr/plan/gdr_topology.h coll_gdr/plan/topology.c coll_gdr/plan/hierarchical.c \
	coll_gdr/plan/gdr_hierarchical.h coll_gdr/plan/hierarchical_work.c

# The checker: for tests and authors of algorithms, not in the plugin.
noinst_LTLIBRARIES += libgdr_plan_check.la
libgdr_plan_check_la_SOURCES = \
	coll_gdr/plan/gdr_check.h coll_gdr/plan/gdr_check.c coll_gdr/plan/gdr_check_parts.h \
	coll_gdr/plan/check_form.c coll_gdr/plan/check_match.c coll_gdr/plan/check_graph.c \
	coll_gdr/plan/check_race.c coll_gdr/plan/check_order.c coll_gdr/plan/check_value.c
libgdr_plan_check_la_LIBADD = libgdr_plan.la
