/* scenario_set.h - settings of the command line, put into a scenario before it is read. */
#ifndef DOCUMENT_SCENARIO_SET_H
#define DOCUMENT_SCENARIO_SET_H

#include "document/reader.h"
#include "document/scenario.h"

/*
 * The tree at @root with one setting of the command line changed, in @arena. Parts of it that are
 * in files of their own must be in the tree already.
 */
const struct tree_node *scenario_set(
    struct reader *reader, struct arena *arena, const struct tree_node *root,
    const struct scenario_setting *setting);

#endif /* DOCUMENT_SCENARIO_SET_H */
