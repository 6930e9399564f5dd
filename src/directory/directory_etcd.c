/*
 * directory_etcd.c - members as keys in etcd, each with a lease.
 *
 *     PREFIX/members/NAME    what its holder says; the revision that made the key is the
 * incarnation PREFIX/drain/NAME      the incarnation that was asked to leave
 *
 * A key can be made only where there is none, so one process holds a name. Watching only tells that
 * something has changed: the list is then read as a whole. So nothing is missed where revisions
 * were compacted away, or another etcd answers.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"
#include "directory/back_ends.h"
#include "directory/etcd_call.h"
#include "engine/monotonic.h"

enum {
    KEY_BYTES = 256,
    PREFIX_BYTES = 128,
    RETRY_MS = 200,
    DRAIN_LEASE_S = 60, /* Nothing is left of what nobody heard. */
    WATCH_LINES = 2,    /* The first says that it is watched. */
};

#define JOIN_NS (2 * DIRECTORY_LEASE_MS * NS_PER_MS)

struct directory_etcd {
    struct directory base;
    struct etcd etcd;
    char prefix[PREFIX_BYTES];
    char ca_file[KEY_BYTES];
    uint64_t lease;     /* 0: none. */
    struct member said; /* What the key of this process says. */
    uint64_t revision;  /* Of the last list. 0: there was none. */
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

/*
 * Let the key of @self say what it says, if it was made by revision @made; 0: if there is none.
 * WEFT_BUSY if that is not so.
 */
static enum weft_status put(
    struct directory_etcd *directory, const struct member *self, uint64_t made,
    uint64_t *revision_out, struct weft_error *error)
{
    char text[MEMBER_TEXT_BYTES];
    char lease[24];
    char revision[24];
    json_t *answer = NULL;
    const size_t bytes = member_encode(self, /* beat */ 0, text);
    ASSERT(bytes > 0);
    (void)snprintf(lease, sizeof(lease), "%" PRIu64, directory->lease);
    (void)snprintf(revision, sizeof(revision), "%" PRIu64, made);
    json_t *body = json_pack(
        "{s:[{s:o, s:s, s:s, s:s}], s:[{s:{s:o, s:o, s:s}}]}", "compare", "key",
        key_of(directory, "members/", self->name), "target", "CREATE", "create_revision", revision,
        "result", "EQUAL", "success", "request_put", "key",
        key_of(directory, "members/", self->name), "value", etcd_bytes(text, bytes), "lease",
        lease);
    const enum weft_status status =
        etcd_call(&directory->etcd, "/v3/kv/txn", body, /* lines */ 0, &answer, error);
    if (status != WEFT_OK) {
        return status;
    }
    const bool is_done = json_is_true(json_object_get(answer, "succeeded"));
    *revision_out = etcd_number(json_object_get(answer, "header"), "revision");
    json_decref(answer);
    return is_done ? WEFT_OK : WEFT_BUSY;
}

static enum weft_status etcd_join(
    struct directory *base, struct member *self, struct weft_error *error)
{
    struct directory_etcd *directory = etcd_from(base);
    const int64_t end_ns = monotonic_ns() + JOIN_NS;
    uint64_t revision = 0;
    enum weft_status status = grant(directory, DIRECTORY_LEASE_MS / 1000, &directory->lease, error);
    if (status != WEFT_OK) {
        return status;
    }
    status = put(directory, self, /* made */ 0, &revision, error);
    while (status == WEFT_BUSY && monotonic_ns() < end_ns) {
        revoke(directory); /* It would have to be kept. */
        directory_pause(RETRY_MS);
        status = grant(directory, DIRECTORY_LEASE_MS / 1000, &directory->lease, error);
        if (status == WEFT_OK) {
            status = put(directory, self, /* made */ 0, &revision, error);
        }
    }
    if (status != WEFT_OK) {
        revoke(directory);
        return status != WEFT_BUSY
                   ? status
                   : error_set(
                         error, WEFT_EXISTS, "etcd: the name '%s' is held by another process",
                         self->name);
    }
    self->incarnation = revision;
    directory->said = *self;
    return WEFT_OK;
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
        strcmp(self->http, directory->said.http) != 0) {
        uint64_t revision;
        status = put(directory, self, self->incarnation, &revision, error);
        if (status == WEFT_OK) {
            directory->said = *self;
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

/* Take one key of the list. */
static void take_key(
    const struct directory_etcd *directory, const json_t *pair, struct member_list *list)
{
    char key[KEY_BYTES];
    char value[MEMBER_TEXT_BYTES + 4];
    size_t bytes;
    uint64_t beat;
    struct member member;
    const size_t prefix = strlen(directory->prefix) + 1;
    static const char folder[] = "members/";
    if (!etcd_take_bytes(json_object_get(pair, "key"), key, sizeof(key), &bytes) ||
        bytes < prefix + strlen(folder) || strncmp(key + prefix, folder, strlen(folder)) != 0 ||
        !etcd_take_bytes(json_object_get(pair, "value"), value, sizeof(value), &bytes) ||
        !member_decode(value, bytes, key + prefix + strlen(folder), &member, &beat)) {
        return; /* Something else, or of another version. */
    }
    member.incarnation = etcd_number(pair, "create_revision");
    member_insert(list, &member);
}

/* Mark the members that were asked to leave. */
static void take_drain(
    const struct directory_etcd *directory, const json_t *pair, struct member_list *list)
{
    char key[KEY_BYTES];
    char value[64];
    size_t bytes;
    const size_t prefix = strlen(directory->prefix) + 1;
    static const char folder[] = "drain/";
    if (!etcd_take_bytes(json_object_get(pair, "key"), key, sizeof(key), &bytes) ||
        bytes < prefix + strlen(folder) || strncmp(key + prefix, folder, strlen(folder)) != 0 ||
        !etcd_take_bytes(json_object_get(pair, "value"), value, sizeof(value), &bytes)) {
        return;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        struct member *member = &list->items[i];
        if (strcmp(member->name, key + prefix + strlen(folder)) == 0 &&
            member->incarnation == strtoull(value, NULL, 10)) {
            member->drains = true;
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
    const json_t *pairs = json_object_get(answer, "kvs");
    list_out->count = 0;
    directory->revision = etcd_number(json_object_get(answer, "header"), "revision");
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        take_key(directory, json_array_get(pairs, i), list_out);
    }
    for (size_t i = 0; i < json_array_size(pairs); i++) {
        take_drain(directory, json_array_get(pairs, i), list_out);
    }
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
