#include "directory/membership.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uv.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/units.h"
#include "directory/back_ends.h"
#include "engine/monotonic.h"
#include "fabric/net_stream.h"
#include "model/agreement.h"
#include "runtime/remote.h"

enum {
    RETRY_MS = 200, /* After a call that failed at once. */
    START_MS = 50,  /* For news, while a process starts and has soon something to say. */
    RACES_MAX = 8,  /* For names that were free a moment before. */
};

#define TITLE_WAIT_NS (2 * NS_PER_MS * DIRECTORY_LEASE_MS) /* For an earlier holder of a title. */

/* How it stands with the directory. */
enum state { STATE_GOOD, STATE_AWAY, STATE_LOST };

/* What the thread has found out last. */
struct findings {
    enum state state;
    char cause[sizeof(((struct weft_error *)NULL)->message)]; /* If it is away. */
    struct member_list list;
};

struct membership {
    struct membership_options options;
    uint32_t node; /* Its own. */
    pthread_t thread;

    pthread_mutex_t lock; /* Of all until the empty line. */
    struct member self;
    struct findings found;
    uv_async_t *signal; /* NULL: there is no runtime. */
    bool is_new;        /* What self says has changed: others should hear of it now. */
    bool is_shown;      /* The directory has what self said last. */
    bool ends;
    pthread_cond_t shown; /* It has. */

    struct runtime *runtime; /* The rest is of the runtime's thread. */
    struct membership_host host;
    struct findings *taken;         /* A copy of what was found. */
    enum state told;                /* What the log was told of the directory. */
    uint64_t *incarnations;         /* By node: what the runtime was told. 0: it is no member. */
    char (*titles)[NAME_BYTES_MAX]; /* The same: what it is called. */
    bool is_told;                   /* The host was told that the name is lost. */
    bool drains;                    /* It was told to leave. */
};

static void say_member(const struct membership *membership, const struct member *member)
{
    const struct log_field fields[] = {
        log_text("node", member_title(member)),
        log_number("incarnation", (int64_t)member->incarnation),
        log_text("address", member->address),
    };
    log_say(membership->options.log, LOG_INFO, "member", 3, fields);
}

/* @member is of this cluster, and this node does not work with it. */
static void say_other(const struct membership *membership, const struct member *member)
{
    char cause[2 * MEMBER_VERSION_BYTES + 32] = "other models or workflows";
    if (strcmp(member->version, membership->self.version) != 0) {
        (void)snprintf(
            cause, sizeof(cause), "it is Weft %s, this is %s", member->version,
            membership->self.version);
    }
    const struct log_field fields[] = {
        log_text("node", member_title(member)),
        log_number("incarnation", (int64_t)member->incarnation),
        log_text("address", member->address),
        log_text("cause", cause),
    };
    log_say(membership->options.log, LOG_WARN, "member serves something else", 4, fields);
}

/* Whether @member, which is node @number from now on, can be used here; its last life is over. */
static bool take_machine(
    struct membership *membership, uint32_t number, const struct member *member)
{
    const struct membership_host *host = &membership->host;
    struct weft_error error = {.status = WEFT_OK};
    const bool is_alike = member->agreement == membership->self.agreement;
    if (is_alike && host->on_machine == NULL) {
        return true;
    }
    if (membership->incarnations[number] != 0) { /* It may have been another machine, or alike. */
        runtime_remove_member(membership->runtime, number);
    }
    if (!is_alike) {
        say_other(membership, member);
        return false;
    }
    if (host->on_machine(host->context, number, member, &error)) {
        return true;
    }
    const struct log_field fields[] = {
        log_text("node", member_title(member)), log_text("cause", error.message)};
    log_say(membership->options.log, LOG_ERROR, "machine cannot be used", 2, fields);
    return false;
}

/* Tell the runtime what has become of node @number. */
static void tell_node(struct membership *membership, uint32_t number)
{
    const char *name = membership->options.names[number];
    const struct member *member = member_find(&membership->taken->list, name);
    uint64_t *known = &membership->incarnations[number];
    const bool is_member = member != NULL && member->address[0] != '\0';
    if (!is_member && *known != 0) {
        const struct log_field field = log_text("node", membership->titles[number]);
        log_say(membership->options.log, LOG_WARN, "member lost", 1, &field);
        runtime_remove_member(membership->runtime, number);
        *known = 0;
    } else if (is_member && *known != member->incarnation) {
        if (take_machine(membership, number, member)) {
            say_member(membership, member);
            (void)snprintf(membership->titles[number], NAME_BYTES_MAX, "%s", member_title(member));
            const struct net_stream_peer peer = {
                .node = number,
                .incarnation = member->incarnation,
                .address = member->address,
                .name = member_title(member),
            };
            runtime_set_member(membership->runtime, &peer);
        }
        *known = member->incarnation;
    }
}

/* The directory went away, or came back. */
static void tell_state(struct membership *membership)
{
    const struct findings *news = membership->taken;
    if (news->state == membership->told) {
        return;
    }
    membership->told = news->state;
    const struct log_field field = log_text("cause", news->cause);
    if (news->state == STATE_AWAY) {
        log_say(
            membership->options.log, LOG_WARN, "directory away: members stay as they are", 1,
            &field);
    } else if (news->state == STATE_GOOD) {
        log_say(membership->options.log, LOG_INFO, "directory is back", 0, NULL);
    }
}

void membership_tell(struct membership *membership, const struct member_editions *editions)
{
    (void)pthread_mutex_lock(&membership->lock);
    membership->self.editions = *editions;
    membership->is_new = true;
    membership->is_shown = false;
    (void)pthread_mutex_unlock(&membership->lock);
}

/* Tell the runtime of all other nodes. */
static void tell_nodes(struct membership *membership)
{
    for (uint32_t i = 0; i < membership->options.node_count; i++) {
        if (strcmp(membership->options.names[i], membership->self.name) != 0) {
            tell_node(membership, i);
        }
    }
}

static void on_signal(uv_async_t *signal)
{
    struct membership *membership = signal->data;
    if (membership == NULL) {
        return; /* It was detached. */
    }
    const char *own = membership->self.name;
    (void)pthread_mutex_lock(&membership->lock);
    *membership->taken = membership->found;
    (void)pthread_mutex_unlock(&membership->lock);
    tell_state(membership);
    if (membership->taken->state == STATE_LOST) {
        if (!membership->is_told) {
            membership->is_told = true;
            log_say(membership->options.log, LOG_ERROR, "name lost", 0, NULL);
            membership->host.on_lost(membership->host.context);
        }
        return;
    }
    tell_nodes(membership);
    if (membership->host.on_members != NULL) {
        membership->host.on_members(membership->host.context, &membership->taken->list);
    }
    const struct member *self = member_find(&membership->taken->list, own);
    if (self != NULL && self->drains && !membership->drains) {
        membership->drains = true;
        membership->host.on_drain(membership->host.context);
    }
}

/* What is new, within @wait_ms? WEFT_LOST also if another holds the name, or its key was removed.
 */
static enum weft_status ask(
    struct membership *membership, const struct member *self, uint32_t wait_ms,
    struct member_list *list, struct weft_error *error)
{
    struct directory *directory = membership->options.directory;
    const enum weft_status status = directory_list(directory, wait_ms, list, error);
    if (status != WEFT_OK) {
        return status;
    }
    const struct member *found = member_find(list, self->name);
    return found == NULL || found->incarnation != self->incarnation ? WEFT_LOST : WEFT_OK;
}

/* Keep what was found, and wake the runtime if it is new. False: the thread has nothing more to do.
 */
static bool publish(
    struct membership *membership, enum weft_status status, const struct member_list *list,
    const struct weft_error *error)
{
    const enum state state = status == WEFT_OK     ? STATE_GOOD
                             : status == WEFT_LOST ? STATE_LOST
                                                   : STATE_AWAY;
    (void)pthread_mutex_lock(&membership->lock);
    struct findings *kept = &membership->found;
    const size_t bytes = list->count * sizeof(list->items[0]);
    bool is_new = state != kept->state;
    kept->state = state;
    if (state == STATE_GOOD) {
        is_new = is_new || list->count != kept->list.count ||
                 memcmp(kept->list.items, list->items, bytes) != 0;
        kept->list.count = list->count;
        memcpy(kept->list.items, list->items, bytes);
    } else if (state == STATE_AWAY) {
        (void)snprintf(kept->cause, sizeof(kept->cause), "%s", error->message);
    }
    if (is_new && membership->signal != NULL) {
        (void)uv_async_send(membership->signal); /* It cannot fail. */
    }
    const bool goes_on = state != STATE_LOST && !membership->ends;
    (void)pthread_mutex_unlock(&membership->lock);
    return goes_on;
}

/* The directory has what was said, unless there is more to say already. */
static void show(struct membership *membership)
{
    (void)pthread_mutex_lock(&membership->lock);
    membership->is_shown = !membership->is_new;
    (void)pthread_cond_broadcast(&membership->shown);
    (void)pthread_mutex_unlock(&membership->lock);
}

static void *be_member(void *argument)
{
    struct membership *membership = argument;
    struct member_list *list = memory_zeroed(1, sizeof(*list));
    int64_t kept_ns = 0;
    bool goes_on = true;
    while (goes_on) {
        struct weft_error error = {.status = WEFT_OK};
        enum weft_status status = WEFT_OK;
        (void)pthread_mutex_lock(&membership->lock);
        const struct member self = membership->self;
        const bool is_new = membership->is_new;
        const bool starts = membership->signal == NULL && !member_is_guest(&self);
        membership->is_new = false;
        (void)pthread_mutex_unlock(&membership->lock);
        if (is_new || monotonic_ns() - kept_ns >= DIRECTORY_KEEP_MS * NS_PER_MS) {
            status = directory_keep(membership->options.directory, &self, &error);
            kept_ns = status == WEFT_OK ? monotonic_ns() : 0;
            if (status == WEFT_OK) {
                show(membership);
            }
        }
        if (status == WEFT_OK) {
            status = ask(membership, &self, starts ? START_MS : DIRECTORY_KEEP_MS, list, &error);
        }
        goes_on = publish(membership, status, list, &error);
        if (status != WEFT_OK && goes_on) {
            directory_pause(RETRY_MS);
        }
    }
    free(list);
    return NULL;
}

/* Whether those who are there have the same fleet and catalogue. */
static enum weft_status check_agreement(
    const struct membership *membership, const struct member_list *list, struct weft_error *error)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const struct member *member = &list->items[i];
        if (!member_is_guest(member) &&
            !agreement_is_of_one_cluster(member->agreement, membership->self.agreement)) {
            return error_set(
                error, WEFT_INVALID,
                "node '%s' is of another cluster: members, workers, memory, device and slots must "
                "be alike",
                member_title(member));
        }
    }
    return WEFT_OK;
}

/* See who is there, and whether they agree. */
static enum weft_status look(struct membership *membership, struct weft_error *error)
{
    struct member_list *list = &membership->found.list;
    const enum weft_status status =
        directory_list(membership->options.directory, /* wait_ms */ 0, list, error);
    return status == WEFT_OK && !member_is_guest(&membership->self)
               ? check_agreement(membership, list, error)
               : status;
}

/*
 * Take a name that is free for self. Where it looks first depends on its title, so that those who
 * start at the same time do not all want the same. WEFT_BUSY: another process was faster.
 */
static enum weft_status take_any(struct membership *membership, struct weft_error *error)
{
    const struct membership_options *options = &membership->options;
    const uint32_t count = options->node_count;
    const uint32_t first = count == 0 ? 0 : (uint32_t)(hash_text(membership->self.title) % count);
    uint32_t tried = 0;
    while (tried < count &&
           member_find(&membership->found.list, options->names[(first + tried) % count]) != NULL) {
        tried++;
    }
    if (tried == count) {
        return error_set(
            error, WEFT_LIMIT, "the cluster has all %u members that it has room for", count);
    }
    memcpy(membership->self.name, options->names[(first + tried) % count], NAME_BYTES_MAX);
    const enum weft_status status = directory_join(options->directory, &membership->self, error);
    return status == WEFT_EXISTS ? WEFT_BUSY : status;
}

/* Whether a member that has a smaller number, or is not self at all, has the title of self. */
static bool is_title_taken(const struct membership *membership)
{
    const struct member *self = &membership->self;
    const struct member_list *list = &membership->found.list;
    bool is_taken = false;
    for (uint32_t i = 0; i < membership->options.node_count; i++) {
        const char *name = membership->options.names[i];
        const struct member *member = member_find(list, name);
        if (strcmp(name, self->name) == 0) {
            break;
        }
        is_taken = is_taken || (member != NULL && strcmp(member->title, self->title) == 0);
    }
    return is_taken;
}

/*
 * Hold any name, once no other process has the title of self: one that is gone is waited for. Of
 * two that join at the same time, the second in the order of names gives way.
 */
static enum weft_status join_any(struct membership *membership, struct weft_error *error)
{
    struct member *self = &membership->self;
    int64_t end_ns = monotonic_ns() + TITLE_WAIT_NS;
    uint32_t races = 0;
    enum weft_status status = WEFT_BUSY;
    while (status == WEFT_BUSY && races < RACES_MAX && monotonic_ns() < end_ns) {
        self->name[0] = '\0';
        status = look(membership, error);
        if (status == WEFT_OK && is_title_taken(membership)) {
            status = WEFT_BUSY;
            directory_pause(RETRY_MS);
            continue;
        }
        status = status == WEFT_OK ? take_any(membership, error) : status;
        if (status == WEFT_BUSY) { /* That took a while, for which no other node is to blame. */
            end_ns = monotonic_ns() + TITLE_WAIT_NS;
            races++;
        } else if (status == WEFT_OK) {
            status = look(membership, error);
            status = status == WEFT_OK && is_title_taken(membership) ? WEFT_BUSY : status;
            if (status != WEFT_OK) {
                directory_leave(membership->options.directory, self);
            }
        }
    }
    return status == WEFT_BUSY
               ? error_set(
                     error, WEFT_EXISTS, "the name '%s' is held by another process", self->title)
               : status;
}

/* Join, if those who are there agree. */
static enum weft_status join(struct membership *membership, struct weft_error *error)
{
    if (membership->self.name[0] == '\0') {
        return join_any(membership, error);
    }
    enum weft_status status = look(membership, error);
    if (status == WEFT_OK) {
        status = directory_join(membership->options.directory, &membership->self, error);
    }
    if (status == WEFT_OK) { /* From now on no member goes on to an edition without this one. */
        status = look(membership, error);
        if (status != WEFT_OK) {
            directory_leave(membership->options.directory, &membership->self);
        }
    }
    return status;
}

/* Its waits are measured by the clock of monotonic_ns(). */
static void open_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

static void release(struct membership *membership)
{
    (void)pthread_cond_destroy(&membership->shown);
    (void)pthread_mutex_destroy(&membership->lock);
    free(membership->incarnations);
    free(membership->titles);
    free(membership->taken);
    free(membership);
}

enum weft_status membership_open(
    const struct membership_options *options, struct membership **membership_out,
    struct weft_error *error)
{
    struct membership *membership = memory_zeroed(1, sizeof(*membership));
    membership->options = *options;
    membership->self = options->self;
    membership->incarnations = memory_zeroed(options->node_count + 1, sizeof(uint64_t));
    membership->titles = memory_zeroed(options->node_count + 1, NAME_BYTES_MAX);
    membership->taken = memory_zeroed(1, sizeof(*membership->taken));
    (void)pthread_mutex_init(&membership->lock, NULL);
    open_condition(&membership->shown);
    enum weft_status status = join(membership, error);
    *membership->taken = membership->found;
    for (uint32_t i = 0; i < options->node_count; i++) {
        const bool is_self = strcmp(options->names[i], membership->self.name) == 0;
        const char *title = is_self ? member_title(&membership->self) : options->names[i];
        memcpy(membership->titles[i], title, NAME_BYTES_MAX);
        membership->node = is_self ? i : membership->node;
    }
    if (status == WEFT_OK &&
        pthread_create(&membership->thread, NULL, be_member, membership) != 0) {
        directory_leave(options->directory, &membership->self);
        status = error_set(error, WEFT_IO, "no thread for the directory");
    }
    if (status != WEFT_OK) {
        release(membership);
        return status;
    }
    *membership_out = membership;
    return WEFT_OK;
}

uint32_t membership_node(const struct membership *membership)
{
    return membership->node;
}

const char (*membership_titles(const struct membership *membership))[NAME_BYTES_MAX]
{
    return (const char(*)[NAME_BYTES_MAX])membership->titles;
}

bool membership_knows(struct membership *membership, const char *title)
{
    char guest[NAME_BYTES_MAX];
    member_guest_name(title, guest);
    (void)pthread_mutex_lock(&membership->lock);
    const struct member_list *list = &membership->found.list;
    const bool knows = member_find_title(list, title) != NULL || member_find(list, guest) != NULL;
    (void)pthread_mutex_unlock(&membership->lock);
    return knows;
}

const struct member_list *membership_list(const struct membership *membership)
{
    return &membership->taken->list;
}

bool membership_is_alike(const struct membership *membership, const struct member *member)
{
    return member->agreement == membership->self.agreement;
}

void membership_copy(struct membership *membership, struct member_list *list_out)
{
    (void)pthread_mutex_lock(&membership->lock);
    *list_out = membership->found.list;
    (void)pthread_mutex_unlock(&membership->lock);
}

uint64_t membership_incarnation(const struct membership *membership)
{
    return membership->self.incarnation;
}

/* With the lock. Not for ever: where the directory is away, it is heard of later. */
static void wait_until_shown(struct membership *membership)
{
    const int64_t end_ns = monotonic_ns() + DIRECTORY_LEASE_MS * NS_PER_MS;
    const struct timespec end = {.tv_sec = end_ns / NS_PER_S, .tv_nsec = end_ns % NS_PER_S};
    int failed = 0;
    while (!membership->is_shown && failed == 0) {
        failed = pthread_cond_timedwait(&membership->shown, &membership->lock, &end);
    }
}

void membership_attach(
    struct membership *membership, struct runtime *runtime, const char *address, const char *http,
    const struct membership_host *host)
{
    uv_async_t *signal = memory_zeroed(1, sizeof(*signal));
    const int code = uv_async_init(runtime_loop(runtime), signal, on_signal);
    ASSERT(code == 0); /* The loop has its descriptor for signals already. */
    uv_unref((uv_handle_t *)signal);
    signal->data = membership;
    membership->runtime = runtime;
    membership->host = *host;
    memset(membership->incarnations, 0, membership->options.node_count * sizeof(uint64_t));
    (void)pthread_mutex_lock(&membership->lock);
    (void)snprintf(membership->self.address, sizeof(membership->self.address), "%s", address);
    (void)snprintf(membership->self.http, sizeof(membership->self.http), "%s", http);
    membership->signal = signal;
    membership->is_new = true;
    membership->is_shown = false;
    (void)uv_async_send(signal); /* There may be news already. */
    wait_until_shown(membership);
    *membership->taken = membership->found;
    (void)pthread_mutex_unlock(&membership->lock);
    tell_nodes(membership); /* Before a client asks: others may have the answer. */
}

static void on_closed(uv_handle_t *handle)
{
    free(handle);
}

void membership_detach(struct membership *membership)
{
    (void)pthread_mutex_lock(&membership->lock);
    uv_async_t *signal = membership->signal;
    membership->signal = NULL;
    (void)pthread_mutex_unlock(&membership->lock);
    if (signal != NULL) {
        signal->data = NULL;
        uv_close((uv_handle_t *)signal, on_closed);
    }
}

void membership_close(struct membership *membership)
{
    if (membership == NULL) {
        return;
    }
    ASSERT(membership->signal == NULL);
    (void)pthread_mutex_lock(&membership->lock);
    membership->ends = true;
    (void)pthread_mutex_unlock(&membership->lock);
    (void)pthread_join(membership->thread, NULL); /* It is joinable. */
    directory_leave(membership->options.directory, &membership->self);
    release(membership);
}
