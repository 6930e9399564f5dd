/*
 * membership.h - a process as a member of a cluster: it holds its name, and hears of the others.
 *
 * A thread of its own talks to the directory. What it hears becomes calls to a runtime, on the
 * runtime's thread. If the directory cannot be reached, the members stay as they were.
 *
 *     membership_open()      the name is held from now on
 *     membership_attach()    there is a runtime, which others may reach
 *     membership_detach()    before it is destroyed
 *     membership_close()     the name is given back
 */
#ifndef DIRECTORY_MEMBERSHIP_H
#define DIRECTORY_MEMBERSHIP_H

#include "directory/directory.h"

struct log;
struct membership;
struct runtime;

struct membership_options {
    struct directory *directory; /* Borrowed, for this alone, until it is closed. */
    struct member self;          /* Without address; its incarnation is that of an earlier life.
                                    With a title and no name: it takes any that is free. */
    uint32_t node_count;         /* Of the fleet. */
    const char (*names)[NAME_BYTES_MAX]; /* Of every node, by its number. Borrowed. */
    struct log *log;                     /* NULL: none. */
};

/* What the owner is told, on the runtime's thread. The first two at most once. */
struct membership_host {
    void *context;
    void (*on_lost)(void *context);  /* The name is not held any more: nothing may be answered. */
    void (*on_drain)(void *context); /* It was asked to leave. */

    /*
     * @member is about to be told to the runtime as node @node, or to join. Whether it can be used;
     * in @error, why not. May be NULL.
     */
    bool (*on_machine)(
        void *context, uint32_t node, const struct member *member, struct weft_error *error);

    /* A member has come or gone, or says something else. Its own process is one of @list. May be
     * NULL. */
    void (*on_members)(void *context, const struct member_list *list);
};

/*
 * Hold the name of self. On success the caller owns *membership_out.
 *
 * Errors: those of directory_join(); WEFT_INVALID if a member has another fleet or catalogue, which
 * a guest need not know; WEFT_LIMIT if no name is free; WEFT_EXISTS also if the title is taken.
 */
enum weft_status membership_open(
    const struct membership_options *options, struct membership **membership_out,
    struct weft_error *error);

/* Whether a process is called @title, or is to be that node, as the directory said last. */
bool membership_knows(struct membership *membership, const char *title);

/* The number of the node that this process is. */
uint32_t membership_node(const struct membership *membership);

/* What nodes are called, by number; of one that was never there, its name. Of the runtime's thread.
 */
const char (*membership_titles(const struct membership *membership))[NAME_BYTES_MAX];

/* As the directory says. */
uint64_t membership_incarnation(const struct membership *membership);

/*
 * Others may reach @runtime, which hosts this node, at @address, and clients at @http; it is told
 * of them from now on. Its loop must run. A node that joins after this call sees them, and what was
 * told of editions before, unless the directory is away for seconds.
 */
void membership_attach(
    struct membership *membership, struct runtime *runtime, const char *address, const char *http,
    const struct membership_host *host);

/* Who was there when the name was first held, the process itself included. Borrowed. */
const struct member_list *membership_list(const struct membership *membership);

/* Whether @member has the same catalogue as this node, and works with it. */
bool membership_is_alike(const struct membership *membership, const struct member *member);

/* Who is there, as the directory said last. From any thread. */
void membership_copy(struct membership *membership, struct member_list *list_out);

/* Let all members hear what this process says of editions from now on. */
void membership_tell(struct membership *membership, const struct member_editions *editions);

/* The runtime is going to be destroyed. Nothing, if there is none. */
void membership_detach(struct membership *membership);

/* NULL is allowed. */
void membership_close(struct membership *membership);

#endif /* DIRECTORY_MEMBERSHIP_H */
