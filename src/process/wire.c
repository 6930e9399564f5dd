#include "process/wire.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "engine/lender.h"
#include "engine/segment.h"
#include "engine/tensor_wire.h"

enum wire_place {
    PLACE_INLINE,  /* Behind the tensor. */
    PLACE_FILE,    /* In a file of its own. */
    PLACE_SEGMENT, /* In a segment, of the sender or handed on by it. */
};

struct wire_tensor {
    struct tensor_wire tensor;
    uint64_t key; /* SEGMENT. */
    uint32_t place;
    uint32_t file; /* FILE, SEGMENT: which of the packet. */
    uint32_t slot; /* SEGMENT: in the sender's ledger, if it lends. */
};

struct wire_bundle {
    uint32_t is_there;
    uint32_t items;
    uint32_t count;
};

struct wire_batch {
    uint32_t workflow;
    uint32_t task;
    struct config config;
    uint32_t task_count;
    uint32_t input_count; /* Of all tasks. */
};

struct wire_task {
    struct job_id job;
    uint32_t items;
    uint32_t input_count;
};

struct wire_input {
    uint64_t bytes;
};

struct wire_output {
    uint64_t bytes;
    uint32_t items;
    int32_t status;
    char message[240];
};

/* Copy @tensor into a file of its own. -1 if there is none. */
static int copy_to_file(const struct weft_tensor *tensor)
{
    const int file = memfd_create("weft-copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const uint8_t *from = tensor->data;
    uint64_t left = tensor->bytes;
    while (file >= 0 && left > 0) {
        const ssize_t written = write(file, from, left);
        if (written <= 0) {
            (void)close(file);
            return -1;
        }
        from += written;
        left -= (uint64_t)written;
    }
    if (file >= 0) { /* The reader looks whether this was done. */
        (void)fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    }
    return file;
}

/* Pass the data of tensor @index of @bundle as a file. False: it goes into the packet instead. */
static bool put_file(
    struct packet *packet, struct bundle *bundle, uint32_t index, bool lends,
    struct wire_tensor *out)
{
    const int file = bundle_file(bundle, index, &out->key);
    if (file < 0) {
        const int copy = copy_to_file(&bundle->tensors[index]);
        if (copy < 0) {
            return false;
        }
        if (!packet_put_file(packet, copy, /* is_owned */ true, &out->file)) {
            (void)close(copy);
            return false;
        }
        out->place = PLACE_FILE;
        return true;
    }
    if (!packet_put_file(packet, file, /* is_owned */ false, &out->file)) {
        return false;
    }
    out->place = PLACE_SEGMENT;
    if (lends && bundle->memory[index].segment != NULL) {
        out->slot = bundle_lend(bundle, index);
    }
    return true;
}

/* @lends: what lies in segments is the receiver's until it says otherwise. */
static void put_bundle(struct packet *packet, struct bundle *bundle, bool lends)
{
    struct wire_bundle head = {.is_there = bundle != NULL};
    if (bundle != NULL) {
        head.items = bundle->items;
        head.count = bundle->count;
    }
    packet_put(packet, &head, sizeof(head));
    for (uint32_t i = 0; i < head.count; i++) {
        const struct weft_tensor *tensor = &bundle->tensors[i];
        struct wire_tensor out = {.tensor = tensor_wire_of(tensor)};
        const bool is_inline =
            tensor->bytes < PROCESS_SEGMENT_BYTES_MIN || !put_file(packet, bundle, i, lends, &out);
        packet_put(packet, &out, sizeof(out));
        if (is_inline) {
            packet_put(packet, tensor->data, tensor->bytes);
        }
    }
}

void process_put_batch(
    struct packet *packet, const struct process_order *order, const struct engine_batch *batch,
    uint32_t first, uint32_t end)
{
    struct wire_batch head = {
        .workflow = batch->workflow,
        .task = batch->task,
        .config = batch->config,
        .task_count = end - first,
    };
    ASSERT(first < end);
    ASSERT(end <= batch->task_count);
    for (uint32_t i = first; i < end; i++) {
        head.input_count += batch->tasks[i].input_count;
    }
    packet_start(packet, ORDER_LAUNCH);
    packet_put(packet, order, sizeof(*order));
    packet_put(packet, &head, sizeof(head));
    for (uint32_t i = first; i < end; i++) {
        const struct engine_task *task = &batch->tasks[i];
        const struct wire_task out = {
            .job = task->job, .items = task->items, .input_count = task->input_count};
        packet_put(packet, &out, sizeof(out));
        for (uint32_t k = 0; k < task->input_count; k++) {
            const struct wire_input input = {.bytes = task->inputs[k].bytes};
            packet_put(packet, &input, sizeof(input));
            put_bundle(
                packet, (struct bundle *)(uintptr_t)task->inputs[k].contents, /* lends */ false);
        }
    }
}

/* A packet that is being read. */
struct reading {
    struct received *received;
    struct packet_reader reader;
    struct lender *lender; /* The sender. NULL: it lends nothing. */
    bool is_trusted;
    bool is_short; /* There was no memory for a part of it. */
};

/* Copy texts out of @bundle, which is theirs alone: the sender may change them while they are
 * looked at. */
static bool copy_texts(struct bundle *from, struct bundle *bundle)
{
    const struct weft_tensor *tensor = &from->tensors[0];
    void *room = bundle_add(bundle, tensor);
    if (room != NULL) {
        memcpy(room, tensor->data, tensor->bytes);
    }
    return room != NULL;
}

/* Add @tensor, which is in file @place of the packet, to @bundle. */
static bool add_file(
    struct reading *reading, const struct wire_tensor *in, const struct weft_tensor *tensor,
    struct bundle *bundle)
{
    struct received *received = reading->received;
    if (in->place == PLACE_FILE) {
        return lender_is_safe(received->files[in->file], tensor->bytes) &&
               bundle_map(bundle, tensor, received->files[in->file]);
    }
    if (reading->lender == NULL || in->slot >= SEGMENTS_MAX) {
        return false;
    }
    struct mapping *mapping =
        lender_map(reading->lender, in->key, received->files[in->file], tensor->bytes);
    if (mapping == NULL) {
        return false;
    }
    received->files[in->file] = -1; /* The lender has it. */
    if (!bundle_borrow(bundle, tensor, reading->lender, mapping, in->slot)) {
        lender_unmap(reading->lender, mapping);
        return false;
    }
    return true;
}

static bool take_file(
    struct reading *reading, const struct wire_tensor *in, const struct weft_tensor *tensor,
    struct bundle *bundle)
{
    const struct received *received = reading->received;
    if (in->file >= received->file_count || received->files[in->file] < 0 || tensor->bytes == 0) {
        return false;
    }
    if (reading->is_trusted || tensor->dtype != WEFT_BYTES) {
        return add_file(reading, in, tensor, bundle);
    }
    struct bundle *texts = bundle_create();
    const bool is_good =
        texts != NULL && add_file(reading, in, tensor, texts) && copy_texts(texts, bundle);
    bundle_destroy(texts);
    return is_good;
}

static bool take_inline(
    struct reading *reading, const struct weft_tensor *tensor, struct bundle *bundle)
{
    const uint8_t *data = reader_skip(&reading->reader, tensor->bytes);
    void *room = data == NULL ? NULL : bundle_add(bundle, tensor);
    reading->is_short = reading->is_short || (data != NULL && room == NULL);
    if (room != NULL && tensor->bytes > 0) {
        memcpy(room, data, tensor->bytes);
    }
    return room != NULL;
}

/* The next tensor, for @bundle. */
static bool take_tensor(struct reading *reading, struct bundle *bundle)
{
    struct wire_tensor in;
    reader_take(&reading->reader, &in, sizeof(in));
    const struct weft_tensor tensor = tensor_wire_read(&in.tensor);
    if (reading->reader.is_bad || bundle_check_tensor(&tensor, UINT64_MAX, NULL) != WEFT_OK ||
        bundle_find(bundle, tensor.name) != NULL ||
        !(in.place == PLACE_INLINE ? take_inline(reading, &tensor, bundle)
                                   : take_file(reading, &in, &tensor, bundle))) {
        return false;
    }
    const struct weft_tensor *taken = &bundle->tensors[bundle->count - 1];
    return reading->is_trusted || taken->dtype != WEFT_BYTES || tensor_texts_fit(taken);
}

/* The next bundle; NULL in *bundle_out if there is none. False if it makes no sense. */
static bool take_bundle(struct reading *reading, struct bundle **bundle_out)
{
    struct wire_bundle head;
    *bundle_out = NULL;
    reader_take(&reading->reader, &head, sizeof(head));
    if (reading->reader.is_bad || head.count > BUNDLE_TENSORS_MAX || head.items > ITEMS_MAX) {
        return false;
    }
    if (head.is_there == 0) {
        return true;
    }
    struct bundle *bundle = bundle_create();
    if (bundle == NULL) {
        reading->is_short = true;
        return false;
    }
    bundle->items = head.items;
    for (uint32_t i = 0; i < head.count; i++) {
        if (!take_tensor(reading, bundle)) {
            bundle_destroy(bundle);
            return false;
        }
    }
    *bundle_out = bundle;
    return true;
}

bool process_take_batch(
    struct received *received, struct lender *lender, struct process_batch_in *batch_out)
{
    struct reading reading = {.received = received, .lender = lender, .is_trusted = true};
    struct process_order order;
    struct wire_batch head;
    reader_init(&reading.reader, received);
    reader_take(&reading.reader, &order, sizeof(order));
    reader_take(&reading.reader, &head, sizeof(head));
    if (reading.reader.is_bad || head.task_count == 0 || head.task_count > BATCH_TASKS_MAX) {
        return false;
    }
    *batch_out = (struct process_batch_in){
        .batch =
            {
                .batch = order.number,
                .worker = order.worker,
                .workflow = head.workflow,
                .task = head.task,
                .config = head.config,
                .task_count = head.task_count,
            },
        .near = order.near,
        .ahead = order.ahead,
        .from = order.from,
        .file = order.file,
        .bundles = memory_reserved_zeroed((size_t)head.input_count + 1, sizeof(struct bundle *)),
        .tasks = memory_reserved_zeroed(head.task_count, sizeof(struct engine_task)),
        .inputs = memory_reserved_zeroed((size_t)head.input_count + 1, sizeof(struct engine_input)),
    };
    bool is_good =
        batch_out->bundles != NULL && batch_out->tasks != NULL && batch_out->inputs != NULL;
    for (uint32_t i = 0; i < head.task_count && is_good; i++) {
        struct wire_task task;
        reader_take(&reading.reader, &task, sizeof(task));
        is_good = task.input_count <= head.input_count - batch_out->bundle_count;
        batch_out->batch.items += task.items;
        batch_out->tasks[i] = (struct engine_task){
            .job = task.job,
            .items = task.items,
            .input_count = task.input_count,
            .inputs = batch_out->inputs + batch_out->bundle_count,
        };
        for (uint32_t k = 0; k < task.input_count && is_good; k++) {
            struct wire_input input;
            const uint32_t at = batch_out->bundle_count;
            reader_take(&reading.reader, &input, sizeof(input));
            is_good = take_bundle(&reading, &batch_out->bundles[at]);
            batch_out->inputs[at] =
                (struct engine_input){.contents = batch_out->bundles[at], .bytes = input.bytes};
            batch_out->bundle_count++;
        }
    }
    batch_out->batch.tasks = batch_out->tasks;
    if (!is_good || reading.reader.is_bad) {
        process_batch_free(batch_out);
        return false;
    }
    return true;
}

void process_batch_free(struct process_batch_in *batch)
{
    ASSERT(batch->bundles != NULL || batch->bundle_count == 0);
    for (uint32_t i = 0; i < batch->bundle_count; i++) {
        bundle_destroy(batch->bundles[i]);
    }
    free(batch->bundles);
    free(batch->tasks);
    free(batch->inputs);
    batch->bundles = NULL;
    batch->tasks = NULL;
    batch->inputs = NULL;
    batch->bundle_count = 0;
}

void process_batch_after(
    const struct process_batch_in *before, uint32_t task, const struct engine_done *done,
    struct process_batch_in *batch_out)
{
    const uint32_t count = done->output_count;
    struct process_batch_in batch = {
        .batch = before->batch,
        .ahead = before->ahead - 1,
        .bundle_count = count,
        .bundles = memory_zeroed(count, sizeof(struct bundle *)),
        .tasks = memory_zeroed(count, sizeof(struct engine_task)),
        .inputs = memory_zeroed(count, sizeof(struct engine_input)),
    };
    batch.batch.task = task;
    batch.batch.items = 0;
    batch.batch.tasks = batch.tasks;
    for (uint32_t i = 0; i < count; i++) {
        const struct engine_output *output = &done->outputs[i];
        batch.bundles[i] = bundle_share(output->contents);
        batch.inputs[i] =
            (struct engine_input){.contents = output->contents, .bytes = output->bytes};
        batch.tasks[i] = (struct engine_task){
            .job = before->batch.tasks[i].job,
            .items = output->items,
            .input_count = 1,
            .inputs = &batch.inputs[i],
        };
        batch.batch.items += output->items;
    }
    *batch_out = batch;
}

void process_copy_message(char *to, size_t bytes, const char *message)
{
    to[0] = '\0';
    if (message != NULL && message[0] != '\0') {
        (void)snprintf(to, bytes, "%s", message);
    }
}

void process_put_done(
    struct packet *packet, const struct process_report *report, const struct engine_done *done)
{
    static const uint32_t kinds[] = {
        [ENGINE_LOADED] = REPORT_LOADED,   [ENGINE_UNLOADED] = REPORT_UNLOADED,
        [ENGINE_SHAPED] = REPORT_SHAPED,   [ENGINE_RAN] = REPORT_RAN,
        [ENGINE_REVISED] = REPORT_REVISED,
    };
    struct process_report head = *report;
    head.usage_count = done->usage_count;
    head.output_count = done->output_count;
    packet_start(packet, kinds[done->kind]);
    packet_put(packet, &head, sizeof(head));
    packet_put(packet, done->usages, done->usage_count * sizeof(*done->usages));
    for (uint32_t i = 0; i < done->output_count; i++) {
        const struct engine_output *output = &done->outputs[i];
        struct wire_output out = {
            .bytes = output->bytes, .items = output->items, .status = output->status};
        process_copy_message(out.message, sizeof(out.message), output->message);
        packet_put(packet, &out, sizeof(out));
        put_bundle(packet, output->contents, /* lends */ true);
    }
}

/* Whether @value is a status that a process may report. */
static bool is_status(int32_t value)
{
    switch (value) {
#define X(name, number, text) case name:
        WEFT_STATUS_MAP(X)
#undef X
        return true;
    default:
        return false;
    }
}

static bool take_output(struct reading *reading, struct process_ran *ran, uint32_t index)
{
    struct wire_output in;
    struct bundle *bundle = NULL;
    reader_take(&reading->reader, &in, sizeof(in));
    if (reading->reader.is_bad || !is_status(in.status) || in.items > ITEMS_MAX ||
        !take_bundle(reading, &bundle)) {
        return false;
    }
    in.message[sizeof(in.message) - 1] = '\0';
    memcpy(ran->messages[index], in.message, sizeof(in.message));
    ran->outputs[index] = (struct engine_output){
        .contents = bundle,
        .bytes = bundle == NULL ? 0 : bundle->bytes,
        .items = in.items,
        .status = (enum weft_status)in.status,
        .message = ran->messages[index],
    };
    return (in.status == WEFT_OK) == (bundle != NULL);
}

bool process_take_report(
    struct received *received, struct lender *lender, struct process_ran *ran_out)
{
    struct reading reading = {.received = received, .lender = lender};
    struct process_report *report = &ran_out->report;
    reader_init(&reading.reader, received);
    reader_take(&reading.reader, report, sizeof(*report));
    report->message[sizeof(report->message) - 1] = '\0';
    if (reading.reader.is_bad || !is_status(report->status) ||
        report->usage_count > ENGINE_USAGES_MAX || report->output_count > BATCH_TASKS_MAX ||
        report->run_ns < 0) {
        return false;
    }
    reader_take(&reading.reader, ran_out->usages, report->usage_count * sizeof(ran_out->usages[0]));
    for (uint32_t i = 0; i < report->output_count; i++) {
        ran_out->outputs[i].contents = NULL;
    }
    for (uint32_t i = 0; i < report->output_count; i++) {
        if (!take_output(&reading, ran_out, i)) {
            for (uint32_t k = 0; k <= i; k++) {
                bundle_destroy(ran_out->outputs[k].contents);
            }
            report->output_count = 0;
            report->status = WEFT_NO_MEMORY;
            (void)snprintf(
                report->message, sizeof(report->message), "no memory for the outputs of a batch");
            return reading.is_short;
        }
    }
    return !reading.reader.is_bad;
}

void process_ran_clear(struct process_ran *ran)
{
    for (uint32_t i = 0; i < ran->report.output_count; i++) {
        bundle_destroy(ran->outputs[i].contents);
        ran->outputs[i].contents = NULL;
    }
}
