/*
 * scenario_parts.h - the pieces of a scenario that are numbers: load, time, faults.
 *
 * Shared by the reader of documents and by scenario_set(). Each takes a node that may be
 * NULL, which leaves the default.
 */
#ifndef DOCUMENT_SCENARIO_PARTS_H
#define DOCUMENT_SCENARIO_PARTS_H

#include "document/reader.h"
#include "document/scenario.h"

/* Put the defaults where zero is none. */
void scenario_parts_default(struct scenario *scenario);

/* Read everything but cluster, workflows, profile and policy, which must be there already. */
void scenario_parts_read(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario);

/* After a failure the arrivals are of no use: keep a copy. */
void scenario_read_rate(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario);
void scenario_read_jobs(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario);
void scenario_read_noise(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario);
void scenario_read_profile_error(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario);
void scenario_read_warmup(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario);
void scenario_read_row(struct reader *reader, const struct tree_node *node, int64_t *row_ns_out);

/* Fail at @node if the jobs would take longer than clocks count. */
void scenario_check_length(
    struct reader *reader, const struct tree_node *node, const struct scenario *scenario);

/*
 * The tree at @root with one setting of the command line changed, in @arena. Parts of it that are
 * in files of their own must be in the tree already.
 */
const struct tree_node *scenario_set(
    struct reader *reader, struct arena *arena, const struct tree_node *root,
    const struct scenario_setting *setting);

/* The policy: a text, or a mapping from roles to policies. */
void scenario_policy_text(
    struct reader *reader, const struct tree_node *node, char policy_out[POLICY_TEXT_BYTES_MAX]);
void scenario_read_policy(
    struct reader *reader, const struct tree_node *node, struct scenario *scenario);

#endif /* DOCUMENT_SCENARIO_PARTS_H */
