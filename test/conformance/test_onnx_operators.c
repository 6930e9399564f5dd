/*
 * The operators of ONNX, one tiny model each, give what their standard says: all the way from
 * named tensors through our own run to a bundle.
 *
 * The models are those of the Debian package libonnx-testdata; without it this test skips.
 *
 * Covers: src/onnx/run.c, src/onnx/model.c
 */
#include "unit/onnx_fixture.h"

#include <dirent.h>
#include <math.h>

#include "base/attributes.h"
#include "engine/half.h"

enum { PORTS_MAX = 16, FILE_BYTES_MAX = 1 << 20 };

static const char *const data_folder = "/usr/share/libonnx-testdata/data/node";

/* A tensor as files have it, and room for its elements. */
struct filed {
    struct weft_tensor tensor;
    bool is_known; /* Of a type that can be passed. */
    uint8_t data[FILE_BYTES_MAX];
};

/* Bytes that are read as fields of a message. */
struct cursor {
    const uint8_t *at;
    const uint8_t *end;
};

static uint64_t read_number(struct cursor *cursor)
{
    uint64_t number = 0;
    for (uint32_t shift = 0; cursor->at < cursor->end && shift < 64; shift += 7) {
        const uint8_t byte = *cursor->at++;
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            break;
        }
    }
    return number;
}

static void add_number(struct filed *filed, uint64_t number)
{
    const size_t width = (size_t)tensor_bytes(filed->tensor.dtype, 0, NULL);
    if (filed->is_known && filed->tensor.bytes + width <= FILE_BYTES_MAX) {
        memcpy(filed->data + filed->tensor.bytes, &number, width); /* Little-endian. */
        filed->tensor.bytes += width;
    }
}

static void add_text(struct filed *filed, struct cursor text)
{
    const uint32_t length = (uint32_t)(text.end - text.at);
    if (filed->tensor.bytes + sizeof(length) + length <= FILE_BYTES_MAX) {
        memcpy(filed->data + filed->tensor.bytes, &length, sizeof(length));
        memcpy(filed->data + filed->tensor.bytes + sizeof(length), text.at, length);
        filed->tensor.bytes += sizeof(length) + length;
    }
}

/* Fields of a tensor: 1 extents, 2 type, 4 and 10 floats, 5 7 11 integers, 6 texts, 8 name,
 * 9 bytes. */
static void read_field(struct filed *filed, uint32_t field, struct cursor part)
{
    switch (field) {
    case 1:
        while (part.at < part.end && filed->tensor.rank < WEFT_RANK_MAX) {
            filed->tensor.shape[filed->tensor.rank++] = (int64_t)read_number(&part);
        }
        return;
    case 5:
    case 7:
    case 11:
        while (part.at < part.end) {
            add_number(filed, read_number(&part));
        }
        return;
    case 6:
        add_text(filed, part);
        return;
    case 8:
        (void)snprintf(
            filed->tensor.name, sizeof(filed->tensor.name), "%.*s", (int)(part.end - part.at),
            (const char *)part.at);
        return;
    case 4:
    case 9:
    case 10:
        filed->tensor.bytes = (uint64_t)(part.end - part.at);
        memcpy(filed->data, part.at, filed->tensor.bytes);
        return;
    default:
        return;
    }
}

/* False if there is no such file. */
static bool read_tensor(const char *path, struct filed *filed)
{
    static uint8_t bytes[FILE_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    struct cursor cursor = {.at = bytes};
    cursor.end = bytes + fread(bytes, 1, sizeof(bytes), file);
    assert_int_equal(fclose(file), 0);
    memset(&filed->tensor, 0, sizeof(filed->tensor));
    filed->is_known = false;
    while (cursor.at < cursor.end) {
        const uint64_t key = read_number(&cursor);
        struct cursor part = cursor;
        if (key % 8 == 2) { /* Bytes follow. */
            const uint64_t count = read_number(&cursor);
            part = (struct cursor){.at = cursor.at, .end = cursor.at + count};
            cursor.at += count;
        } else {
            (void)read_number(&cursor);
            part.end = cursor.at;
        }
        if (key / 8 == 2) {
            filed->tensor.dtype = onnx_dtype_of((uint32_t)read_number(&part));
            filed->is_known = filed->tensor.dtype != WEFT_DTYPES;
        } else {
            read_field(filed, (uint32_t)(key / 8), part);
        }
    }
    filed->tensor.data = filed->data;
    return true;
}

static double element(const struct weft_tensor *tensor, uint64_t index)
{
    float single;
    double both;
    uint16_t bits;
    if (tensor->dtype == WEFT_BF16) {
        memcpy(&bits, (const uint8_t *)tensor->data + index * sizeof(bits), sizeof(bits));
        return bf16_to_double(bits);
    }
    if (tensor->dtype == WEFT_FP32) {
        memcpy(&single, (const uint8_t *)tensor->data + index * sizeof(single), sizeof(single));
        return (double)single;
    }
    memcpy(&both, (const uint8_t *)tensor->data + index * sizeof(both), sizeof(both));
    return both;
}

/* Floats may differ a little; everything else not at all. */
static bool are_equal(const struct weft_tensor *made, const struct weft_tensor *wanted)
{
    if (made->dtype != wanted->dtype || made->rank != wanted->rank ||
        made->bytes != wanted->bytes ||
        memcmp(made->shape, wanted->shape, made->rank * sizeof(made->shape[0])) != 0) {
        return false;
    }
    const bool is_bf16 = made->dtype == WEFT_BF16;
    if (made->dtype != WEFT_FP32 && made->dtype != WEFT_FP64 && !is_bf16) {
        return made->dtype == WEFT_FP16 || memcmp(made->data, wanted->data, made->bytes) == 0;
    }
    const uint64_t count = made->bytes / dtype_bytes(made->dtype);
    const double most = is_bf16 ? 0x1p-7 : 1e-3;
    for (uint64_t i = 0; i < count; i++) {
        const double a = element(made, i);
        const double b = element(wanted, i);
        if (!(fabs(a - b) <= 1e-4 + most * fabs(b)) && !(isnan(a) && isnan(b)) && a != b) {
            return false;
        }
    }
    return true;
}

enum outcome { GOOD, WRONG, REFUSED, UNKNOWN };

/* Read @kind_0.pb and so on. False if one is of a type that cannot be passed. */
static bool read_all(const char *folder, const char *kind, struct filed *filed, uint32_t *count_out)
{
    char path[512];
    *count_out = 0;
    for (uint32_t i = 0; i < PORTS_MAX; i++) {
        (void)snprintf(path, sizeof(path), "%s/test_data_set_0/%s_%u.pb", folder, kind, i);
        if (!read_tensor(path, &filed[i])) {
            return true;
        }
        if (!filed[i].is_known ||
            (filed[i].tensor.dtype == WEFT_BYTES
                 ? !tensor_texts_fit(&filed[i].tensor)
                 : filed[i].tensor.bytes !=
                       tensor_bytes(
                           filed[i].tensor.dtype, filed[i].tensor.rank, filed[i].tensor.shape))) {
            return false;
        }
        ++*count_out;
    }
    return true;
}

/* BF16 is filed as whole numbers of as many bytes. */
static void as_declared(struct weft_tensor *filed, const struct onnx_port *port)
{
    if (filed->dtype == WEFT_UINT16 && port->dtype == WEFT_BF16) {
        filed->dtype = WEFT_BF16;
    }
}

static enum outcome try_operator(const char *folder)
{
    static struct filed inputs[PORTS_MAX]; /* Large: not on the stack. */
    static struct filed outputs[PORTS_MAX];
    struct weft_tensor given[PORTS_MAX];
    uint32_t input_count;
    uint32_t output_count;
    char path[512];
    struct onnx_model *model = NULL;
    struct onnx_usage usage;
    if (!read_all(folder, "input", inputs, &input_count) ||
        !read_all(folder, "output", outputs, &output_count)) {
        return UNKNOWN;
    }
    (void)snprintf(path, sizeof(path), "%s/model.onnx", folder);
    const struct onnx_options options = {.path = path, .name = "m"};
    if (onnx_model_load(fixture_ort(), &options, &model, NULL) != WEFT_OK) {
        return REFUSED;
    }
    /* Inputs are filed in the order of the model, sometimes without their names. */
    for (uint32_t i = 0; i < input_count; i++) {
        given[i] = inputs[i].tensor;
        if (i < model->inputs.count) {
            memcpy(given[i].name, model->inputs.items[i].name, sizeof(given[i].name));
            as_declared(&given[i], &model->inputs.items[i]);
        }
    }
    struct onnx_task task = {.inputs = given, .input_count = input_count};
    onnx_run(model, NULL, &task, 1, &usage);
    bool is_good = task.output != NULL && task.output->count >= output_count;
    for (uint32_t i = 0; i < output_count && is_good; i++) {
        as_declared(&outputs[i].tensor, &model->outputs.items[i]);
        is_good = are_equal(&task.output->tensors[i], &outputs[i].tensor);
    }
    bundle_destroy(task.output);
    onnx_model_unload(model);
    return is_good ? GOOD : WRONG;
}

/* What is drawn at random has no one answer, and in a few the library has another one. */
static bool is_left_out(const char *name)
{
    static const char *const names[] = {
        "bernoulli",
        "training_dropout",
        "test_dft",
        "FLOAT_to_STRING",            /* With fewer digits. */
        "castlike_BFLOAT16_to_FLOAT", /* Filed in another shape than the model says. */
        "castlike_FLOAT_to_BFLOAT16",
        "test_maxunpool_export_with_output_shape",
        "test_resize_downsample_scales_cubic_align_corners",
        "test_resize_downsample_scales_linear_align_corners",
    };
    bool is_named = false;
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        is_named = is_named || strstr(name, names[i]) != NULL;
    }
    return is_named;
}

static void operators_give_what_the_standard_says(ATTR_UNUSED void **state)
{
    uint32_t counts[4] = {0};
    (void)fixture_ort();
    DIR *folder = opendir(data_folder);
    if (folder == NULL) {
        print_message("skipped: no libonnx-testdata\n");
        skip();
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char path[400];
        if (entry->d_name[0] == '.' || is_left_out(entry->d_name)) {
            continue;
        }
        (void)snprintf(path, sizeof(path), "%s/%s", data_folder, entry->d_name);
        const enum outcome outcome = try_operator(path);
        counts[outcome]++;
        if (outcome == WRONG) {
            print_message("%s\n", entry->d_name);
        }
    }
    assert_int_equal(closedir(folder), 0);
    print_message(
        "%u good, %u wrong, %u refused by the library, %u of other types\n", counts[GOOD],
        counts[WRONG], counts[REFUSED], counts[UNKNOWN]);
    assert_true(counts[GOOD] > 800);
    assert_int_equal(counts[WRONG], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_give_what_the_standard_says),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
