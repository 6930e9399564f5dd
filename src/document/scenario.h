/*
 * scenario.h - an experiment as a document: everything a run needs, checked as a whole.
 *
 * A scenario is read once and then only read. It names its workflows and profile by
 * paths relative to its own file, or holds them inline. Nothing is half-loaded: either
 * all of it is good, or one line says which file, which line and why.
 */
#ifndef DOCUMENT_SCENARIO_H
#define DOCUMENT_SCENARIO_H

#include <stdint.h>
#include <stdio.h>

#include <weft/status.h>

#include "base/arena.h"
#include "document/profile_document.h"
#include "document/record.h"
#include "document/settings.h"
#include "document/tree.h"
#include "model/arrivals.h"
#include "model/catalogue.h"
#include "model/fault.h"
#include "model/fleet.h"
#include "model/pace.h"
#include "policy/compose.h"
#include "profile/profile.h"

struct mixture;

enum {
    SCENARIO_SEEDS_MAX = 1024,
    SCENARIO_LIST_MAX = 200000, /* Arrivals that one document has room for. */
};

struct scenario {
    char name[NAME_BYTES_MAX];
    struct arena arena; /* Of lists below. */
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct profile *profile;
    struct profile_origin origin; /* Where the figures of the profile come from. */
    struct profile *truth;        /* How long batches really take; NULL: as the profile says. */
    struct profile_origin truth_origin;
    struct arrivals arrivals;
    const struct mixture *mixture;      /* For policy nona, in the arena. NULL: none is named. */
    char policy[POLICY_TEXT_BYTES_MAX]; /* As policy_set_parse() reads it; checked. */
    struct settings_rows rows;
    double noise;             /* Run times vary uniformly by this fraction up and down. */
    double profile_error;     /* How far the profile may be from the truth. */
    struct pace pace;         /* Of every machine; its factors are in the arena. */
    uint64_t jobs;            /* How many arrive. */
    bool has_deputies;        /* Requests survive their owners: node/keys.h. */
    bool is_asked_twice;      /* With deputies: some clients ask once more for what they have. */
    int64_t members_after_ns; /* Within which each node hears of new members. */
    double warmup;            /* The fraction of them that is not reported. */
    uint32_t seed_count;
    uint64_t seeds[SCENARIO_SEEDS_MAX];
    uint32_t fault_count;
    const struct fault *faults;
    uint32_t fault_random_count;
    struct fault_random fault_randoms[FAULT_RANDOMS_MAX]; /* Drawn by each run, from its seed. */
};

extern const struct field scenario_fields[];

/*
 * Read the scenario at @path. On success the caller owns *scenario_out.
 *
 * Errors: WEFT_IO if a file cannot be read, WEFT_INVALID or WEFT_LIMIT for what it says.
 * @error is "file:line: cause".
 */
enum weft_status scenario_load(
    const char *path, struct scenario **scenario_out, struct weft_error *error);

/*
 * The same for a tree. Paths in it are relative to the folder of its file.
 */
enum weft_status scenario_read(
    const struct tree_node *node, struct scenario **scenario_out, struct weft_error *error);

/*
 * What `--set key=value` changes before a scenario is read: rate, deadline, patience, jobs,
 * noise, profile_error, deputies, warmup, workers, link, latency, rows.load, rows.cache, memory,
 * policy, seeds.
 */
struct scenario_setting {
    const char *key;
    const char *value;
};

/*
 * The same with settings changed, in their order.
 *
 * Errors: also WEFT_NOT_FOUND for an unknown key. What is wrong with a value has no line.
 */
enum weft_status scenario_load_with(
    const char *path, const struct scenario_setting *settings, uint32_t setting_count,
    struct scenario **scenario_out, struct weft_error *error);
enum weft_status scenario_read_with(
    const struct tree_node *node, const struct scenario_setting *settings, uint32_t setting_count,
    struct scenario **scenario_out, struct weft_error *error);

/*
 * Write @scenario to @file as one document, which reads as the same scenario. A trace becomes a
 * list of its arrivals; where workflows were drawn for its rows, they are those of the first seed,
 * which is then the only one written. Whether it could be written, the file knows.
 *
 * Errors, before anything is written: WEFT_INVALID if no document describes its machines;
 * WEFT_LIMIT for a list or trace of more than SCENARIO_LIST_MAX.
 */
enum weft_status scenario_write(
    const struct scenario *scenario, FILE *file, struct weft_error *error);

/* Release @scenario. NULL is allowed. */
void scenario_destroy(struct scenario *scenario);

#endif /* DOCUMENT_SCENARIO_H */
