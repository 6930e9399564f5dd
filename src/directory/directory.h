/*
 * directory.h - which processes are in the cluster: names held by leases. The port to it.
 *
 * A directory is one of several back ends behind a table. A name is held by one process at a time,
 * in an incarnation that is larger than those of all earlier holders. A holder that does not keep
 * its name loses it DIRECTORY_LEASE_MS later; whether it has lost it, only the directory says. One
 * that cannot be reached says nothing, and what it said last still holds.
 *
 * Calls block, for a few seconds at most. One thread at a time; membership.h has one for it.
 */
#ifndef DIRECTORY_DIRECTORY_H
#define DIRECTORY_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

#include "base/limits.h"

struct directory;

enum {
    DIRECTORY_LEASE_MS = 3000, /* etcd's shortest is 2 s; a leader's loss takes it about as long. */
    DIRECTORY_KEEP_MS = 500,   /* Between two times that a name is kept. */
    DIRECTORY_MEMBERS_MAX = 256,
    MEMBER_ADDRESS_BYTES = 256,
    MEMBER_VERSION_BYTES = 32,
    MEMBER_MODELS_BYTES = 4096, /* 128 bytes, and up to 14 a model. */
    MEMBER_NOTE_BYTES = 256,
    MEMBER_RESOURCES_BYTES = 1024,
    MEMBER_TEXT_BYTES = 12288, /* Of a member, as JSON. */
};

_Static_assert(DIRECTORY_LEASE_MS >= 4 * DIRECTORY_KEEP_MS, "a lease survives a few failures");

/* What a process says of editions of its repository: view/editions.h. */
struct member_editions {
    uint32_t newest; /* These four as there. */
    uint32_t held;
    uint32_t serves;
    uint32_t oldest;
    char models[MEMBER_MODELS_BYTES];  /* What the newest is: as the service writes it. */
    char serving[MEMBER_MODELS_BYTES]; /* The same of the one that it serves. */
    char note[MEMBER_NOTE_BYTES];      /* Why it cannot run the newest. "": it can, or will. */
};

/* What others are told of a process. */
struct member {
    char name[NAME_BYTES_MAX];
    char
        title[NAME_BYTES_MAX]; /* What it is called, if names only number nodes. "": as its name. */
    char address[MEMBER_ADDRESS_BYTES];     /* HOST:PORT, for other nodes. "": not ready yet. */
    char http[MEMBER_ADDRESS_BYTES];        /* The same for clients. "": it has none. */
    char version[MEMBER_VERSION_BYTES];     /* Of the program and of what nodes speak. */
    uint64_t agreement;                     /* As of model/agreement.h. */
    char resources[MEMBER_RESOURCES_BYTES]; /* Its workers: model/resources.h. "": as all have. */
    struct member_editions editions;
    uint64_t incarnation; /* As the directory says. */
    bool drains;          /* It was asked to leave. The same. */
};

/* In the order of their names. */
struct member_list {
    uint32_t count;
    struct member items[DIRECTORY_MEMBERS_MAX];
};

struct directory_ops {
    const char *name;

    /*
     * Hold the name of @self from now on, and set its incarnation: larger than the one it had, if
     * any. A holder that is there no more is waited for. Required.
     *
     * Errors: WEFT_EXISTS if another process holds it; WEFT_IO.
     */
    enum weft_status (*join)(
        struct directory *directory, struct member *self, struct weft_error *error);

    /*
     * Go on holding the name of @self, which may say something else than before. Required.
     *
     * Errors: WEFT_LOST if it is not held any more; WEFT_IO, which says nothing about that.
     */
    enum weft_status (*keep)(
        struct directory *directory, const struct member *self, struct weft_error *error);

    /*
     * Wait for news, but no longer than about @wait_ms, and then say who holds a name. Required.
     *
     * Errors: WEFT_IO; *list_out is unchanged.
     */
    enum weft_status (*list)(
        struct directory *directory, uint32_t wait_ms, struct member_list *list_out,
        struct weft_error *error);

    /* Ask @member to finish what it has, and to leave. Required. Errors: WEFT_IO. */
    enum weft_status (*ask_to_drain)(
        struct directory *directory, const struct member *member, struct weft_error *error);

    /* Give the name of @self back, if it is still held: others need not wait. Required. */
    void (*leave)(struct directory *directory, const struct member *self);

    /* Release it. Whatever is held stays so until its lease ends. Required. */
    void (*destroy)(struct directory *directory);
};

/* Embedded first in every implementation. */
struct directory {
    const struct directory_ops *ops;
};

struct directory_options {
    const char *where;     /* "file:FOLDER" or "etcd://HOST:PORT,HOST:PORT[/PREFIX]". */
    const char *ca_file;   /* Of etcds://, which is etcd with TLS. NULL: the system's. */
    const char *user_file; /* Of etcd: "USER:PASSWORD". NULL: none is needed. */
};

/*
 * Open the directory that @options name; nothing is asked of it yet. The caller owns
 * *directory_out.
 *
 * Errors: WEFT_INVALID for a place that is none, WEFT_IO for a file or folder that cannot be used.
 */
enum weft_status directory_open(
    const struct directory_options *options, struct directory **directory_out,
    struct weft_error *error);

enum weft_status directory_join(
    struct directory *directory, struct member *self, struct weft_error *error);
enum weft_status directory_keep(
    struct directory *directory, const struct member *self, struct weft_error *error);
enum weft_status directory_list(
    struct directory *directory, uint32_t wait_ms, struct member_list *list_out,
    struct weft_error *error);
enum weft_status directory_ask_to_drain(
    struct directory *directory, const struct member *member, struct weft_error *error);
void directory_leave(struct directory *directory, const struct member *self);

/* NULL is allowed. */
void directory_destroy(struct directory *directory);

/* Let @ms pass. */
void directory_pause(uint32_t ms);

/* The member that holds @name. NULL: there is none. */
const struct member *member_find(const struct member_list *list, const char *name);

/* What people call @member, and the one that is called so. The same. */
const char *member_title(const struct member *member);
const struct member *member_find_title(const struct member_list *list, const char *title);

/*
 * What a process holds that is to be node @name, but only fetches files for now. No node is called
 * so, and it is no member to others.
 */
void member_guest_name(const char *name, char out[static NAME_BYTES_MAX]);
bool member_is_guest(const struct member *member);

/* Put @member in its place, unless the list is full. */
void member_insert(struct member_list *list, const struct member *member);

#endif /* DIRECTORY_DIRECTORY_H */
