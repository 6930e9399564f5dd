/*
 * rollout.h - editions of a served repository: those that are held here, and the one that is
 * served.
 *
 * A change of the repository, by a client of this node or of another, makes a new edition. It is
 * held when the files of all its models are here and can be used, served when every member of the
 * cluster holds it, and dropped when no job names it: view/editions.h has the rules. Without a
 * cluster the same happens at once. All of it belongs to the runtime's thread; files are fetched
 * and looked at on another.
 */
#ifndef SERVICE_ROLLOUT_H
#define SERVICE_ROLLOUT_H

#include "directory/membership.h"
#include "server/server.h"
#include "service/edition.h"

struct artifacts;
struct fetch_options;
struct local_index;
struct rollout;

/* Of the repository of @index, whose models @artifacts are; both are borrowed. */
struct rollout *rollout_create(struct local_index *index, struct artifacts *artifacts);

/*
 * Read the files of all models, so that a cluster that is joined next can be told of them without
 * waiting. That takes a while: @on_model is told before each.
 */
void rollout_read(
    struct rollout *rollout,
    void (*on_model)(void *context, const char *name, uint32_t index, uint32_t count),
    void *context);

/* NULL is allowed. */
void rollout_destroy(struct rollout *rollout);

/* There is a runtime, that of the index: it holds the first edition, what was found at the start.
 */
void rollout_open(struct rollout *rollout);

/*
 * This is node @node of a cluster, called @name: go on from what its members have. @fetch says how
 * to get files; all are borrowed. May wait for them.
 *
 * Errors: WEFT_INVALID, WEFT_IO or WEFT_LIMIT if what they serve cannot be had, or run.
 */
enum weft_status rollout_join(
    struct rollout *rollout, struct membership *membership, uint32_t node, const char *name,
    const struct fetch_options *fetch, struct weft_error *error);

/* The members, as they are now. */
void rollout_members(struct rollout *rollout, const struct member_list *list);

/* The runtime goes: clients that wait are told. */
void rollout_close(struct rollout *rollout);

/* The newest edition, to be changed by a client. */
void rollout_begin(const struct rollout *rollout, struct edition *edition_out);

/*
 * Let @edition, of whose models everything was looked at here, come next. @changed is called once
 * it is served, with what members did, or when one of them cannot; NULL: no client waits for it.
 */
void rollout_change(
    struct rollout *rollout, const struct edition *edition, server_changed changed, void *asker);

#endif /* SERVICE_ROLLOUT_H */
