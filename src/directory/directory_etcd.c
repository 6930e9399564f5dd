/*
 * directory_etcd.c - members as keys in etcd, each with a lease.
 *
 *     PREFIX/members/NAME    what its holder says
 *     PREFIX/lives/NAME      the incarnation of its last holder
 *     PREFIX/drain/NAME      the incarnation that was asked to leave
 *
 * A key of members can be made only where there is none, so one process holds a name. Its
 * incarnation follows the last one. Where there is no last one, because the name is new or etcd has
 * lost everything, it is the time in seconds: others may still know a life of that name from
 * before. Revisions would be incarnations as well, but an etcd that others write to soon counts
 * beyond 32 bits, and begins again when it has lost everything.
 *
 * Watching only tells that something has changed: the list is then read as a whole. So nothing is
 * missed where revisions were compacted away, or another etcd answers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/units.h"
#include "directory/back_ends.h"
#include "directory/etcd_call.h"
#include "engine/monotonic.h"
#include "runtime/clock.h"

enum {
    KEY_BYTES = 256,
    LIFE_BYTES = 24,
    PREFIX_BYTES = 128,
    RETRY_MS = 200,
    DRAIN_LEASE_S = 60, /* Nothing is left of what no node heard. */
    WATCH_LINES = 2,    /* The first says that it is watched. */
};

#define JOIN_NS (2 * NS_PER_MS * DIRECTORY_LEASE_MS)

struct directory_etcd {
    struct directory base;
    struct etcd etcd;
    char prefix[PREFIX_BYTES];
    char ca_file[KEY_BYTES];
    uint64_t lease;     /* 0: none. */
    uint64_t made;      /* The revision that made the key of this process. */
    struct member said; /* What it says. */
    uint64_t revision;  /* Of the last list. 0: there was none. */
};

/* A key under the prefix, and what it says. */
struct pair {
    char key[KEY_BYTES];
    const char *name; /* In key: its last part. */
    char value[MEMBER_TEXT_BYTES + 4];
    size_t bytes; /* Of the value. */
};

static struct directory_etcd *etcd_from(struct directory *directory)
{
    return (struct directory_etcd *)directory; /* base is the first member. */
}

/* A key under the prefix, as the gateway wants it. */
static json_t *key_of(const struct directory_etcd *directory, const char *folder, const char *name)
{
    char key[KEY_BYTES];
    const int length = snprintf(key, sizeof(key), "%s/%s%s", directory->prefix, folder, name);
    ASSERT(length > 0 && (size_t)length < sizeof(key));
    return etcd_bytes(key, (size_t)length);
}

/* Where the keys under the prefix end: '0' follows '/'. */
static json_t *keys_end(const struct directory_etcd *directory)
{
    char key[KEY_BYTES];
    const int length = snprintf(key, sizeof(key), "%s0", directory->prefix);
    return etcd_bytes(key, (size_t)length);
}

static enum weft_status grant(
    struct directory_etcd *directory, uint32_t seconds, uint64_t *lease_out,
    struct weft_error *error)
{
    json_t *answer = NULL;
    const enum weft_status status = etcd_call(
        &directory->etcd, "/v3/lease/grant", json_pack("{s:i}", "TTL", (int)seconds),
        /* lines */ 0, &answer, error);
    if (status == WEFT_OK) {
        *lease_out = etcd_number(answer, "ID");
        json_decref(answer);
    }
    return status;
}

static void revoke(struct directory_etcd *directory)
{
    char lease[24];
    json_t *answer = NULL;
    (void)snprintf(lease, sizeof(lease), "%" PRIu64, directory->lease);
    if (directory->lease != 0 &&
        etcd_call(
            &directory->etcd, "/v3/lease/revoke", json_pack("{s:s}", "ID", lease), /* lines */ 0,
            &answer, NULL) == WEFT_OK) {
        json_decref(answer); /* Otherwise it ends by itself. */
    }
    directory->lease = 0;
}

/* Put @text at @key, which is taken, under the lease if there is one. */
static json_t *request_put(
    const struct directory_etcd *directory, json_t *key, const char *text, size_t bytes,
    bool is_leased)
{
    char lease[24];
    (void)snprintf(lease, sizeof(lease), "%" PRIu64, is_leased ? directory->lease : 0);
    return json_pack(
        "{s:{s:o, s:o, s:s}}", "request_put", "key", key, "value", etcd_bytes(text, bytes), "lease",
        lease);
}

/* The condition that the key in @folder has @revision, of its making or its last change; 0: none.
 */
static json_t *condition(
    const struct directory_etcd *directory, const char *folder, const char *name, bool is_making,
    uint64_t revision)
{
    char text[LIFE_BYTES];
    (void)snprintf(text, sizeof(text), "%" PRIu64, revision);
    return json_pack(
        "{s:o, s:s, s:s, s:s}", "key", key_of(directory, folder, name), "target",
        is_making ? "CREATE" : "MOD", is_making ? "create_revision" : "mod_revision", text,
        "result", "EQUAL");
}

/* Do @requests if @conditions hold; both are taken. WEFT_BUSY: they do not. */
static enum weft_status transact(
    struct directory_etcd *directory, json_t *conditions, json_t *requests, json_t **answer_out,
    struct weft_error *error)
{
    json_t *body = json_pack("{s:o, s:o}", "compare", conditions, "success", requests);
    const enum weft_status status =
        etcd_call(&directory->etcd, "/v3/kv/txn", body, /* lines */ 0, answer_out, error);
    if (status == WEFT_OK && !json_is_true(json_object_get(*answer_out, "succeeded"))) {
        json_decref(*answer_out);
        return WEFT_BUSY;
    }
    return status;
}

static json_t *request_say(const struct directory_etcd *directory, const struct member *self)
{
    char text[MEMBER_TEXT_BYTES];
    const size_t bytes = member_encode(self, /* beat */ 0, text);
    ASSERT(bytes > 0);
    return request_put(
        directory, key_of(directory, "members/", self->name), text, bytes, /* is_leased */ true);
}

/* What the key of lives in @pair says; 0 if there is none. */
static uint64_t take_life(const json_t *pair)
{
    char value[LIFE_BYTES];
    size_t bytes;
    return etcd_take_bytes(json_object_get(pair, "value"), value, sizeof(value), &bytes)
               ? strtoull(value, NULL, 10)
               : 0;
}

static uint64_t now_s(void)
{
    struct clock clock;
    clock_init(&clock, CLOCK_KIND_REAL);
    return (uint64_t)(clock_wall_ns(&clock, clock.now_ns) / NS_PER_S);
}

/* The incarnation of the next life of @self, and the revision that wrote its last. */
static enum weft_status find_life(
    struct directory_etcd *directory, const struct member *self, uint64_t *life_out,
    uint64_t *revision_out, struct weft_error *error)
{
    json_t *answer = NULL;
    json_t *body = json_pack("{s:o}", "key", key_of(directory, "lives/", self->name));
    const enum weft_status status =
        etcd_call(&directory->etcd, "/v3/kv/range", body, /* lines */ 0, &answer, error);
    if (status != WEFT_OK) {
        return status;
    }
    const json_t *found = json_array_get(json_object_get(answer, "kvs"), 0);
    const uint64_t last = found == NULL ? now_s() : take_life(found);
    *life_out = max_u64(last, self->incarnation) + 1;
    *revision_out = etcd_number(found, "mod_revision");
    json_decref(answer);
    return WEFT_OK;
}

/* Make the key of @self. WEFT_BUSY: it is there, or another was faster. */
static enum weft_status take(
    struct directory_etcd *directory, struct member *self, struct weft_error *error)
{
    char text[LIFE_BYTES];
    json_t *answer = NULL;
    uint64_t life = 0;
    uint64_t revision = 0;
    enum weft_status status = find_life(directory, self, &life, &revision, error);
    if (status == WEFT_OK) {
        status = grant(directory, DIRECTORY_LEASE_MS / 1000, &directory->lease, error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    (void)snprintf(text, sizeof(text), "%" PRIu64, life);
    json_t *requests = json_pack(
        "[o, o]", request_say(directory, self),
        request_put(
            directory, key_of(directory, "lives/", self->name), text, strlen(text),
            /* is_leased */ false));
    json_t *conditions = json_pack(
        "[o, o]", condition(directory, "members/", self->name, /* is_making */ true, 0),
        condition(directory, "lives/", self->name, /* is_making */ false, revision));
    status = transact(directory, conditions, requests, &answer, error);
    if (status != WEFT_OK) {
        revoke(directory); /* It would have to be kept. */
        return status;
    }
    self->incarnation = life;
    directory->made = etcd_number(json_object_get(answer, "header"), "revision");
    directory->said = *self;
    json_decref(answer);
    return WEFT_OK;
}

static enum weft_status etcd_join(
    struct directory *base, struct member *self, struct weft_error *error)
{
    struct directory_etcd *directory = etcd_from(base);
    const int64_t end_ns = monotonic_ns() + JOIN_NS;
    enum weft_status status = take(directory, self, error);
    while (status == WEFT_BUSY && monotonic_ns() < end_ns) {
        directory_pause(RETRY_MS);
        status = take(directory, self, error);
    }
    return status != WEFT_BUSY ? status
                               : error_set(
                                     error, WEFT_EXISTS,
                                     "etcd: the name '%s' is held by another process", self->name);
}

static enum weft_status lost(const struct member *self, struct weft_error *error)
{
    return error_set(error, WEFT_LOST, "etcd: the name '%s' is not held any more", self->name);
}

static enum weft_status etcd_keep(
    struct directory *base, const struct member *self, struct weft_error *error)
{
    struct directory_etcd *directory = etcd_from(base);
    char lease[24];
    json_t *answer = NULL;
    (void)snprintf(lease, sizeof(lease), "%" PRIu64, directory->lease);
    enum weft_status status = etcd_call(
        &directory->etcd, "/v3/lease/keepalive", json_pack("{s:s}", "ID", lease), /* lines */ 1,
        &answer, error);
    if (status != WEFT_OK) {
        return status;
    }
    if (answer == NULL) {
        return error_set(error, WEFT_IO, "etcd: does not say whether the lease is kept");
    }
    const uint64_t left_s = etcd_number(json_object_get(answer, "result"), "TTL");
    json_decref(answer);
    if (left_s == 0) {
        return lost(self, error);
    }
    if (strcmp(self->address, directory->said.address) != 0 ||
        strcmp(self->http, directory->said.http) != 0 ||
        memcmp(&self->editions, &directory->said.editions, sizeof(self->editions)) != 0) {
        json_t *conditions = json_pack(
            "[o]",
            condition(directory, "members/", self->name, /* is_making */ true, directory->made));
        json_t *requests = json_pack("[o]", request_say(directory, self));
        status = transact(directory, conditions, requests, &answer, error);
        if (status == WEFT_OK) {
            directory->said = *self;
            json_decref(answer);
        }
    }
    return status == WEFT_BUSY ? lost(self, error) : status;
}

/* Until something happens to a key, or the time of a call is over. */
static void watch(struct directory_etcd *directory)
{
    char revision[24];
    json_t *answer = NULL;
    (void)snprintf(revision, sizeof(revision), "%" PRIu64, directory->revision + 1);
    json_t *body = json_pack(
        "{s:{s:o, s:o, s:s}}", "create_request", "key", key_of(directory, "", ""), "range_end",
        keys_end(directory), "start_revision", revision);
    if (etcd_call(&directory->etcd, "/v3/watch", body, WATCH_LINES, &answer, NULL) == WEFT_OK) {
        json_decref(answer); /* Whatever it is: the list is read next, which also says errors. */
    }
}

/* The member called @name, to change it. NULL: there is none. */
static struct member *find(struct member_list *list, const char *name)
{
    const struct member *found = member_find(list, name);
    return found == NULL ? NULL : &list->items[found - list->items];
}

/* The key and the value of @pair, if it is in @folder. */
static bool take_pair(
    const struct directory_etcd *directory, const json_t *pair, const char *folder,
    struct pair *pair_out)
{
    size_t bytes;
    const size_t prefix = strlen(directory->prefix) + 1;
    const size_t skipped = prefix + strlen(folder);
    if (!etcd_take_bytes(
            json_object_get(pair, "key"), pair_out->key, sizeof(pair_out->key), &bytes) ||
        bytes < skipped || strncmp(pair_out->key + prefix, folder, strlen(folder)) != 0) {
        return false;
    }
    pair_out->name = pair_out->key + skipped;
    return etcd_take_bytes(
        json_object_get(pair, "value"), pair_out->value, sizeof(pair_out->value), &pair_out->bytes);
}

/* Who is there, in which incarnation, and who was asked to leave. */
static void take_members(
    const struct directory_etcd *directory, const json_t *pairs, struct member_list *list_out)
{
    struct pair pair;
    struct member member;
    uint64_t beat;
    list_out->count = 0;
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        if (take_pair(directory, json_array_get(pairs, i), "members/", &pair) &&
            member_decode(pair.value, pair.bytes, pair.name, &member, &beat)) {
            member_insert(list_out, &member);
        }
    }
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        const json_t *found = json_array_get(pairs, i);
        struct member *one =
            take_pair(directory, found, "lives/", &pair) ? find(list_out, pair.name) : NULL;
        if (one != NULL) {
            one->incarnation = take_life(found);
        }
    }
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        struct member *one = take_pair(directory, json_array_get(pairs, i), "drain/", &pair)
                                 ? find(list_out, pair.name)
                                 : NULL;
        if (one != NULL) {
            one->drains = one->incarnation == strtoull(pair.value, NULL, 10);
        }
    }
}

static enum weft_status etcd_list(
    struct directory *base, uint32_t wait_ms, struct member_list *list_out,
    struct weft_error *error)
{
    struct directory_etcd *directory = etcd_from(base);
    json_t *answer = NULL;
    if (wait_ms > 0 && directory->revision > 0) {
        watch(directory);
    }
    json_t *body =
        json_pack("{s:o, s:o}", "key", key_of(directory, "", ""), "range_end", keys_end(directory));
    const enum weft_status status =
        etcd_call(&directory->etcd, "/v3/kv/range", body, /* lines */ 0, &answer, error);
    if (status != WEFT_OK) {
        return status;
    }
    directory->revision = etcd_number(json_object_get(answer, "header"), "revision");
    take_members(directory, json_object_get(answer, "kvs"), list_out);
    json_decref(answer);
    return WEFT_OK;
}

static enum weft_status etcd_ask_to_drain(
    struct directory *base, const struct member *member, struct weft_error *error)
{
    struct directory_etcd *directory = etcd_from(base);
    char value[24];
    char lease[24];
    uint64_t granted = 0;
    json_t *answer = NULL;
    enum weft_status status = grant(directory, DRAIN_LEASE_S, &granted, error);
    if (status != WEFT_OK) {
        return status;
    }
    (void)snprintf(value, sizeof(value), "%" PRIu64, member->incarnation);
    (void)snprintf(lease, sizeof(lease), "%" PRIu64, granted);
    json_t *body = json_pack(
        "{s:o, s:o, s:s}", "key", key_of(directory, "drain/", member->name), "value",
        etcd_bytes(value, strlen(value)), "lease", lease);
    status = etcd_call(&directory->etcd, "/v3/kv/put", body, /* lines */ 0, &answer, error);
    if (status == WEFT_OK) {
        json_decref(answer);
    }
    return status;
}

static void etcd_leave(struct directory *base, const struct member *self)
{
    (void)self; /* Its key goes with the lease. */
    revoke(etcd_from(base));
}

static void etcd_destroy(struct directory *base)
{
    struct directory_etcd *directory = etcd_from(base);
    memset(directory->etcd.password, 0, sizeof(directory->etcd.password));
    free(directory);
}

static const struct directory_ops etcd_ops = {
    .name = "etcd",
    .join = etcd_join,
    .keep = etcd_keep,
    .list = etcd_list,
    .ask_to_drain = etcd_ask_to_drain,
    .leave = etcd_leave,
    .destroy = etcd_destroy,
};

enum weft_status directory_etcd_open(
    const char *where, bool is_tls, const struct directory_options *options,
    struct directory **directory_out, struct weft_error *error)
{
    char endpoints[MEMBER_TEXT_BYTES];
    const size_t length = strcspn(where, "/");
    const char *prefix =
        where[length] == '/' && where[length + 1] != '\0' ? where + length + 1 : "weft";
    const char *ca_file = options->ca_file == NULL ? "" : options->ca_file;
    if (length >= sizeof(endpoints) || strlen(prefix) >= PREFIX_BYTES ||
        strlen(ca_file) >= KEY_BYTES) {
        return error_set(error, WEFT_INVALID, "'%.100s' is too long for a directory", where);
    }
    (void)snprintf(endpoints, sizeof(endpoints), "%.*s", (int)length, where);
    struct directory_etcd *directory = memory_zeroed(1, sizeof(*directory));
    directory->base.ops = &etcd_ops;
    (void)snprintf(directory->prefix, sizeof(directory->prefix), "%s", prefix);
    (void)snprintf(directory->ca_file, sizeof(directory->ca_file), "%s", ca_file);
    directory->etcd.ca_file = ca_file[0] == '\0' ? NULL : directory->ca_file;
    enum weft_status status = etcd_add_endpoints(&directory->etcd, endpoints, is_tls, error);
    if (status == WEFT_OK && options->user_file != NULL) {
        status = etcd_read_user(&directory->etcd, options->user_file, error);
    }
    if (status != WEFT_OK) {
        etcd_destroy(&directory->base);
        return status;
    }
    *directory_out = &directory->base;
    return WEFT_OK;
}
