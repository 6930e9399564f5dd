/* rollout_answer.c - clients that wait until their change of the repository is served. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "runtime/runtime.h"
#include "service/rollout_inside.h"

#define WAIT_NS (60 * NS_PER_S) /* That a client waits for other members. */

enum { ANSWER_BYTES = 16384 };

/* A client that waits until an edition is served. */
struct waiter {
    struct waiter *next;
    uint32_t edition;
    int64_t until_ns;
    server_changed changed;
    void *asker;
};

/* A member that cannot take the newest edition, and why; NULL: there is none. */
static const char *find_failure(const struct rollout *rollout, char *out, size_t room)
{
    if (rollout->note[0] != '\0') {
        (void)snprintf(out, room, "%s", rollout->note);
        return out;
    }
    for (uint32_t i = 0; i < rollout->list->count; i++) {
        const struct member *member = &rollout->list->items[i];
        if (member->editions.newest == rollout->said.newest && member->editions.note[0] != '\0') {
            (void)snprintf(out, room, "node '%s': %s", member_title(member), member->editions.note);
            return out;
        }
    }
    return NULL;
}

/* What members have done, as JSON: names, and the change that they serve. */
static void write_answer(const struct rollout *rollout, char *out, size_t room)
{
    struct text text;
    text_init(&text, out, room);
    if (rollout->membership == NULL) {
        return;
    }
    text_add(
        &text, "{\"edition\":%" PRIu32 ",\"members\":[", rollout->said.serves >> EDITION_NODE_BITS);
    for (uint32_t i = 0; i < rollout->list->count; i++) {
        text_add(
            &text, "%s{\"node\":\"%s\",\"holds\":%" PRIu32 "}", i == 0 ? "" : ",",
            member_title(&rollout->list->items[i]),
            rollout->list->items[i].editions.held >> EDITION_NODE_BITS);
    }
    text_add(&text, "]}");
}

void rollout_answer(struct rollout *rollout, bool is_end)
{
    char message[ANSWER_BYTES] = "";
    const int64_t now_ns = is_end ? INT64_MAX : runtime_now_ns(rollout->index->runtime);
    struct waiter **link = &rollout->waiters;
    while (*link != NULL) {
        struct waiter *waiter = *link;
        enum weft_status status = WEFT_INVALID;
        if (rollout->said.serves >= waiter->edition) {
            status = WEFT_OK;
            write_answer(rollout, message, sizeof(message));
        } else if (
            (rollout->said.newest != waiter->edition && rollout->membership != NULL) ||
            find_failure(rollout, message, sizeof(message)) == NULL) {
            if (now_ns < waiter->until_ns) {
                link = &waiter->next;
                continue;
            }
            (void)snprintf(message, sizeof(message), "not all members have it yet");
        }
        *link = waiter->next;
        waiter->changed(waiter->asker, status, message);
        free(waiter);
    }
}

void rollout_wait(struct rollout *rollout, server_changed changed, void *asker)
{
    struct waiter *waiter = memory_zeroed(1, sizeof(*waiter));
    *waiter = (struct waiter){
        .next = rollout->waiters,
        .edition = rollout->said.newest,
        .until_ns = runtime_now_ns(rollout->index->runtime) + WAIT_NS,
        .changed = changed,
        .asker = asker,
    };
    rollout->waiters = waiter;
}
