/* Covers: src/wire/message.c, and src/wire/bytes.h through it. */
#include "wire/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/limits.h"
#include "base/rng.h"
#include "dies.h"
#include "model/fleet.h"

static uint8_t encoded[MESSAGE_BYTES_MAX];
static uint8_t encoded_again[MESSAGE_BYTES_MAX];
static uint16_t placement[WORKFLOW_TASKS_MAX];
static uint16_t placement_decoded[WORKFLOW_TASKS_MAX];

static int64_t draw_duration(struct rng *rng)
{
    const uint32_t shift = 2 + rng_below(rng, 60);
    const uint64_t drawn = rng_next(rng);
    const int64_t ns = (int64_t)(drawn >> shift);
    const uint32_t class = rng_below(rng, 8);
    return class == 0 ? INT64_MAX : class < 4 ? -ns / 2 : ns / 2;
}

static void draw_work(struct rng *rng, struct message_work *work)
{
    work->items = (uint32_t)rng_next(rng);
    work->priority = (uint32_t)rng_next(rng);
    work->firm = rng_below(rng, 2) == 1;
    work->settled = rng_below(rng, 2) == 1;
    work->age_ns = draw_duration(rng);
    work->left_ns = draw_duration(rng);
    work->input = rng_below(rng, WORKERS_MAX);
    work->bytes = rng_next(rng);
    const uint32_t count_max = rng_below(rng, 20) == 0 ? WORKFLOW_TASKS_MAX : 12;
    work->placement_count = (uint16_t)rng_below(rng, count_max + 1);
    work->placement = placement;
    for (uint32_t i = 0; i < work->placement_count; i++) {
        const uint32_t worker = rng_below(rng, WORKERS_MAX + 1);
        placement[i] = worker == WORKERS_MAX ? PLACEMENT_UNBOUND : (uint16_t)worker;
    }
}

static void draw_claim(struct rng *rng, struct message_claim *claim)
{
    claim->number = (uint32_t)rng_next(rng);
    claim->index = rng_below(rng, BATCH_TASKS_MAX);
    claim->count = rng_below(rng, BATCH_TASKS_MAX + 1);
    claim->items = (uint32_t)rng_next(rng);
    claim->batch = (uint32_t)rng_next(rng);
    claim->cpu = (uint32_t)rng_next(rng);
    claim->gpu = (uint32_t)rng_next(rng);
    claim->holder = rng_below(rng, WORKERS_MAX);
}

static struct message_cause draw_cause(struct rng *rng)
{
    static const char text[] = "task 'caf\xc3\xa9': out of range";
    return (struct message_cause){
        .text = text, .bytes = (uint16_t)(rng_below(rng, 2) * (sizeof(text) - 1))};
}

static void expect_same_cause(const struct message_cause *given, const struct message_cause *read)
{
    assert_int_equal(read->bytes, given->bytes);
    assert_memory_equal(read->text, given->text, given->bytes);
}

static void draw_deputy(struct rng *rng, struct message_deputy *deputy)
{
    deputy->items = (uint32_t)rng_next(rng);
    deputy->priority = (uint32_t)rng_next(rng);
    deputy->inputs_hash = rng_next(rng);
    deputy->left_ns = draw_duration(rng);
    deputy->bytes = rng_next(rng);
    deputy->key.words[0] = rng_next(rng);
    deputy->key.words[1] = rng_next(rng);
    deputy->losses = (uint32_t)rng_next(rng);
    deputy->firm = rng_below(rng, 2) == 1;
    deputy->sink = rng_below(rng, WORKERS_MAX);
    deputy->status = rng_below(rng, 13);
    deputy->reason = (uint32_t)rng_next(rng);
    deputy->cause = draw_cause(rng);
}

static bool has_key(enum message_kind kind)
{
    return (kind >= MESSAGE_DEPUTE && kind <= MESSAGE_RESULT) ||
           (kind >= MESSAGE_RECALL && kind <= MESSAGE_KEEP);
}

static void expect_same_deputy(
    enum message_kind kind, const struct message_deputy *given, const struct message_deputy *read)
{
    const bool is_request = kind == MESSAGE_DEPUTE || kind == MESSAGE_FORWARD;
    const bool is_end = kind == MESSAGE_SETTLED || kind == MESSAGE_KEEP;
    const bool has_hash = is_request || kind == MESSAGE_RECALL || kind == MESSAGE_KEEP;
    const bool has_losses = is_request || kind == MESSAGE_TRIED || kind == MESSAGE_DEPUTED;
    const bool has_tensor = message_has_tensor(kind);
    assert_true(request_key_equal(read->key, given->key));
    assert_int_equal(read->items, has_tensor ? given->items : 0);
    assert_int_equal(read->bytes, has_tensor ? given->bytes : 0);
    assert_int_equal(read->priority, is_request ? given->priority : 0);
    assert_int_equal(read->inputs_hash, has_hash ? given->inputs_hash : 0);
    assert_int_equal(read->left_ns, is_request ? given->left_ns : 0);
    assert_int_equal(read->firm, is_request && given->firm);
    assert_int_equal(read->losses, has_losses ? given->losses : 0);
    assert_int_equal(read->sink, kind == MESSAGE_RESULT ? given->sink : 0);
    assert_int_equal(read->status, is_end ? given->status : 0);
    assert_int_equal(read->reason, is_end ? given->reason : 0);
    if (is_end) {
        expect_same_cause(&given->cause, &read->cause);
    } else {
        assert_int_equal(read->cause.bytes, 0);
    }
}

static bool is_work(enum message_kind kind)
{
    return message_has_placement(kind) || kind == MESSAGE_OFFER;
}

static bool is_outcome(enum message_kind kind)
{
    return kind == MESSAGE_DECLINE || kind == MESSAGE_ENDED;
}

static bool is_refusal(enum message_kind kind)
{
    return kind == MESSAGE_FAILED || kind == MESSAGE_UNFIT;
}

static void draw_units(struct rng *rng, struct message_units *units_out)
{
    units_out->row_sequence = rng_next(rng);
    units_out->layout = (uint32_t)rng_next(rng);
    units_out->cpu = (uint32_t)rng_next(rng);
    units_out->gpu = (uint32_t)rng_next(rng);
}

static void expect_same_units(const struct message_units *units, const struct message_units *read)
{
    assert_int_equal(read->row_sequence, units->row_sequence);
    assert_int_equal(read->layout, units->layout);
    assert_int_equal(read->cpu, units->cpu);
    assert_int_equal(read->gpu, units->gpu);
}

/* Every field is set that the kind has, and those in front of the union that it has not. */
static void draw_message(struct rng *rng, enum message_kind kind, struct message *message_out)
{
    *message_out = (struct message){.kind = kind, .work = {0}};
    message_out->from = rng_below(rng, NODES_MAX);
    message_out->job.node = rng_below(rng, NODES_MAX);
    message_out->from_incarnation = (uint32_t)rng_next(rng);
    message_out->to_incarnation = (uint32_t)rng_next(rng);
    message_out->job.incarnation = (uint32_t)rng_next(rng);
    message_out->job.number = rng_next(rng);
    message_out->workflow = rng_below(rng, WORKFLOWS_MAX);
    message_out->task = rng_below(rng, WORKFLOW_TASKS_MAX + 2);
    if (message_out->task >= WORKFLOW_TASKS_MAX) {
        message_out->task = message_out->task == WORKFLOW_TASKS_MAX ? TASK_NONE : TASK_ANSWER;
    }
    message_out->worker = rng_below(rng, WORKERS_MAX);
    if (rng_below(rng, 4) == 0) {
        message_out->worker = WORKER_NONE;
    }
    message_out->attempt = (uint32_t)rng_next(rng);
    message_out->sequence = rng_next(rng);
    if (is_work(kind)) {
        draw_work(rng, &message_out->work);
        if (kind == MESSAGE_OFFER) {
            draw_units(rng, &message_out->offer.free);
        }
    } else if (kind == MESSAGE_CLAIM) {
        draw_claim(rng, &message_out->claim);
    } else if (is_outcome(kind)) {
        message_out->outcome.number = rng_next(rng);
        message_out->outcome.reason = (uint32_t)rng_next(rng);
        message_out->outcome.run_ns = draw_duration(rng);
        draw_units(rng, &message_out->outcome.free);
    } else if (is_refusal(kind)) {
        message_out->reason = (uint32_t)rng_next(rng);
        message_out->failure.cause = draw_cause(rng);
    } else if (kind == MESSAGE_LEARNT) {
        message_out->learnt.model = rng_below(rng, MODELS_MAX);
        message_out->learnt.kind = rng_next(rng);
        message_out->learnt.items = rng_below(rng, ITEMS_MAX + 1);
        message_out->learnt.runs = (uint32_t)rng_next(rng);
        message_out->learnt.run_ns = draw_duration(rng);
        message_out->learnt.sd_ns = draw_duration(rng);
        message_out->learnt.handoff_ns = draw_duration(rng);
        message_out->learnt.load_ns = draw_duration(rng);
    } else if (kind == MESSAGE_ACKNOWLEDGE) {
        message_out->row_sequence = rng_next(rng);
    } else if (kind == MESSAGE_ASK) {
        message_out->asked = rng_next(rng);
    } else if (kind == MESSAGE_MOVED) {
        message_out->life = (uint32_t)rng_next(rng);
    } else if (kind == MESSAGE_STEAL) {
        message_out->victim = rng_below(rng, WORKERS_MAX);
    } else if (kind == MESSAGE_WARM) {
        message_out->model = rng_below(rng, MODELS_MAX);
    } else if (has_key(kind)) {
        draw_deputy(rng, &message_out->deputy);
    }
}

static void expect_same_work(const struct message *message, const struct message *decoded)
{
    const bool is_input = message->kind == MESSAGE_INPUT;
    const struct message_work *work = &message->work;
    const struct message_work *read = &decoded->work;
    assert_int_equal(read->items, work->items);
    assert_int_equal(read->priority, work->priority);
    assert_int_equal(read->firm, work->firm);
    assert_int_equal(read->age_ns, work->age_ns);
    assert_int_equal(read->left_ns, work->left_ns);
    assert_int_equal(read->input, is_input ? work->input : 0);
    assert_int_equal(read->settled, is_input && work->settled);
    assert_int_equal(read->bytes, is_input ? work->bytes : 0);
    assert_int_equal(read->placement_count, message_placement_count(message));
    if (read->placement_count > 0) {
        assert_ptr_equal(read->placement, placement_decoded);
        assert_memory_equal(
            read->placement, work->placement, read->placement_count * sizeof(uint16_t));
    }
}

/* The union of @message, as read back. */
static void expect_same_body(const struct message *message, const struct message *decoded)
{
    const enum message_kind kind = message->kind;
    if (is_work(kind)) {
        expect_same_work(message, decoded);
        if (kind == MESSAGE_OFFER) {
            expect_same_units(&message->offer.free, &decoded->offer.free);
        }
    } else if (kind == MESSAGE_CLAIM) {
        assert_memory_equal(&decoded->claim, &message->claim, sizeof(message->claim));
    } else if (is_outcome(kind)) {
        assert_int_equal(decoded->outcome.number, message->outcome.number);
        assert_int_equal(decoded->outcome.reason, message->outcome.reason);
        expect_same_units(&message->outcome.free, &decoded->outcome.free);
        assert_int_equal(
            decoded->outcome.run_ns, kind == MESSAGE_ENDED ? message->outcome.run_ns : 0);
    } else if (kind == MESSAGE_LEARNT) {
        assert_memory_equal(&decoded->learnt, &message->learnt, sizeof(message->learnt));
    } else if (is_refusal(kind)) {
        assert_int_equal(decoded->reason, message->reason);
        expect_same_cause(&message->failure.cause, &decoded->failure.cause);
    } else if (kind == MESSAGE_ACKNOWLEDGE) {
        assert_int_equal(decoded->row_sequence, message->row_sequence);
    } else if (kind == MESSAGE_ASK) {
        assert_int_equal(decoded->asked, message->asked);
    } else if (kind == MESSAGE_MOVED) {
        assert_int_equal(decoded->life, message->life);
    } else if (kind == MESSAGE_STEAL) {
        assert_int_equal(decoded->victim, message->victim);
    } else if (kind == MESSAGE_WARM) {
        assert_int_equal(decoded->model, message->model);
    } else if (has_key(kind)) {
        expect_same_deputy(kind, &message->deputy, &decoded->deputy);
    }
}

/* Expect the fields that @message's kind names, as read back, and zeros elsewhere. */
static void expect_same(const struct message *message, const struct message *decoded)
{
    const enum message_kind kind = message->kind;
    const bool is_booking =
        message_has_placement(kind) || kind == MESSAGE_CLAIM || kind == MESSAGE_UNRESERVE;
    const bool is_of_task = is_booking || is_work(kind) || is_refusal(kind) ||
                            kind == MESSAGE_MOVED || kind == MESSAGE_GONE || kind == MESSAGE_PULL ||
                            kind == MESSAGE_SEEK;
    const bool is_of_job_alone = kind == MESSAGE_CANCEL || kind == MESSAGE_QUERY ||
                                 kind == MESSAGE_PROBE || kind == MESSAGE_ALIVE;
    const bool is_of_request = has_key(kind);
    const bool has_attempt = is_of_task || is_of_job_alone;
    const bool is_of_job = has_attempt || is_of_request;
    const bool has_sequence =
        is_booking || kind == MESSAGE_ACKNOWLEDGE || is_outcome(kind) || kind == MESSAGE_OFFER;

    assert_int_equal(decoded->kind, kind);
    assert_int_equal(decoded->from, message->from);
    assert_int_equal(decoded->from_incarnation, message->from_incarnation);
    assert_int_equal(decoded->to_incarnation, message->to_incarnation);
    assert_int_equal(decoded->job.incarnation, is_of_job ? message->job.incarnation : 0);
    assert_int_equal(decoded->job.node, is_of_job ? message->job.node : 0);
    assert_int_equal(decoded->job.number, is_of_job ? message->job.number : 0);
    assert_int_equal(decoded->workflow, is_of_job ? message->workflow : 0);
    assert_int_equal(decoded->attempt, has_attempt ? message->attempt : 0);
    assert_int_equal(decoded->task, is_of_task ? message->task : 0);
    const bool has_worker = !is_of_job_alone && !is_of_request && kind != MESSAGE_LEARNT;
    assert_int_equal(decoded->worker, has_worker ? message->worker : 0);
    assert_int_equal(decoded->sequence, has_sequence ? message->sequence : 0);
    expect_same_body(message, decoded);
}

static void every_kind_is_read_as_it_was_written(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(71);
    struct message message;
    struct message decoded;

    for (uint32_t i = 0; i < 20000; i++) {
        draw_message(&rng, (enum message_kind)(i % MESSAGE_KINDS), &message);
        const size_t count = message_encode(&message, encoded, sizeof(encoded));
        assert_in_range(count, 1, MESSAGE_BYTES_MAX);
        assert_int_equal(message_decode(encoded, count, placement_decoded, &decoded), WEFT_OK);
        expect_same(&message, &decoded);
    }
}

static void the_largest_message_fits_its_limit(ATTR_UNUSED void **state)
{
    struct message message = {
        .kind = MESSAGE_INPUT,
        .work =
            {
                .left_ns = INT64_MAX,
                .placement = placement,
                .placement_count = WORKFLOW_TASKS_MAX,
            },
    };
    memset(placement, 0xff, sizeof(placement));

    const size_t count = message_encode(&message, encoded, sizeof(encoded));

    assert_in_range(count, 2 * WORKFLOW_TASKS_MAX, MESSAGE_BYTES_MAX);
    assert_int_equal(message_encode(&message, encoded_again, count), count);
    assert_int_equal(message_encode(&message, encoded_again, count - 1), 0);
    assert_int_equal(message_encode(&message, encoded_again, 0), 0);
}

static void the_bytes_of_a_message_are_written_down(ATTR_UNUSED void **state)
{
    static const uint16_t two[] = {0x0102, PLACEMENT_UNBOUND};
    static const uint8_t expected[] = {
        15,   0,                                        /* version, kind */
        0x04, 0x03, 0,    0,                            /* from */
        0x1b, 0x1a, 0,    0,                            /* its incarnation */
        0x1d, 0x1c, 0,    0,                            /* the receiver's */
        0x06, 0x05, 0,    0,                            /* job: node, */
        0x1f, 0x1e, 0,    0,                            /* incarnation, */
        0x0a, 0x09, 0x08, 0x07, 0x06, 0,    0,    0,    /* number */
        0x0b, 0,    0,    0,                            /* workflow */
        0xfe, 0xff, 0xff, 0xff,                         /* task */
        0xff, 0xff, 0xff, 0xff,                         /* worker */
        0x0c, 0,    0,    0,                            /* attempt */
        0x0d, 0,    0,    0,    0,    0,    0,    0x20, /* sequence */
        0x0e, 0,    0,    0,                            /* items */
        0x0f, 0,    0,    0,                            /* priority */
        1,                                              /* firm */
        0x10, 0,    0,    0,    0,    0,    0,    0,    /* age_ns */
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, /* left_ns */
        0x11, 0,    0,    0,                            /* input */
        1,                                              /* settled */
        0x19, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, /* bytes */
        2,    0,    0x02, 0x01, 0xff, 0xff,             /* placement */
    };
    const struct message message = {
        .kind = MESSAGE_INPUT,
        .from = 0x0304,
        .from_incarnation = 0x1a1b,
        .to_incarnation = 0x1c1d,
        .job = {.node = 0x0506, .incarnation = 0x1e1f, .number = UINT64_C(0x060708090a)},
        .workflow = 0x0b,
        .task = TASK_ANSWER,
        .worker = WORKER_NONE,
        .attempt = 0x0c,
        .sequence = UINT64_C(0x200000000000000d),
        .work =
            {
                .items = 0x0e,
                .priority = 0x0f,
                .firm = true,
                .age_ns = 0x10,
                .left_ns = -1,
                .input = 0x11,
                .settled = true,
                .bytes = UINT64_C(0x1213141516171819),
                .placement_count = 2,
                .placement = two,
            },
    };

    assert_int_equal(message_encode(&message, encoded, sizeof(encoded)), sizeof(expected));
    assert_memory_equal(encoded, expected, sizeof(expected));
}

/* The bytes in a block of their own size, so that a sanitizer sees one byte too many. */
static enum weft_status decode_exact(size_t count, struct message *message_out)
{
    uint8_t *exact = malloc(count > 0 ? count : 1);
    assert_non_null(exact);
    memcpy(exact, encoded, count);
    const enum weft_status status = message_decode(exact, count, placement_decoded, message_out);
    if (status == WEFT_OK && message_has_cause(message_out->kind)) {
        static char kept[MESSAGE_CAUSE_BYTES_MAX];
        message_keep(message_out, kept);
    }
    free(exact);
    return status;
}

static void a_cause_is_short_and_plain(ATTR_UNUSED void **state)
{
    char text[MESSAGE_CAUSE_BYTES_MAX];
    struct message decoded;
    memset(text, 'x', sizeof(text));
    const struct message message = {
        .kind = MESSAGE_FAILED, .failure = {.cause = {.text = text, .bytes = sizeof(text)}}};
    const size_t count = message_encode(&message, encoded, sizeof(encoded));
    assert_int_equal(decode_exact(count, &decoded), WEFT_OK);
    assert_int_equal(message_borrowed_bytes(&decoded), sizeof(text));
    encoded[count - 1] = '\n';
    assert_int_equal(decode_exact(count, &decoded), WEFT_INVALID);
    encoded[count - 1] = 0xc3; /* The first byte of two. */
    assert_int_equal(decode_exact(count, &decoded), WEFT_INVALID);
    encoded[count - 1] = 'x';
    encoded[count] = 'x';
    encoded[count - sizeof(text) - 2]++; /* One more than there may be. */
    assert_int_equal(decode_exact(count + 1, &decoded), WEFT_INVALID);
}

static void time_that_passes_counts_for_jobs_and_requests(ATTR_UNUSED void **state)
{
    struct message input = {.kind = MESSAGE_INPUT, .work = {.age_ns = 5, .left_ns = 100}};
    message_add_age(&input, 30);
    assert_int_equal(input.work.age_ns, 35);
    assert_int_equal(input.work.left_ns, 70);
    struct message forward = {.kind = MESSAGE_FORWARD, .deputy = {.left_ns = 100, .bytes = 9}};
    message_add_age(&forward, 130);
    assert_int_equal(forward.deputy.left_ns, -30);
    assert_int_equal(forward.deputy.bytes, 9);
    forward.deputy.left_ns = INT64_MAX; /* It has no deadline. */
    message_add_age(&forward, 130);
    assert_int_equal(forward.deputy.left_ns, INT64_MAX);
    struct message claim = {.kind = MESSAGE_CLAIM, .claim = {.number = 7, .index = 1, .count = 2}};
    const struct message before = claim;
    message_add_age(&claim, 30);
    assert_memory_equal(&claim, &before, sizeof(claim));
}

static void every_truncation_is_refused(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(72);
    struct message message;
    struct message decoded;

    for (uint32_t i = 0; i < 20 * MESSAGE_KINDS; i++) {
        draw_message(&rng, (enum message_kind)(i % MESSAGE_KINDS), &message);
        const size_t count = message_encode(&message, encoded, sizeof(encoded));
        for (size_t shorter = 0; shorter < count; shorter++) {
            assert_int_equal(decode_exact(shorter, &decoded), WEFT_INVALID);
        }
    }
}

static void anything_after_the_end_is_refused(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(73);
    struct message message;
    struct message decoded;

    for (uint32_t i = 0; i < 20 * MESSAGE_KINDS; i++) {
        draw_message(&rng, (enum message_kind)(i % MESSAGE_KINDS), &message);
        if (message_has_placement(message.kind)) {
            message.work.placement_count %= 16;
        }
        const size_t count = message_encode(&message, encoded, sizeof(encoded));
        for (size_t extra = 1; extra < 8; extra++) {
            encoded[count + extra - 1] = 0;
            assert_int_equal(decode_exact(count + extra, &decoded), WEFT_INVALID);
        }
    }
}

static void a_corrupted_byte_is_refused_or_gives_another_good_message(ATTR_UNUSED void **state)
{
    struct rng rng = rng_from_seed(74);
    struct message message;
    struct message decoded;
    uint32_t refused = 0;

    for (uint32_t i = 0; i < 2 * MESSAGE_KINDS; i++) {
        draw_message(&rng, (enum message_kind)(i % MESSAGE_KINDS), &message);
        if (message_has_placement(message.kind)) {
            message.work.placement_count %= 16;
        }
        const size_t count = message_encode(&message, encoded, sizeof(encoded));
        for (size_t at = 0; at < count; at++) {
            for (uint32_t change = 1; change < 256; change++) {
                encoded[at] ^= (uint8_t)change;
                if (decode_exact(count, &decoded) == WEFT_OK) {
                    const size_t again =
                        message_encode(&decoded, encoded_again, sizeof(encoded_again));
                    assert_int_equal(again, count);
                    assert_memory_equal(encoded_again, encoded, count);
                } else {
                    refused++;
                }
                encoded[at] ^= (uint8_t)change;
            }
        }
    }
    assert_true(refused > 1000);
}

/* One field out of its range, by the place of its highest byte or only byte. */
static void numbers_out_of_range_are_refused(ATTR_UNUSED void **state)
{
    static const struct {
        size_t at;
        uint8_t byte;
    } changes[] = {
        {0, 0},
        {0, 1}, /* version */
        {1, MESSAGE_KINDS},
        {1, 0xff}, /* kind */
        {3, 0x40},
        {5, 0xff}, /* from: 0x4000 is NODES_MAX */
        {15, 0x40},
        {31, 1}, /* job.node, workflow: 256 */
        {35, 4},
        {37, 0xff}, /* task: 1024 */
        {39, 0x40},
        {41, 0xff}, /* worker */
        {62, 2},
        {62, 0xff}, /* firm */
        {70, 0x40},
        {70, 0x7f}, /* age_ns: past 146 years */
        {78, 0x40},
        {78, 0x80}, /* left_ns */
        {80, 0x40},
        {82, 1}, /* input */
        {83, 2},
        {83, 0xff}, /* settled */
        {92, 0},
        {92, 2},
        {93, 1}, /* count of a placement of one */
        {95, 0x40},
        {95, 0xff}, /* an entry: 0x4000 is WORKERS_MAX */
    };
    const struct message message = {
        .kind = MESSAGE_INPUT,
        .work = {.placement_count = 1, .placement = placement},
    };
    struct message decoded;

    placement[0] = 0;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const size_t count = message_encode(&message, encoded, sizeof(encoded));
        assert_int_equal(count, 96);
        assert_int_equal(decode_exact(count, &decoded), WEFT_OK);
        encoded[changes[i].at] = changes[i].byte;
        assert_int_equal(decode_exact(count, &decoded), WEFT_INVALID);
    }
}

static void only_the_named_specials_stand_above_the_limits(ATTR_UNUSED void **state)
{
    const struct message message = {
        .kind = MESSAGE_MOVED,
        .task = TASK_ANSWER,
        .worker = WORKER_NONE,
    };
    struct message decoded;

    const size_t count = message_encode(&message, encoded, sizeof(encoded));
    assert_int_equal(encoded[34], 0xfe);
    encoded[34] = 0xfd; /* A task before the answer. */
    assert_int_equal(decode_exact(count, &decoded), WEFT_INVALID);
    encoded[34] = 0xff;
    assert_int_equal(decode_exact(count, &decoded), WEFT_OK);
    encoded[38] = 0xfe; /* A worker before none. */
    assert_int_equal(decode_exact(count, &decoded), WEFT_INVALID);
}

static void a_placement_longer_than_any_job_is_refused(ATTR_UNUSED void **state)
{
    const struct message message = {
        .kind = MESSAGE_RESERVE,
        .work = {.placement_count = WORKFLOW_TASKS_MAX, .placement = placement},
    };
    struct message decoded;

    memset(placement, 0, sizeof(placement));
    const size_t count = message_encode(&message, encoded, sizeof(encoded));
    const size_t count_at = count - 2 * WORKFLOW_TASKS_MAX - 2;
    assert_int_equal(encoded[count_at + 1], WORKFLOW_TASKS_MAX / 256);
    assert_int_equal(decode_exact(count, &decoded), WEFT_OK);

    encoded[count_at] = 1; /* One more entry, and it is there. */
    encoded[count] = 0;
    encoded[count + 1] = 0;

    assert_int_equal(decode_exact(count + 2, &decoded), WEFT_INVALID);
}

static void a_refused_message_leaves_the_outputs_alone(ATTR_UNUSED void **state)
{
    const struct message message = {
        .kind = MESSAGE_RESERVE,
        .work = {.placement_count = 2, .placement = placement},
    };
    struct message decoded;
    struct message before;

    placement[0] = 1;
    placement[1] = 2;
    memset(&decoded, 0x5a, sizeof(decoded));
    memcpy(&before, &decoded, sizeof(before));
    memset(placement_decoded, 0x5a, sizeof(placement_decoded));
    const size_t count = message_encode(&message, encoded, sizeof(encoded));

    assert_int_equal(decode_exact(count - 2, &decoded), WEFT_INVALID);
    assert_int_equal(decode_exact(count + 2, &decoded), WEFT_INVALID);
    encoded[count - 1] = 0x70; /* The second entry is no worker. */
    assert_int_equal(decode_exact(count, &decoded), WEFT_INVALID);

    assert_memory_equal(&decoded, &before, sizeof(before));
    assert_int_equal(placement_decoded[0], 0x5a5a);
}

static void encode(void *message)
{
    (void)message_encode(message, encoded, sizeof(encoded));
}

static void a_message_that_could_not_be_read_is_not_written(ATTR_UNUSED void **state)
{
    struct message kind = {.kind = MESSAGE_KINDS};
    struct message worker = {.kind = MESSAGE_STEAL, .worker = WORKERS_MAX};
    struct message count = {
        .kind = MESSAGE_RESERVE,
        .work = {.placement_count = WORKFLOW_TASKS_MAX + 1, .placement = placement},
    };

    assert_true(dies(encode, &kind));
    assert_true(dies(encode, &worker));
    assert_true(dies(encode, &count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_read_as_it_was_written),
        cmocka_unit_test(the_largest_message_fits_its_limit),
        cmocka_unit_test(the_bytes_of_a_message_are_written_down),
        cmocka_unit_test(a_cause_is_short_and_plain),
        cmocka_unit_test(time_that_passes_counts_for_jobs_and_requests),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(anything_after_the_end_is_refused),
        cmocka_unit_test(a_corrupted_byte_is_refused_or_gives_another_good_message),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(only_the_named_specials_stand_above_the_limits),
        cmocka_unit_test(a_placement_longer_than_any_job_is_refused),
        cmocka_unit_test(a_refused_message_leaves_the_outputs_alone),
        cmocka_unit_test(a_message_that_could_not_be_read_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
