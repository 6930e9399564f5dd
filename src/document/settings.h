/*
 * settings.h - weft.yaml: how this machine serves a repository. docs/DOCUMENTS.md has the form.
 *
 * Everything may be left out. What is 0 then depends on the machine and its engine.
 */
#ifndef DOCUMENT_SETTINGS_H
#define DOCUMENT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

#include "base/limits.h"
#include "document/record.h"
#include "document/tree.h"
#include "policy/compose.h"

/* Looks at links, models, queues and deadlines; docs/POLICIES.md has the rule. */
#define SETTINGS_POLICY_DEFAULT "weft"

enum { SETTINGS_MEMBERS_MAX = 256 };

/* Between two publications of each part of a row. */
struct settings_rows {
    int64_t load_ns;
    int64_t cache_ns;
};

/* What is said of one model or function. */
struct settings_model {
    char name[NAME_BYTES_MAX];
    uint32_t batch_max; /* Items of one run at most. 0: no limit. */
    int64_t time_ns;    /* Of a call of a function. 0: as all of them. */
    bool pinned;
    uint32_t line; /* Where it is said. */
};

/* What runs in processes of its own, where a crash hurts nothing else. */
enum settings_isolate { ISOLATE_NOTHING, ISOLATE_ALL, ISOLATE_FUNCTIONS };

/* What functions in processes of their own may use. 0: the default of the engine. */
struct settings_functions {
    int64_t time_ns; /* Of a call. */
    uint64_t memory_bytes;
    uint64_t output_bytes; /* Of a call. */
    bool is_open;          /* Without a sandbox: they are trusted. */
};

/* What batches share a GPU by; as the field lists them. */
enum settings_shares { SHARES_STREAMS, SHARES_PROCESSORS, SHARES_PRIORITIES };

enum { SETTINGS_GPUS_MAX = 64 };

/* Which GPUs of this machine are used for models that have a form for them. */
struct settings_gpus {
    uint32_t count;        /* At most. */
    uint32_t workers;      /* That each is cut into, with equal parts of its memory and units. */
    uint64_t memory_bytes; /* Of each, for models. 0: what there is. */
    int64_t spin_ns;       /* The server polls so long for the end of a batch. */
    enum settings_shares shares;
};

struct settings {
    char name[NAME_BYTES_MAX];
    uint32_t nodes;        /* In this process. */
    bool is_member;        /* Of a cluster: the others are in other processes. Not read. */
    bool has_open_members; /* Members come under any names: those below only number them. */
    uint32_t member_count; /* Nodes of the cluster that this machine may join. */
    char members[SETTINGS_MEMBERS_MAX][NAME_BYTES_MAX]; /* Their names, in the order of nodes. */
    uint32_t slots;   /* Workers that a node of the cluster may have: they may differ. 0: not. */
    uint32_t workers; /* Of each node. */
    uint32_t threads; /* Of each worker: 1. */
    uint64_t memory_bytes;       /* Of each worker, for models and workspaces. */
    char device[NAME_BYTES_MAX]; /* As profiles call it; "": as this machine is called. */
    char policy[POLICY_TEXT_BYTES_MAX];
    int64_t slo_ns; /* Of workflows that say none. 0: best effort. */
    struct settings_rows rows;
    uint32_t jobs_max; /* Of each node at once. 0: no limit. */
    enum settings_isolate isolate;
    int64_t run_ns_max; /* Of a batch in a process of its own. 0: the default of the engine. */
    struct settings_functions functions;
    struct settings_gpus gpus;
    bool admits_all;       /* However long a request would wait: otherwise some are refused. */
    bool ignores_priority; /* What clients say of it. */
    uint32_t model_count;
    struct settings_model models[MODELS_MAX];
};

extern const struct field settings_fields[];
extern const struct field settings_rows_fields[];      /* Of `rows`, as in a scenario. */
extern const struct field settings_functions_fields[]; /* Of `functions`. */
extern const struct field settings_gpus_fields[];      /* Of `gpus`. */
extern const struct field settings_model_fields[];     /* Of each of `models`. */

/* As if nothing were said. */
void settings_default(struct settings *settings_out);

/*
 * Read the settings at @node.
 *
 * Errors: WEFT_INVALID, with "file:line: cause".
 */
enum weft_status settings_read(
    const struct tree_node *node, struct settings *settings_out, struct weft_error *error);

#endif /* DOCUMENT_SETTINGS_H */
