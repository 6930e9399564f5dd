#include "wire/message.h"

#include <string.h>

#include "base/assert.h"
#include "base/limits.h"
#include "base/units.h"
#include "base/utf8.h"
#include "model/fleet.h"
#include "wire/bytes.h"

/*
 *   version  kind  fields of the kind, in the order of the table  [count  entries or cause]
 *   1        1     1, 4 or 8 each                                 [2      2 each, 1 each  ]
 */

/* Groups of fields that kinds have in common, and single ones. */
enum {
    HAS_JOB = 1 << 0, /* Its id and its workflow. */
    HAS_TASK = 1 << 1,
    HAS_WORKER = 1 << 2,
    HAS_ATTEMPT = 1 << 3,
    HAS_SEQUENCE = 1 << 4,
    HAS_WORK = 1 << 5,  /* What a queue must know: items, priority, age, deadline. */
    HAS_INPUT = 1 << 6, /* Which one, and the tensor beside it. */
    HAS_REASON = 1 << 7,
    HAS_ROW_SEQUENCE = 1 << 8,
    HAS_CLAIM = 1 << 9,
    HAS_OUTCOME = 1 << 10, /* Of a claim. */
    HAS_RUN = 1 << 11,
    HAS_ASKED = 1 << 12,
    HAS_VICTIM = 1 << 13,
    HAS_MODEL = 1 << 14,

    HAS_KEY = 1 << 15,
    HAS_REQUEST = 1 << 16, /* With a key: what its next owner must know. */
    HAS_LOSSES = 1 << 17,
    HAS_OUTPUT = 1 << 18, /* Of an answer. */
    HAS_END = 1 << 19,
    HAS_LEARNT = 1 << 20,
    HAS_OFFER = 1 << 21, /* What is free where a task waits. */

    HAS_HASH = 1 << 22, /* Of the inputs of a request with a key. */

    HAS_LIFE = 1 << 23, /* Of the worker's node. */

    ALWAYS = 1 << 24,
    OF_TASK = HAS_JOB | HAS_TASK | HAS_WORKER | HAS_ATTEMPT,
};

static const uint32_t kind_fields[MESSAGE_KINDS] = {
    [MESSAGE_INPUT] = OF_TASK | HAS_SEQUENCE | HAS_WORK | HAS_INPUT,
    [MESSAGE_RESERVE] = OF_TASK | HAS_SEQUENCE | HAS_WORK,
    [MESSAGE_UNRESERVE] = OF_TASK | HAS_SEQUENCE,
    [MESSAGE_ACKNOWLEDGE] = HAS_WORKER | HAS_SEQUENCE | HAS_ROW_SEQUENCE,
    [MESSAGE_MOVED] = OF_TASK | HAS_LIFE,
    [MESSAGE_FAILED] = OF_TASK | HAS_REASON,
    [MESSAGE_CANCEL] = HAS_JOB | HAS_ATTEMPT,
    [MESSAGE_STEAL] = HAS_WORKER | HAS_VICTIM,
    [MESSAGE_NOTHING] = HAS_WORKER,
    [MESSAGE_QUERY] = HAS_JOB | HAS_ATTEMPT,
    [MESSAGE_PROBE] = HAS_JOB | HAS_ATTEMPT,
    [MESSAGE_ALIVE] = HAS_JOB | HAS_ATTEMPT,
    [MESSAGE_OFFER] = OF_TASK | HAS_SEQUENCE | HAS_WORK | HAS_OFFER,
    [MESSAGE_GONE] = OF_TASK,
    [MESSAGE_CLAIM] = OF_TASK | HAS_SEQUENCE | HAS_CLAIM,
    [MESSAGE_DECLINE] = HAS_WORKER | HAS_SEQUENCE | HAS_OUTCOME,
    [MESSAGE_PULL] = OF_TASK,
    [MESSAGE_UNFIT] = OF_TASK | HAS_REASON,
    [MESSAGE_ENDED] = HAS_WORKER | HAS_SEQUENCE | HAS_OUTCOME | HAS_RUN,
    [MESSAGE_ASK] = HAS_WORKER | HAS_ASKED,
    [MESSAGE_WARM] = HAS_WORKER | HAS_MODEL,
    [MESSAGE_SEEK] = OF_TASK,
    [MESSAGE_DEPUTE] = HAS_JOB | HAS_KEY | HAS_REQUEST | HAS_HASH | HAS_LOSSES,
    [MESSAGE_DEPUTED] = HAS_JOB | HAS_KEY | HAS_LOSSES,
    [MESSAGE_TAKEN] = HAS_JOB | HAS_KEY,
    [MESSAGE_TRIED] = HAS_JOB | HAS_KEY | HAS_LOSSES,
    [MESSAGE_SETTLED] = HAS_JOB | HAS_KEY | HAS_END,
    [MESSAGE_FORWARD] = HAS_JOB | HAS_KEY | HAS_REQUEST | HAS_HASH | HAS_LOSSES,
    [MESSAGE_RESULT] = HAS_JOB | HAS_KEY | HAS_OUTPUT,
    [MESSAGE_LEARNT] = HAS_LEARNT,
    [MESSAGE_RECALL] = HAS_JOB | HAS_KEY | HAS_HASH,
    [MESSAGE_UNKNOWN] = HAS_JOB | HAS_KEY,
    [MESSAGE_KEEP] = HAS_JOB | HAS_KEY | HAS_HASH | HAS_END,
};

/* One number of a message. @limit: it is below; 0: any. @specials: or among the last few. */
struct field {
    uint32_t group;
    uint32_t width;
    size_t offset;
    uint32_t limit;
    uint32_t specials;
    bool is_duration; /* Can be added to a time: 146 years at most, or INT64_MAX for none. */
};

#define FIELD(of, name, bytes)                                                                     \
    .group = (of), .offset = offsetof(struct message, name), .width = (bytes)

static const struct field fields[] = {
    {FIELD(ALWAYS, from, 4), .limit = NODES_MAX},
    {FIELD(ALWAYS, from_incarnation, 4)},
    {FIELD(ALWAYS, to_incarnation, 4)},
    {FIELD(HAS_JOB, job.node, 4), .limit = NODES_MAX},
    {FIELD(HAS_JOB, job.incarnation, 4)},
    {FIELD(HAS_JOB, job.number, 8)},
    {FIELD(HAS_JOB, workflow, 4), .limit = WORKFLOWS_MAX},
    {FIELD(HAS_TASK, task, 4), .limit = WORKFLOW_TASKS_MAX, .specials = 2},
    {FIELD(HAS_WORKER, worker, 4), .limit = WORKERS_MAX, .specials = 1},
    {FIELD(HAS_ATTEMPT, attempt, 4)},
    {FIELD(HAS_SEQUENCE, sequence, 8)},
    {FIELD(HAS_WORK, work.items, 4)},
    {FIELD(HAS_CLAIM, claim.items, 4)},
    {FIELD(HAS_WORK, work.priority, 4)},
    {FIELD(HAS_WORK, work.firm, 1), .limit = 2},
    {FIELD(HAS_WORK, work.age_ns, 8), .is_duration = true},
    {FIELD(HAS_WORK, work.left_ns, 8), .is_duration = true},
    {FIELD(HAS_INPUT, work.input, 4), .limit = WORKERS_MAX},
    {FIELD(HAS_VICTIM, victim, 4), .limit = WORKERS_MAX},
    {FIELD(HAS_LIFE, life, 4)},
    {FIELD(HAS_INPUT, work.settled, 1), .limit = 2},
    {FIELD(HAS_INPUT, work.bytes, 8)},
    {FIELD(HAS_REASON, reason, 4)},
    {FIELD(HAS_OUTCOME, outcome.reason, 4)},
    {FIELD(HAS_ROW_SEQUENCE, row_sequence, 8)},
    {FIELD(HAS_OUTCOME, outcome.free.row_sequence, 8)},
    {FIELD(HAS_OUTCOME, outcome.free.layout, 4)},
    {FIELD(HAS_OUTCOME, outcome.free.cpu, 4)},
    {FIELD(HAS_OUTCOME, outcome.free.gpu, 4)},
    {FIELD(HAS_OFFER, offer.free.row_sequence, 8)},
    {FIELD(HAS_OFFER, offer.free.layout, 4)},
    {FIELD(HAS_OFFER, offer.free.cpu, 4)},
    {FIELD(HAS_OFFER, offer.free.gpu, 4)},
    {FIELD(HAS_CLAIM, claim.number, 8)},
    {FIELD(HAS_OUTCOME, outcome.number, 8)},
    {FIELD(HAS_ASKED, asked, 8)},
    {FIELD(HAS_CLAIM, claim.index, 4), .limit = BATCH_TASKS_MAX},
    {FIELD(HAS_CLAIM, claim.count, 4), .limit = BATCH_TASKS_MAX + 1},
    {FIELD(HAS_CLAIM, claim.batch, 4)},
    {FIELD(HAS_CLAIM, claim.cpu, 4)},
    {FIELD(HAS_CLAIM, claim.gpu, 4)},
    {FIELD(HAS_CLAIM, claim.holder, 4), .limit = WORKERS_MAX},
    {FIELD(HAS_RUN, outcome.run_ns, 8), .is_duration = true},
    {FIELD(HAS_MODEL, model, 4), .limit = MODELS_MAX},
    {FIELD(HAS_KEY, deputy.key.words[0], 8)},
    {FIELD(HAS_KEY, deputy.key.words[1], 8)},
    {FIELD(HAS_REQUEST, deputy.items, 4)},
    {FIELD(HAS_REQUEST, deputy.priority, 4)},
    {FIELD(HAS_REQUEST, deputy.firm, 1), .limit = 2},
    {FIELD(HAS_REQUEST, deputy.left_ns, 8), .is_duration = true},
    {FIELD(HAS_REQUEST, deputy.bytes, 8)},
    {FIELD(HAS_HASH, deputy.inputs_hash, 8)},
    {FIELD(HAS_LOSSES, deputy.losses, 4)},
    {FIELD(HAS_OUTPUT, deputy.items, 4)},
    {FIELD(HAS_OUTPUT, deputy.bytes, 8)},
    {FIELD(HAS_OUTPUT, deputy.sink, 4), .limit = WORKERS_MAX},
    {FIELD(HAS_END, deputy.status, 4), .limit = 1 - WEFT_CRASHED},
    {FIELD(HAS_END, deputy.reason, 4)},
    {FIELD(HAS_LEARNT, learnt.model, 4), .limit = MODELS_MAX},
    {FIELD(HAS_LEARNT, learnt.kind, 8)},
    {FIELD(HAS_LEARNT, learnt.items, 4), .limit = ITEMS_MAX + 1},
    {FIELD(HAS_LEARNT, learnt.runs, 4)},
    {FIELD(HAS_LEARNT, learnt.run_ns, 8), .is_duration = true},
    {FIELD(HAS_LEARNT, learnt.sd_ns, 8), .is_duration = true},
    {FIELD(HAS_LEARNT, learnt.handoff_ns, 8), .is_duration = true},
    {FIELD(HAS_LEARNT, learnt.load_ns, 8), .is_duration = true},
    {FIELD(HAS_LEARNT, learnt.first_run_ns, 8), .is_duration = true},
};

enum { FIELD_COUNT = ARRAY_COUNT(fields) };

_Static_assert(MESSAGE_BYTES_MAX >= 128 + 2 * WORKFLOW_TASKS_MAX, "a placement of any job fits");
_Static_assert(WORKERS_MAX >= WORKFLOW_EDGES_MAX, "an input, or a sink, fits the limit");
_Static_assert(TASK_NONE - TASK_ANSWER == 1, "the special tasks are the last two numbers");
_Static_assert(
    offsetof(struct message_work, items) == offsetof(struct message_deputy, items) &&
        offsetof(struct message_work, bytes) == offsetof(struct message_deputy, bytes),
    "what describes a tensor is in the same place");
_Static_assert(
    offsetof(struct message, reason) == offsetof(struct message, failure.reason),
    "a reason is where it was");
_Static_assert(offsetof(struct message_offer, work) == 0, "an offer begins as other work does");
_Static_assert(sizeof(bool) == 1, "a flag is copied as one byte");

/* Whether a message of @kind has the fields of @group. */
static bool kind_has(enum message_kind kind, uint32_t group)
{
    return ((kind_fields[kind] | ALWAYS) & group) != 0;
}

static bool is_in_range(const struct field *field, uint64_t value)
{
    if (field->is_duration) {
        const int64_t ns = (int64_t)value;
        return ns == INT64_MAX || (ns > INT64_MIN / 2 && ns < INT64_MAX / 2);
    }
    return field->limit == 0 || value < field->limit || value > UINT32_MAX - field->specials;
}

static uint64_t get_field(const struct message *message, const struct field *field)
{
    const uint8_t *at = (const uint8_t *)message + field->offset;
    uint64_t value = 0;
    uint32_t number;

    switch (field->width) {
    case 1:
        return *at;
    case 4:
        memcpy(&number, at, sizeof(number));
        return number;
    default:
        memcpy(&value, at, sizeof(value));
        return value;
    }
}

static void set_field(struct message *message, const struct field *field, uint64_t value)
{
    uint8_t *at = (uint8_t *)message + field->offset;
    const uint32_t number = (uint32_t)value;

    switch (field->width) {
    case 1:
        *at = (uint8_t)value;
        break;
    case 4:
        memcpy(at, &number, sizeof(number));
        break;
    default:
        memcpy(at, &value, sizeof(value));
        break;
    }
}

static bool is_entry(uint64_t entry)
{
    return entry < WORKERS_MAX || entry == PLACEMENT_UNBOUND;
}

static void put_placement(struct bytes_writer *writer, const struct message *message)
{
    ASSERT(message->work.placement_count <= WORKFLOW_TASKS_MAX);

    bytes_put(writer, message->work.placement_count, 2);
    for (uint32_t i = 0; i < message->work.placement_count; i++) {
        ASSERT(is_entry(message->work.placement[i]));
        bytes_put(writer, message->work.placement[i], 2);
    }
}

static void put_cause(struct bytes_writer *writer, const struct message_cause *cause)
{
    ASSERT(cause->bytes <= MESSAGE_CAUSE_BYTES_MAX);

    bytes_put(writer, cause->bytes, 2);
    if (cause->bytes > 0) {
        ASSERT(utf8_is_plain(cause->text, cause->bytes));
        bytes_copy(writer, cause->text, cause->bytes);
    }
}

void message_set_cause(struct message *message, const struct message_cause *cause)
{
    ASSERT(message_has_cause(message->kind));
    if (message_is_end(message->kind)) {
        message->deputy.cause = *cause;
    } else {
        message->failure.cause = *cause;
    }
}

size_t message_borrowed_bytes(const struct message *message)
{
    const struct message_cause *cause = message_cause(message);
    return cause != NULL ? cause->bytes
                         : message_placement_count(message) * sizeof(message->work.placement[0]);
}

static int64_t less(int64_t left_ns, int64_t passed_ns)
{
    return left_ns == INT64_MAX ? left_ns : left_ns - passed_ns;
}

void message_add_age(struct message *message, int64_t passed_ns)
{
    if (message->kind == MESSAGE_INPUT || message->kind == MESSAGE_RESERVE ||
        message->kind == MESSAGE_OFFER) {
        message->work.age_ns += passed_ns;
        message->work.left_ns = less(message->work.left_ns, passed_ns);
    } else if (message->kind == MESSAGE_DEPUTE || message->kind == MESSAGE_FORWARD) {
        message->deputy.left_ns = less(message->deputy.left_ns, passed_ns);
    }
}

void message_keep(struct message *message, void *room)
{
    const size_t bytes = message_borrowed_bytes(message);
    if (bytes == 0) {
        return;
    }
    const struct message_cause *cause = message_cause(message);
    if (cause != NULL) {
        const struct message_cause kept = {.bytes = cause->bytes, .text = room};
        memcpy(room, cause->text, bytes);
        message_set_cause(message, &kept);
    } else {
        memcpy(room, message->work.placement, bytes);
        message->work.placement = room;
    }
}

size_t message_encode(const struct message *message, uint8_t *bytes, size_t bytes_max)
{
    struct bytes_writer writer = {.bytes = bytes, .count_max = bytes_max};

    ASSERT(message->kind < MESSAGE_KINDS);
    bytes_put(&writer, WIRE_VERSION, 1);
    bytes_put(&writer, message->kind, 1);
    for (uint32_t i = 0; i < FIELD_COUNT; i++) {
        if (kind_has(message->kind, fields[i].group)) {
            const uint64_t value = get_field(message, &fields[i]);
            ASSERT(is_in_range(&fields[i], value));
            bytes_put(&writer, value, fields[i].width);
        }
    }
    if (message_has_placement(message->kind)) {
        put_placement(&writer, message);
    }
    if (message_has_cause(message->kind)) {
        put_cause(&writer, message_cause(message));
    }
    return writer.is_short ? 0 : writer.count;
}

/* Check all that is left before anything is written to @placement. */
static bool take_placement(
    struct bytes_reader *reader, uint16_t *placement, struct message *message)
{
    const uint32_t count = (uint32_t)bytes_take(reader, 2);
    if (count > WORKFLOW_TASKS_MAX || reader->count != 2 * (size_t)count) {
        return false;
    }
    struct bytes_reader ahead = *reader;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_entry(bytes_take(&ahead, 2))) {
            return false;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        placement[i] = (uint16_t)bytes_take(reader, 2);
    }
    message->work.placement_count = (uint16_t)count;
    message->work.placement = placement;
    return true;
}

static bool take_cause(struct bytes_reader *reader, struct message *message)
{
    const size_t count = (size_t)bytes_take(reader, 2);
    const char *text = (const char *)bytes_skip(reader, count);
    if (count > MESSAGE_CAUSE_BYTES_MAX || text == NULL || !utf8_is_plain(text, count)) {
        return false;
    }
    const struct message_cause cause = {.bytes = (uint16_t)count, .text = text};
    message_set_cause(message, &cause);
    return true;
}

enum weft_status message_decode(
    const uint8_t *bytes, size_t bytes_count, uint16_t *placement, struct message *message_out)
{
    struct bytes_reader reader = {.bytes = bytes, .count = bytes_count};
    struct message message = {.deputy = {0}}; /* The largest of the union: all of it is 0. */

    const uint64_t version = bytes_take(&reader, 1);
    const uint64_t kind = bytes_take(&reader, 1);
    if (version != WIRE_VERSION || kind >= MESSAGE_KINDS) {
        return WEFT_INVALID;
    }
    message.kind = (enum message_kind)kind;
    for (uint32_t i = 0; i < FIELD_COUNT; i++) {
        if (kind_has(message.kind, fields[i].group)) {
            const uint64_t value = bytes_take(&reader, fields[i].width);
            if (!is_in_range(&fields[i], value)) {
                return WEFT_INVALID;
            }
            set_field(&message, &fields[i], value);
        }
    }
    if (message_has_placement(message.kind) && !take_placement(&reader, placement, &message)) {
        return WEFT_INVALID;
    }
    if (message_has_cause(message.kind) && !take_cause(&reader, &message)) {
        return WEFT_INVALID;
    }
    if (!bytes_is_spent(&reader)) {
        return WEFT_INVALID;
    }
    *message_out = message;
    return WEFT_OK;
}
