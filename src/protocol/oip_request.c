#include "protocol/oip_request.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/fleet.h"
#include "protocol/json_cut.h"
#include "protocol/json_data.h"

/* One request while it is read. */
struct reading {
    const struct workflow *workflow;
    const struct json_rest *rest;
    const struct oip_bounds *bounds;
    struct oip_request *request;
    struct weft_error *error;
};

char *oip_shape_text(char out[static OIP_SHAPE_BYTES], uint32_t rank, const int64_t *shape)
{
    struct text text;
    text_init(&text, out, OIP_SHAPE_BYTES);
    text_put(&text, "[");
    for (uint32_t i = 0; i < rank; i++) {
        text_put(&text, i == 0 ? "" : ",");
        text_put(&text, shape[i] < 0 ? "-" : "");
        text_put_number(&text, shape[i] < 0 ? -(uint64_t)shape[i] : (uint64_t)shape[i]);
    }
    text_put(&text, "]");
    return out;
}

/*
 * A whole number >= 0. All numbers are read as doubles: an unused parameter may be
 * larger than an integer can be. What is larger than any size counts as the largest.
 */
static bool read_whole(const json_t *value, int64_t *number_out)
{
    const double number = json_is_real(value) ? json_real_value(value) : -1;
    if (!(number >= 0) || number != floor(number)) {
        return false;
    }
    *number_out = number < 9223372036854775808.0 ? (int64_t)number : INT64_MAX;
    return true;
}

static enum weft_status read_shape(
    const json_t *shape, struct weft_tensor *tensor, struct weft_error *error)
{
    if (!json_is_array(shape)) {
        return error_set(error, WEFT_INVALID, "input '%s' has no shape", tensor->name);
    }
    if (json_array_size(shape) > WEFT_RANK_MAX) {
        return error_set(
            error, WEFT_INVALID, "input '%s': a shape has at most %d dimensions", tensor->name,
            WEFT_RANK_MAX);
    }
    tensor->rank = (uint32_t)json_array_size(shape);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        const json_t *extent = json_array_get(shape, i);
        if (!read_whole(extent, &tensor->shape[i])) {
            return error_set(
                error, WEFT_INVALID,
                "input '%s': dimension %" PRIu32 " of its shape is not a whole number >= 0",
                tensor->name, i);
        }
    }
    return WEFT_OK;
}

/* The names of all inputs, for a client that used a wrong one. */
static void list_inputs(const struct workflow *workflow, char *out, size_t room)
{
    struct text text;
    text_init(&text, out, room);
    for (uint32_t i = 0; i < workflow->input_count; i++) {
        text_add(&text, "%s%s", i == 0 ? "" : ", ", workflow->inputs[i].name);
    }
}

/* Whether @tensor is what the workflow declares. One that declares nothing takes anything. */
static enum weft_status check_input(
    const struct workflow *workflow, const struct weft_tensor *tensor, struct weft_error *error)
{
    const struct workflow_input *input = NULL;
    for (uint32_t i = 0; i < workflow->input_count && input == NULL; i++) {
        if (strcmp(workflow->inputs[i].name, tensor->name) == 0) {
            input = &workflow->inputs[i];
        }
    }
    if (workflow->input_count == 0) {
        return WEFT_OK;
    }
    if (input == NULL) {
        char names[96];
        list_inputs(workflow, names, sizeof(names));
        return error_set(
            error, WEFT_INVALID, "'%s' has no input '%s'; it has %s", workflow->name, tensor->name,
            names);
    }
    if (input->dtype != tensor->dtype) {
        return error_set(
            error, WEFT_INVALID, "input '%s' is %s, not %s", tensor->name, dtype_name(input->dtype),
            dtype_name(tensor->dtype));
    }
    bool fits = input->is_any_rank || input->rank == tensor->rank;
    for (uint32_t i = 0; i < input->rank && fits && !input->is_any_rank; i++) {
        fits = input->shape[i] < 0 || input->shape[i] == tensor->shape[i];
    }
    if (!fits) {
        char wanted[OIP_SHAPE_BYTES];
        char given[OIP_SHAPE_BYTES];
        return error_set(
            error, WEFT_INVALID, "input '%s' has shape %.80s, not %.80s", tensor->name,
            oip_shape_text(wanted, input->rank, input->shape),
            oip_shape_text(given, tensor->rank, tensor->shape));
    }
    return WEFT_OK;
}

static const struct json_cut *find_cut(const struct json_rest *rest, uint32_t input)
{
    for (uint32_t i = 0; i < rest->cut_count; i++) {
        if (rest->cuts[i].input == input) {
            return &rest->cuts[i];
        }
    }
    return NULL;
}

static enum weft_status add_tensor(
    struct reading *reading, const struct weft_tensor *tensor, struct weft_tensor **added_out)
{
    struct bundle *bundle = reading->request->bundle;
    if (bundle_find(bundle, tensor->name) != NULL) {
        return error_set(reading->error, WEFT_INVALID, "input '%s' is given twice", tensor->name);
    }
    const struct oip_bounds *bounds = reading->bounds;
    if (bounds->hold != NULL) {
        const enum weft_status status =
            bounds->hold(bounds->context, tensor->bytes, reading->error);
        if (status != WEFT_OK) {
            return status;
        }
    }
    if (bundle_add(bundle, tensor) == NULL) {
        return error_set(reading->error, WEFT_NO_MEMORY, "no room for input '%s'", tensor->name);
    }
    *added_out = &bundle->tensors[bundle->count - 1];
    return WEFT_OK;
}

/* A tensor whose data is in the JSON. */
static enum weft_status read_json_data(
    struct reading *reading, struct weft_tensor *tensor, const struct json_cut *cut)
{
    struct weft_tensor *added = NULL;
    if (tensor->dtype == WEFT_BYTES) {
        const enum weft_status status =
            json_texts_bytes(cut->bytes, cut->length, &tensor->bytes, reading->error);
        if (status != WEFT_OK) {
            return status;
        }
    }
    uint64_t elements = 1;
    bool is_possible = true;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        is_possible =
            is_possible && !__builtin_mul_overflow(elements, (uint64_t)tensor->shape[i], &elements);
    }
    if (!is_possible || elements > cut->length) {
        char shape[OIP_SHAPE_BYTES];
        return error_set(
            reading->error, WEFT_INVALID,
            "input '%s': data has fewer elements than its shape %.80s", tensor->name,
            oip_shape_text(shape, tensor->rank, tensor->shape));
    }
    const enum weft_status status = add_tensor(reading, tensor, &added);
    return status != WEFT_OK ? status
                             : json_data_read(cut->bytes, cut->length, added, reading->error);
}

/* A tensor whose bytes follow the JSON. */
static enum weft_status read_binary(
    struct reading *reading, struct weft_tensor *tensor, const json_t *size)
{
    struct oip_request *request = reading->request;
    struct weft_tensor *added = NULL;
    int64_t number = 0;
    const uint64_t bytes = read_whole(size, &number) ? (uint64_t)number : UINT64_MAX;
    if (bytes > reading->bounds->binary_bytes_max - request->binary_bytes) {
        return error_set(
            reading->error, WEFT_INVALID,
            "input '%s': binary_data_size is more than the body has behind its JSON", tensor->name);
    }
    if (tensor->dtype != WEFT_BYTES && bytes != tensor->bytes) {
        return error_set(
            reading->error, WEFT_INVALID,
            "input '%s': binary_data_size is %" PRIu64 ", its type and shape take %" PRIu64,
            tensor->name, bytes, tensor->bytes);
    }
    tensor->bytes = bytes;
    const enum weft_status status = add_tensor(reading, tensor, &added);
    if (status == WEFT_OK) {
        request->binary[request->binary_count++] = request->bundle->count - 1;
        request->binary_bytes += bytes;
    }
    return status;
}

static enum weft_status read_input(struct reading *reading, const json_t *input, uint32_t index)
{
    struct weft_error *error = reading->error;
    struct weft_tensor tensor = {.rank = 0};
    const char *name = json_string_value(json_object_get(input, "name"));
    const char *type = json_string_value(json_object_get(input, "datatype"));
    const json_t *parameters = json_object_get(input, "parameters");
    const json_t *size = json_object_get(parameters, "binary_data_size");
    const struct json_cut *cut = find_cut(reading->rest, index);
    if (name == NULL || strlen(name) >= sizeof(tensor.name) || name[0] == '\0') {
        return error_set(
            error, WEFT_INVALID, "input %" PRIu32 " has no name, or one that is too long", index);
    }
    (void)memcpy(tensor.name, name, strlen(name) + 1);
    tensor.dtype = type == NULL ? WEFT_DTYPES : dtype_parse(type);
    if (tensor.dtype == WEFT_DTYPES) {
        return error_set(
            error, WEFT_INVALID, "input '%s': '%.32s' is not a datatype", name,
            type == NULL ? "" : type);
    }
    enum weft_status status = read_shape(json_object_get(input, "shape"), &tensor, error);
    if (status == WEFT_OK) {
        status = check_input(reading->workflow, &tensor, error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    tensor.bytes =
        tensor.dtype == WEFT_BYTES ? 0 : tensor_bytes(tensor.dtype, tensor.rank, tensor.shape);
    if (tensor.bytes == UINT64_MAX) {
        return error_set(error, WEFT_INVALID, "input '%s' is larger than memory", name);
    }
    if (json_object_get(parameters, "shared_memory_region") != NULL) {
        return error_set(error, WEFT_INVALID, "input '%s': shared memory is not supported", name);
    }
    if (size != NULL && cut == NULL && json_object_get(input, "data") == NULL) {
        return read_binary(reading, &tensor, size);
    }
    if (size != NULL || cut == NULL) {
        return error_set(
            error, WEFT_INVALID,
            size == NULL ? "input '%s' has no array 'data'"
                         : "input '%s' has both 'data' and 'binary_data_size'",
            name);
    }
    return read_json_data(reading, &tensor, cut);
}

static enum weft_status read_inputs(struct reading *reading, const json_t *inputs)
{
    const struct workflow *workflow = reading->workflow;
    if (inputs != NULL && !json_is_array(inputs)) {
        return error_set(reading->error, WEFT_INVALID, "'inputs' is not an array");
    }
    const size_t count = json_array_size(inputs);
    if (count > BUNDLE_TENSORS_MAX) {
        return error_set(
            reading->error, WEFT_INVALID, "at most %d inputs can be given", BUNDLE_TENSORS_MAX);
    }
    for (uint32_t i = 0; i < count; i++) {
        const enum weft_status status = read_input(reading, json_array_get(inputs, i), i);
        if (status != WEFT_OK) {
            return status;
        }
    }
    for (uint32_t i = 0; i < workflow->input_count; i++) {
        if (bundle_find(reading->request->bundle, workflow->inputs[i].name) == NULL) {
            return error_set(
                reading->error, WEFT_INVALID, "input '%s' of '%s' is missing",
                workflow->inputs[i].name, workflow->name);
        }
    }
    return WEFT_OK;
}

static enum weft_status read_output(
    struct reading *reading, const json_t *output, bool is_binary, struct oip_output *output_out)
{
    const struct workflow *workflow = reading->workflow;
    const json_t *parameters = json_object_get(output, "parameters");
    const json_t *binary = json_object_get(parameters, "binary_data");
    const char *name = json_string_value(json_object_get(output, "name"));
    if (name == NULL) {
        return error_set(reading->error, WEFT_INVALID, "an output that is asked for has no name");
    }
    if (json_object_get(parameters, "classification") != NULL ||
        json_object_get(parameters, "shared_memory_region") != NULL) {
        return error_set(
            reading->error, WEFT_INVALID,
            "output '%.64s': neither classification nor shared memory is supported", name);
    }
    output_out->is_binary = binary == NULL ? is_binary : json_is_true(binary);
    for (uint32_t i = 0; i < workflow->result_count; i++) {
        if (strcmp(workflow->results[i].name, name) == 0) {
            output_out->result = i;
            return WEFT_OK;
        }
    }
    return error_set(
        reading->error, WEFT_INVALID, "'%s' has no output '%.64s'", workflow->name, name);
}

/* What is asked for; without a list, everything. */
static enum weft_status read_outputs(struct reading *reading, const json_t *outputs, bool is_binary)
{
    struct oip_request *request = reading->request;
    const size_t asked = json_array_size(outputs);
    request->is_binary = is_binary;
    if (outputs != NULL && !json_is_array(outputs)) {
        return error_set(reading->error, WEFT_INVALID, "'outputs' is not an array");
    }
    if (asked == 0) {
        const uint32_t all = reading->workflow->result_count;
        request->output_count = all < OIP_OUTPUTS_MAX ? all : OIP_OUTPUTS_MAX;
        for (uint32_t i = 0; i < request->output_count; i++) {
            request->outputs[i] = (struct oip_output){.result = i, .is_binary = is_binary};
        }
        return WEFT_OK;
    }
    if (asked > OIP_OUTPUTS_MAX) {
        return error_set(reading->error, WEFT_INVALID, "too many outputs are asked for");
    }
    for (uint32_t i = 0; i < asked; i++) {
        const enum weft_status status =
            read_output(reading, json_array_get(outputs, i), is_binary, &request->outputs[i]);
        if (status != WEFT_OK) {
            return status;
        }
        const uint32_t result = request->outputs[i].result;
        for (uint32_t k = 0; k < i; k++) { /* An answer is as long as what was made. */
            if (request->outputs[k].result == result) {
                return error_set(
                    reading->error, WEFT_INVALID, "output '%s' is asked for twice",
                    reading->workflow->results[result].name);
            }
        }
    }
    request->output_count = (uint32_t)asked;
    return WEFT_OK;
}

static enum weft_status read_count(
    const json_t *parameters, const char *name, uint64_t most, uint64_t *value_out,
    struct weft_error *error)
{
    const json_t *value = json_object_get(parameters, name);
    if (value == NULL) {
        return WEFT_OK;
    }
    int64_t number = 0;
    if (!read_whole(value, &number) || (uint64_t)number > most) {
        return error_set(
            error, WEFT_INVALID, "parameter '%s' is not a whole number from 0 to %" PRIu64, name,
            most);
    }
    *value_out = (uint64_t)number;
    return WEFT_OK;
}

static enum weft_status read_parameters(struct reading *reading, const json_t *parameters)
{
    struct oip_request *request = reading->request;
    uint64_t timeout_us = 0;
    uint64_t priority = 0;
    uint64_t items = 0;
    enum weft_status status = read_count(
        parameters, "timeout", (uint64_t)DURATION_NS_MAX / 1000, &timeout_us, reading->error);
    if (status == WEFT_OK) {
        status = read_count(parameters, "priority", UINT32_MAX, &priority, reading->error);
    }
    if (status == WEFT_OK) {
        status = read_count(parameters, "items", UINT16_MAX, &items, reading->error);
    }
    request->timeout_ns = (int64_t)timeout_us * 1000;
    request->priority = (uint32_t)priority;
    request->says_items = items > 0;
    request->bundle->items = items == 0 ? 1 : (uint32_t)items;
    return status;
}

static enum weft_status read_object(struct reading *reading, const json_t *object)
{
    struct oip_request *request = reading->request;
    const json_t *parameters = json_object_get(object, "parameters");
    const json_t *id = json_object_get(object, "id");
    if (!json_is_object(object)) {
        return error_set(reading->error, WEFT_INVALID, "the request is not a JSON object");
    }
    if (id != NULL && (!json_is_string(id) || json_string_length(id) >= sizeof(request->id))) {
        return error_set(
            reading->error, WEFT_INVALID, "'id' is not a string of less than %d bytes",
            OIP_ID_BYTES_MAX);
    }
    if (id != NULL) {
        (void)memcpy(request->id, json_string_value(id), json_string_length(id) + 1);
    }
    enum weft_status status = read_parameters(reading, parameters);
    if (status == WEFT_OK) {
        status = read_outputs(
            reading, json_object_get(object, "outputs"),
            json_is_true(json_object_get(parameters, "binary_data_output")));
    }
    return status == WEFT_OK ? read_inputs(reading, json_object_get(object, "inputs")) : status;
}

enum { JSON_BYTES_A_LETTER = 96 }; /* What jansson takes for "{},{},{}" is the most. */

/*
 * jansson gets all the memory that it asks for, or the program ends: it writes past a text where
 * there is none. So it is not begun where there may be too little.
 */
static enum weft_status load_object(
    const struct json_rest *rest, json_t **object_out, struct weft_error *error)
{
    json_error_t wrong;
    if (!memory_is_free(JSON_BYTES_A_LETTER * rest->length)) {
        return error_set(error, WEFT_NO_MEMORY, "no memory for the request");
    }
    errno = 0; /* jansson does not always tell that it had no memory; malloc() does. */
    *object_out = json_loadb(
        rest->text, rest->length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &wrong);
    if (*object_out != NULL) {
        return WEFT_OK;
    }
    if (errno == ENOMEM) {
        return error_set(error, WEFT_NO_MEMORY, "no memory for the request");
    }
    if (json_error_code(&wrong) == json_error_numeric_overflow) { /* It is JSON, but no double. */
        return error_set(
            error, WEFT_INVALID, "a number in the request is too large: %s", wrong.text);
    }
    return error_set(error, WEFT_INVALID, "the request is not JSON: %s", wrong.text);
}

enum weft_status oip_request_read(
    const char *json, size_t length, const struct workflow *workflow,
    const struct oip_bounds *bounds, struct oip_request *request_out, struct weft_error *error)
{
    struct json_rest rest;
    const char *cause = NULL;
    const enum weft_status cut = json_cut(json, length, &rest, &cause);
    if (cut != WEFT_OK) {
        return error_set(
            error, cut, "%s%s", cut == WEFT_INVALID ? "the request is not JSON: " : "", cause);
    }
    json_t *object = NULL;
    const enum weft_status loaded = load_object(&rest, &object, error);
    if (loaded != WEFT_OK) {
        free(rest.text);
        return loaded;
    }
    struct oip_request request = {.bundle = bundle_create()};
    struct reading reading = {
        .workflow = workflow,
        .rest = &rest,
        .bounds = bounds,
        .request = &request,
        .error = error,
    };
    enum weft_status status = WEFT_NO_MEMORY;
    if (request.bundle == NULL) {
        (void)error_set(error, status, "no memory for a request");
    } else {
        status = read_object(&reading, object);
    }
    json_decref(object);
    free(rest.text);
    if (status != WEFT_OK) {
        oip_request_deinit(&request);
        return status;
    }
    *request_out = request;
    return WEFT_OK;
}

/* Where in @tensor a byte is neither 0 nor 1; its bytes if nowhere. */
static uint64_t find_no_bool(const struct weft_tensor *tensor)
{
    const uint8_t *bytes = tensor->data;
    uint64_t at = 0;
    while (at < tensor->bytes && bytes[at] <= 1) {
        at++;
    }
    return at;
}

bool oip_request_needs_check(const struct oip_request *request)
{
    for (uint32_t i = 0; i < request->binary_count; i++) {
        const enum weft_dtype dtype = request->bundle->tensors[request->binary[i]].dtype;
        if (dtype == WEFT_BYTES || dtype == WEFT_BOOL) {
            return true;
        }
    }
    return false;
}

enum weft_status oip_request_check(const struct oip_request *request, struct weft_error *error)
{
    for (uint32_t i = 0; i < request->binary_count; i++) {
        const struct weft_tensor *tensor = &request->bundle->tensors[request->binary[i]];
        if (tensor->dtype == WEFT_BYTES && !tensor_texts_fit(tensor)) {
            return error_set(
                error, WEFT_INVALID,
                "input '%s': the lengths of its texts do not add up to its shape and bytes",
                tensor->name);
        }
        if (tensor->dtype == WEFT_BOOL && find_no_bool(tensor) != tensor->bytes) {
            return error_set(
                error, WEFT_INVALID, "input '%s': element %" PRIu64 " is neither 0 nor 1 (BOOL)",
                tensor->name, find_no_bool(tensor));
        }
    }
    return WEFT_OK;
}

enum weft_status oip_request_fill(
    struct oip_request *request, const uint8_t *bytes, uint64_t count, struct weft_error *error)
{
    if (count != request->binary_bytes) {
        return error_set(
            error, WEFT_INVALID, "%" PRIu64 " bytes follow the JSON, its inputs name %" PRIu64,
            count, request->binary_bytes);
    }
    for (uint32_t i = 0; i < request->binary_count; i++) {
        const struct weft_tensor *tensor = &request->bundle->tensors[request->binary[i]];
        (void)memcpy(tensor->data, bytes, tensor->bytes);
        bytes += tensor->bytes;
    }
    return oip_request_check(request, error);
}

void oip_request_deinit(struct oip_request *request)
{
    bundle_destroy(request->bundle);
    request->bundle = NULL;
}
