/*
 * editions.h - new versions of models, which nodes tell each other of through the directory.
 */
#ifndef SIM_EDITIONS_H
#define SIM_EDITIONS_H

#include "sim/inside.h"

/* If a fault brings a new version. */
void editions_init(struct sim *sim);
void editions_deinit(struct sim *sim);
/* Node @node has a new version, which the last of the others gets @for_ns later. */
ATTR_COLD void editions_begin(struct sim *sim, uint32_t node, int64_t for_ns);
/* Node @node looks at what the others say. */
ATTR_COLD void editions_look(struct sim *sim, uint32_t node);
/* Node @node has just been booted again. */
ATTR_COLD void editions_join(struct sim *sim, uint32_t node);
/* Under which edition @node accepts jobs. */
uint32_t editions_served(const struct sim *sim, uint32_t node);
/* All of @launch names one edition, which is held where it runs, and its inputs are of it. */
ATTR_COLD void editions_check_launch(
    const struct sim *sim, uint32_t node, const struct effect_launch *launch);
/* The outputs of an answer were made by one edition. */
ATTR_COLD void editions_check_answer(const struct sim *sim, const struct effect_answer *answer);
/* What made the contents of @tensor: an edition plus 1; 0 if nothing did. And noting it. */
ATTR_COLD uint32_t editions_made(const struct sim *sim, struct handle tensor);
ATTR_COLD void editions_note(struct sim *sim, struct handle tensor, uint32_t made);
ATTR_COLD void editions_forget(struct sim *sim, struct handle tensor);

#endif /* SIM_EDITIONS_H */
