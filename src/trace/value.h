/*
 * value.h - what the number of a record means, and how its names are found: what the
 * two forms of a trace have in common. For the files of this layer.
 */
#ifndef TRACE_VALUE_H
#define TRACE_VALUE_H

#include "base/text.h"
#include "model/catalogue.h"
#include "node/record.h"

enum value_meaning {
    VALUE_NONE,
    VALUE_ITEMS,
    VALUE_BYTES,
    VALUE_UNITS,       /* Of a GPU. */
    VALUE_SEQUENCE,    /* Of a reservation. */
    VALUE_RETRY_NS,    /* Until the next try. */
    VALUE_RESERVED_NS, /* Work promised to a worker. */
    VALUE_RUN_NS,      /* Of a batch. */
    VALUE_LATENCY_NS,  /* Since arrival. */
    VALUE_PEER,        /* Another node. */
    VALUE_PROBLEM,
    VALUE_HOME,  /* The node that keeps the queue. */
    VALUE_TASKS, /* Of a claim. */
    VALUE_ATTEMPT,
    VALUE_END_NS, /* Until a task would end. */
};

/* "; w0: ends in 41.000 ms", then ", w1: 67.000 ms (must load vision)": records of kind WEIGHED. */
void trace_text_weighed(
    struct text *text, const struct record *record, const struct catalogue *catalogue,
    bool is_first);

/* @key and @value as part of a JSON object. */
void trace_json_string(struct text *text, const char *key, const char *value);

/* What the value of a record of @kind means. */
enum value_meaning value_meaning(uint32_t kind);

/* The workflow of @record, or NULL. */
static inline const struct workflow *value_workflow(
    const struct record *record, const struct catalogue *catalogue)
{
    return record->workflow < catalogue->workflow_count ? catalogue->workflows[record->workflow]
                                                        : NULL;
}

#endif /* TRACE_VALUE_H */
