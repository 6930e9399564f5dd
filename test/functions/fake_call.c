#include "functions/fake_call.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/bundle.h"

enum { TEXT_BYTES_MAX = 4096 };

struct fake {
    void *library;
    const struct weft_function_table *table;
    const char *folder;
    fake_model model;
    void *context;
    struct bundle *inputs;
    struct bundle *outputs;
    uint32_t items;
    char message[256];
    char text[TEXT_BYTES_MAX];
};

struct fake *fake_open(const char *name)
{
    char path[512];
    struct fake *fake = calloc(1, sizeof(*fake));
    assert_non_null(fake);
    (void)snprintf(path, sizeof(path), "%s/%s.so", FUNCTIONS_FOLDER, name);
    fake->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (fake->library == NULL) {
        fail_msg("%s", dlerror());
    }
    fake->table = dlsym(fake->library, "weft_functions");
    assert_non_null(fake->table);
    assert_int_equal(fake->table->version, WEFT_FUNCTION_VERSION);
    fake->folder = FUNCTIONS_FOLDER;
    fake->inputs = bundle_create();
    fake->outputs = bundle_create();
    return fake;
}

void fake_close(struct fake *fake)
{
    bundle_destroy(fake->inputs);
    bundle_destroy(fake->outputs);
    (void)dlclose(fake->library);
    free(fake);
}

void fake_set_folder(struct fake *fake, const char *folder)
{
    fake->folder = folder;
}

void fake_set_model(struct fake *fake, fake_model model, void *context)
{
    fake->model = model;
    fake->context = context;
}

static void *add(
    struct bundle *bundle, const char *name, enum weft_dtype dtype, uint32_t rank,
    const int64_t *shape, uint64_t bytes)
{
    struct weft_tensor tensor = {.dtype = dtype, .rank = rank};
    (void)snprintf(tensor.name, sizeof(tensor.name), "%s", name);
    memcpy(tensor.shape, shape, rank * sizeof(*shape));
    tensor.bytes = dtype == WEFT_BYTES ? bytes : tensor_bytes(dtype, rank, shape);
    return bundle_add(bundle, &tensor);
}

void fake_input(
    struct fake *fake, const char *name, enum weft_dtype dtype, uint32_t rank, const int64_t *shape,
    const void *data)
{
    void *room = add(fake->inputs, name, dtype, rank, shape, 0);
    assert_non_null(room);
    memcpy(room, data, (size_t)tensor_bytes(dtype, rank, shape));
}

void fake_pass(struct fake *fake, const char *from, const char *to)
{
    const struct weft_tensor *tensor = fake_output(fake, from);
    assert_non_null(tensor);
    void *room = add(fake->inputs, to, tensor->dtype, tensor->rank, tensor->shape, tensor->bytes);
    assert_non_null(room);
    memcpy(room, tensor->data, (size_t)tensor->bytes);
}

static void *give_output(
    void *inside, const char *name, enum weft_dtype dtype, uint32_t rank, const int64_t *shape,
    uint64_t bytes)
{
    return add(((struct fake *)inside)->outputs, name, dtype, rank, shape, bytes);
}

static void give_items(void *inside, uint32_t items)
{
    ((struct fake *)inside)->items = items;
}

static enum weft_status run(
    void *inside, const char *model, const struct weft_tensor *inputs, uint32_t input_count,
    const struct weft_tensor **outputs_out, uint32_t *output_count_out)
{
    struct fake *fake = inside;
    assert_non_null(fake->model);
    return fake->model(fake->context, model, inputs, input_count, outputs_out, output_count_out);
}

static void say(void *inside, const char *message)
{
    struct fake *fake = inside;
    (void)snprintf(fake->message, sizeof(fake->message), "%s", message);
}

static int is_cancelled(void *inside)
{
    (void)inside;
    return 0;
}

static const char *folder(void *inside)
{
    return ((struct fake *)inside)->folder;
}

enum weft_status fake_call(struct fake *fake, const char *function)
{
    const struct weft_call call = {
        .inside = fake,
        .items = 1,
        .input_count = fake->inputs->count,
        .inputs = fake->inputs->tensors,
        .output = give_output,
        .give_items = give_items,
        .run = run,
        .fail = say,
        .is_cancelled = is_cancelled,
        .folder = folder,
    };
    bundle_destroy(fake->outputs);
    fake->outputs = bundle_create();
    fake->items = 1;
    fake->message[0] = '\0';
    for (uint32_t i = 0; i < fake->table->count; i++) {
        if (strcmp(fake->table->entries[i].name, function) == 0) {
            const enum weft_status status = fake->table->entries[i].run(&call);
            bundle_destroy(fake->inputs);
            fake->inputs = bundle_create();
            return status;
        }
    }
    fail_msg("there is no function '%s'", function);
    return WEFT_NOT_FOUND;
}

const struct weft_tensor *fake_output(const struct fake *fake, const char *name)
{
    return bundle_find(fake->outputs, name);
}

uint32_t fake_items(const struct fake *fake)
{
    return fake->items;
}

const char *fake_message(const struct fake *fake)
{
    return fake->message;
}

const char *fake_text(struct fake *fake, const char *name, uint32_t index)
{
    const struct weft_tensor *tensor = fake_output(fake, name);
    assert_non_null(tensor);
    assert_true(tensor_texts_fit(tensor));
    assert_true((int64_t)index < tensor->shape[0]);
    const uint8_t *at = tensor->data;
    uint32_t length = 0;
    for (uint32_t i = 0; i <= index; i++) {
        memcpy(&length, at, sizeof(length));
        at += sizeof(length) + (i < index ? length : 0);
    }
    char *out = fake->text;
    assert_true(length < TEXT_BYTES_MAX);
    memcpy(out, at, length);
    out[length] = '\0';
    return out;
}
