# plan: which algorithm, its schedule, the lane layout; pure
noinst_HEADERS += coll_gdr/plan/gdr_schedule.h coll_gdr/plan/gdr_layout.h coll_gdr/plan/gdr_plan.h
