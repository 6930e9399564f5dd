/* scenario_cut_copy.h - a scenario copied without some of its pieces: the inside of cut.h. */
#ifndef LAB_SCENARIO_CUT_COPY_H
#define LAB_SCENARIO_CUT_COPY_H

#include "lab/scenario_cut.h"

/* Whether piece @index of @part is among those that @cut leaves out. */
static inline bool cut_has(const struct scenario_cut *cut, enum scenario_part part, uint32_t index)
{
    return cut->part == part && index >= cut->first && index - cut->first < cut->count;
}

/* A copy without what @cut leaves out. NULL if nothing sensible is left. The caller owns it. */
struct scenario *scenario_cut_copy(const struct scenario *scenario, const struct scenario_cut *cut);

/* Make piece @index of @part plain, in place. False if it is plain already. */
bool scenario_cut_make_plain(struct scenario *scenario, enum scenario_part part, uint32_t index);

/* The number of settings that can be made plain. */
uint32_t scenario_cut_setting_count(void);

/* How many roles the policy of @scenario has parts for. */
uint32_t scenario_cut_role_count(const struct scenario *scenario);

#endif /* LAB_SCENARIO_CUT_COPY_H */
