/* scenario_check.h - whether the parts of a scenario fit together. */
#ifndef DOCUMENT_SCENARIO_CHECK_H
#define DOCUMENT_SCENARIO_CHECK_H

#include "document/reader.h"
#include "document/scenario.h"

/*
 * Fail, at the line of a task, if the profile does not say how long it runs on any kind of
 * device of the fleet, or does not know one of its models. @workflows has the node of each
 * workflow of the catalogue; @profile is the node of the profile.
 */
void scenario_check_profile(
    struct reader *reader, const struct scenario *scenario, const struct model_set *listed,
    const struct tree_node *const *workflows, const struct tree_node *profile);

/* Fail, at @node, if the profile has a run time on some device that the truth does not have. */
void scenario_check_truth(
    struct reader *reader, const struct scenario *scenario, const struct tree_node *node);

/*
 * Fail, at its line, if no worker can ever hold a task with as many items as it can have:
 * profile/need.h.
 */
void scenario_check_memory(
    struct reader *reader, const struct scenario *scenario,
    const struct tree_node *const *workflows);

/* Fail, at @node, if @mixture places a task on a device that cannot run it. */
void scenario_check_mixture(
    struct reader *reader, const struct scenario *scenario, const struct mixture *mixture,
    const struct tree_node *node);

#endif /* DOCUMENT_SCENARIO_CHECK_H */
