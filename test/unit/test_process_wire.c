/* What goes to engine processes and back: everything arrives, and lies are found out. */
#include "process/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "engine/channel.h"
#include "engine/lender.h"
#include "engine/segment.h"

static struct process_ran ran; /* Large: not on the stack. */

struct wire {
    struct channel here;
    struct channel there;
    struct packet packet;
    struct lender *lender;
};

static void wire_init(struct wire *wire)
{
    int ends[2];
    *wire = (struct wire){.lender = lender_create(segment_ledger_file())};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    channel_init(&wire->here, ends[0]);
    channel_init(&wire->there, ends[1]);
    bundle_set_segments_from(PROCESS_SEGMENT_BYTES_MIN);
}

static void wire_deinit(struct wire *wire)
{
    bundle_set_segments_from(0);
    channel_deinit(&wire->here);
    channel_deinit(&wire->there);
    packet_deinit(&wire->packet);
    lender_release(wire->lender);
}

/* Send the packet, and receive it at the other end. */
static struct received *pass(struct wire *wire)
{
    struct received *received;
    assert_true(channel_send(&wire->here, &wire->packet));
    enum channel_receipt receipt;
    do {
        assert_true(channel_flush(&wire->here));
        receipt = channel_receive(&wire->there, /* waits */ false, &received);
    } while (receipt == CHANNEL_EMPTY);
    assert_int_equal(receipt, CHANNEL_RECEIVED);
    return received;
}

static void add(struct bundle *bundle, const char *name, uint64_t bytes, uint8_t fill)
{
    struct weft_tensor tensor = {
        .dtype = WEFT_UINT8, .rank = 1, .shape = {(int64_t)bytes}, .bytes = bytes};
    (void)snprintf(tensor.name, sizeof(tensor.name), "%s", name);
    memset(bundle_add(bundle, &tensor), fill, bytes);
}

static void add_texts(struct bundle *bundle, const char *name, uint32_t count, uint32_t length)
{
    struct weft_tensor tensor = {
        .dtype = WEFT_BYTES,
        .rank = 1,
        .shape = {count},
        .bytes = (uint64_t)count * (sizeof(length) + length)};
    (void)snprintf(tensor.name, sizeof(tensor.name), "%s", name);
    uint8_t *at = bundle_add(bundle, &tensor);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(at, &length, sizeof(length));
        memset(at + sizeof(length), 'a', length);
        at += sizeof(length) + length;
    }
}

static void a_batch_arrives_as_it_was(ATTR_UNUSED void **state)
{
    struct wire wire;
    struct process_batch_in in;
    wire_init(&wire);
    struct bundle *small = bundle_create();
    struct bundle *large = bundle_create();
    add(small, "a", 10, 1);
    add(small, "empty", 0, 0);
    add(large, "b", 300000, 2);
    bundle_set_segments_from(0);
    add(large, "heap", 200000, 3); /* Large, but in no segment. */
    const struct engine_input inputs[3] = {{small, 10}, {large, 500000}, {NULL, 77}};
    const struct engine_task tasks[3] = {
        {.job = {.node = 1, .number = 2}, .items = 3, .input_count = 2, .inputs = inputs},
        {.job = {.node = 4, .number = 5}, .items = 6, .input_count = 1, .inputs = inputs + 2},
        {.job = {.node = 7, .number = 8}, .items = 9}};
    const struct engine_batch batch = {
        .workflow = 11,
        .task = 12,
        .config = {.batch = 13, .cpu = 14, .gpu = 15},
        .task_count = 3,
        .tasks = tasks};
    const struct process_order order = {.number = 99, .worker = 3};
    process_put_batch(&wire.packet, &order, &batch, 0, 3);
    assert_true(process_take_batch(pass(&wire), wire.lender, &in));
    assert_int_equal(in.batch.batch, 99);
    assert_int_equal(in.batch.worker, 3);
    assert_int_equal(in.batch.workflow, 11);
    assert_int_equal(in.batch.task, 12);
    assert_memory_equal(&in.batch.config, &batch.config, sizeof(batch.config));
    assert_int_equal(in.batch.task_count, 3);
    assert_int_equal(in.batch.items, 18);
    assert_int_equal(in.tasks[1].job.number, 5);
    assert_int_equal(in.tasks[2].input_count, 0);
    assert_null(in.tasks[1].inputs[0].contents);
    assert_int_equal(in.tasks[1].inputs[0].bytes, 77);
    const struct bundle *first = in.tasks[0].inputs[0].contents;
    const struct bundle *second = in.tasks[0].inputs[1].contents;
    assert_int_equal(first->count, 2);
    assert_int_equal(((const uint8_t *)first->tensors[0].data)[9], 1);
    assert_string_equal(second->tensors[1].name, "heap");
    assert_int_equal(((const uint8_t *)second->tensors[0].data)[299999], 2);
    assert_int_equal(((const uint8_t *)second->tensors[1].data)[199999], 3);
    assert_non_null(second->memory[0].lender); /* Not copied. */
    process_batch_free(&in);
    process_put_batch(&wire.packet, &order, &batch, 1, 2); /* One task alone. */
    assert_true(process_take_batch(pass(&wire), wire.lender, &in));
    assert_int_equal(in.batch.task_count, 1);
    assert_int_equal(in.tasks[0].job.number, 5);
    process_batch_free(&in);
    bundle_destroy(small);
    bundle_destroy(large);
    wire_deinit(&wire);
}

/* A report of one task that made @output, which is given away. */
static void put_report(struct wire *wire, struct bundle *output)
{
    const struct process_report report = {.number = 5, .run_ns = 6, .worker = 7};
    const struct engine_usage usages[2] = {{1, 2, 3}, {4, 5, 6}};
    const struct engine_output outputs[2] = {
        {.contents = output, .bytes = output->bytes, .items = 8},
        {.status = WEFT_INVALID, .message = "why not"}};
    const struct engine_done done = {
        .kind = ENGINE_RAN,
        .usage_count = 2,
        .usages = usages,
        .output_count = 2,
        .outputs = outputs};
    process_put_done(&wire->packet, &report, &done);
}

static void a_report_arrives_as_it_was(ATTR_UNUSED void **state)
{
    struct wire wire;
    wire_init(&wire);
    struct bundle *output = bundle_create();
    output->items = 8;
    add(output, "y", 100000, 9);
    add_texts(output, "few", 3, 10);
    add_texts(output, "many", 10, 20000);
    put_report(&wire, output);
    struct received *received = pass(&wire);
    bundle_destroy(output);
    assert_int_equal(received->kind, REPORT_RAN);
    assert_true(process_take_report(received, wire.lender, &ran));
    assert_int_equal(ran.report.number, 5);
    assert_int_equal(ran.report.run_ns, 6);
    assert_int_equal(ran.report.usage_count, 2);
    assert_int_equal(ran.usages[1].bytes, 6);
    assert_int_equal(ran.report.output_count, 2);
    assert_int_equal(ran.outputs[1].status, WEFT_INVALID);
    assert_string_equal(ran.messages[1], "why not");
    struct bundle *taken = ran.outputs[0].contents;
    assert_int_equal(taken->items, 8);
    assert_int_equal(taken->count, 3);
    assert_int_equal(((const uint8_t *)taken->tensors[0].data)[99999], 9);
    assert_non_null(taken->memory[0].lender); /* Not copied; */
    assert_null(taken->memory[2].lender);     /* but texts are. */
    assert_true(tensor_texts_fit(&taken->tensors[2]));
    bundle_destroy(taken);
    wire_deinit(&wire);
}

/* Whatever byte of a report is changed, nothing but its own values changes with it. */
static void a_damaged_report_is_refused_or_harmless(ATTR_UNUSED void **state)
{
    struct wire wire;
    wire_init(&wire);
    uint32_t refused = 0;
    for (uint32_t at = 0; at < 1200; at++) {
        struct bundle *output = bundle_create();
        add(output, "y", 70000, 9);
        add_texts(output, "few", 2, 10);
        put_report(&wire, output);
        const size_t count = wire.packet.used - sizeof(struct packet_head);
        if (at < count) {
            wire.packet.bytes[sizeof(struct packet_head) + at] ^= (uint8_t)(at % 2 == 0 ? 255 : 1);
        }
        struct received *received = pass(&wire);
        if (process_take_report(received, wire.lender, &ran)) {
            for (uint32_t i = 0; i < ran.report.output_count; i++) {
                const struct bundle *taken = ran.outputs[i].contents;
                for (uint32_t k = 0; taken != NULL && k < taken->count; k++) {
                    assert_true(
                        taken->tensors[k].dtype != WEFT_BYTES ||
                        tensor_texts_fit(&taken->tensors[k]));
                }
                bundle_destroy(ran.outputs[i].contents);
            }
        } else {
            refused++;
        }
        bundle_destroy(output);
        segments_trim();
    }
    assert_true(refused > 50);
    wire_deinit(&wire);
}

static void a_report_cut_short_is_refused(ATTR_UNUSED void **state)
{
    struct wire wire;
    wire_init(&wire);
    struct bundle *output = bundle_create();
    add(output, "y", 100, 9);
    put_report(&wire, output);
    const struct received whole = *pass(&wire);
    uint8_t *bytes = malloc(whole.count);
    assert_non_null(bytes);
    for (size_t count = 0; count < whole.count; count++) {
        memcpy(bytes, whole.bytes, count);
        struct received cut = {.kind = whole.kind, .bytes = bytes, .count = count};
        assert_false(process_take_report(&cut, wire.lender, &ran));
    }
    free(bytes);
    bundle_destroy(output);
    wire_deinit(&wire);
}

/* A process that lends before it has shown its ledger, or passes what could shrink. */
static void files_are_not_trusted(ATTR_UNUSED void **state)
{
    struct wire wire;
    wire_init(&wire);
    for (uint32_t i = 0; i < 2; i++) {
        struct bundle *output = bundle_create();
        add(output, "y", 70000, 9);
        put_report(&wire, output);
        struct received *received = pass(&wire);
        if (i == 1) {
            const int file = memfd_create("test", MFD_ALLOW_SEALING);
            assert_int_equal(ftruncate(file, 70000), 0);
            assert_int_equal(close(received->files[0]), 0);
            received->files[0] = file;
        }
        assert_false(process_take_report(received, i == 0 ? NULL : wire.lender, &ran));
        bundle_destroy(output);
    }
    segments_trim();
    wire_deinit(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_arrives_as_it_was),
        cmocka_unit_test(a_report_arrives_as_it_was),
        cmocka_unit_test(a_damaged_report_is_refused_or_harmless),
        cmocka_unit_test(a_report_cut_short_is_refused),
        cmocka_unit_test(files_are_not_trusted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
