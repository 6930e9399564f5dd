#include "protocol/oip_request.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "model/fleet.h"
#include "protocol/json_data.h"
#include "protocol/json_tree.h"

/* One request while it is read. */
struct reading {
    const struct workflow *workflow;
    const struct json_tree *tree;
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
static bool read_whole(const struct json_node *value, int64_t *number_out)
{
    const double number = json_node_is(value, JSON_NODE_NUMBER) ? value->number : -1;
    if (!(number >= 0) || number != floor(number)) {
        return false;
    }
    *number_out = number < 9223372036854775808.0 ? (int64_t)number : INT64_MAX;
    return true;
}

static enum weft_status read_shape(
    struct reading *reading, const struct json_node *shape, struct weft_tensor *tensor)
{
    struct weft_error *error = reading->error;
    if (!json_node_is(shape, JSON_NODE_ARRAY)) {
        return error_set(error, WEFT_INVALID, "input '%s' has no shape", tensor->name);
    }
    if (shape->count > WEFT_RANK_MAX) {
        return error_set(
            error, WEFT_INVALID, "input '%s': a shape has at most %d dimensions", tensor->name,
            WEFT_RANK_MAX);
    }
    tensor->rank = shape->count;
    const struct json_node *extent = json_tree_first(shape);
    for (uint32_t i = 0; i < tensor->rank; i++, extent = json_tree_next(reading->tree, extent)) {
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
    struct reading *reading, struct weft_tensor *tensor, const struct json_node *data)
{
    struct weft_tensor *added = NULL;
    if (tensor->dtype == WEFT_BYTES) {
        const enum weft_status status =
            json_texts_bytes(data->text, data->text_bytes, &tensor->bytes, reading->error);
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
    if (!is_possible || elements > data->text_bytes) {
        char shape[OIP_SHAPE_BYTES];
        return error_set(
            reading->error, WEFT_INVALID,
            "input '%s': data has fewer elements than its shape %.80s", tensor->name,
            oip_shape_text(shape, tensor->rank, tensor->shape));
    }
    const enum weft_status status = add_tensor(reading, tensor, &added);
    return status != WEFT_OK ? status
                             : json_data_read(data->text, data->text_bytes, added, reading->error);
}

/* A tensor whose bytes follow the JSON. */
static enum weft_status read_binary(
    struct reading *reading, struct weft_tensor *tensor, const struct json_node *size)
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

/* The datatype that @type names; WEFT_DTYPES if it is none. */
static enum weft_dtype read_dtype(const struct json_node *type)
{
    char name[NAME_BYTES_MAX];
    if (!json_node_is(type, JSON_NODE_TEXT) || type->text_bytes >= sizeof(name)) {
        return WEFT_DTYPES;
    }
    (void)memcpy(name, type->text, type->text_bytes);
    name[type->text_bytes] = '\0';
    return dtype_parse(name);
}

/* The bytes of @text that a message shows. */
static int shown(const struct json_node *text, size_t most)
{
    return (int)(text->text_bytes < most ? text->text_bytes : most);
}

/* The name and type of an input. */
static enum weft_status read_kind(
    struct reading *reading, const struct json_node *input, uint32_t index,
    struct weft_tensor *tensor)
{
    const struct json_node *name = json_tree_member(reading->tree, input, "name");
    const struct json_node *type = json_tree_member(reading->tree, input, "datatype");
    if (!json_node_is(name, JSON_NODE_TEXT) || name->text_bytes >= sizeof(tensor->name) ||
        name->text_bytes == 0) {
        return error_set(
            reading->error, WEFT_INVALID, "input %" PRIu32 " has no name, or one that is too long",
            index);
    }
    (void)memcpy(tensor->name, name->text, name->text_bytes);
    tensor->name[name->text_bytes] = '\0';
    tensor->dtype = read_dtype(type);
    if (tensor->dtype != WEFT_DTYPES) {
        return WEFT_OK;
    }
    const bool is_text = json_node_is(type, JSON_NODE_TEXT);
    return error_set(
        reading->error, WEFT_INVALID, "input '%s': '%.*s' is not a datatype", tensor->name,
        is_text ? shown(type, 32) : 0, is_text ? type->text : "");
}

static enum weft_status read_input(
    struct reading *reading, const struct json_node *input, uint32_t index)
{
    struct weft_error *error = reading->error;
    struct weft_tensor tensor = {.rank = 0};
    const struct json_tree *tree = reading->tree;
    const struct json_node *parameters = json_tree_member(tree, input, "parameters");
    const struct json_node *size = json_tree_member(tree, parameters, "binary_data_size");
    const struct json_node *data = json_tree_member(tree, input, "data");
    enum weft_status status = read_kind(reading, input, index, &tensor);
    if (status == WEFT_OK) {
        status = read_shape(reading, json_tree_member(tree, input, "shape"), &tensor);
    }
    if (status == WEFT_OK) {
        status = check_input(reading->workflow, &tensor, error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    tensor.bytes =
        tensor.dtype == WEFT_BYTES ? 0 : tensor_bytes(tensor.dtype, tensor.rank, tensor.shape);
    if (tensor.bytes == UINT64_MAX) {
        return error_set(error, WEFT_INVALID, "input '%s' is larger than memory", tensor.name);
    }
    if (json_tree_member(tree, parameters, "shared_memory_region") != NULL) {
        return error_set(
            error, WEFT_INVALID, "input '%s': shared memory is not supported", tensor.name);
    }
    if (size != NULL && data == NULL) {
        return read_binary(reading, &tensor, size);
    }
    if (size != NULL || !json_node_is(data, JSON_NODE_DATA)) {
        return error_set(
            error, WEFT_INVALID,
            size == NULL ? "input '%s' has no array 'data'"
                         : "input '%s' has both 'data' and 'binary_data_size'",
            tensor.name);
    }
    return read_json_data(reading, &tensor, data);
}

static enum weft_status read_inputs(struct reading *reading, const struct json_node *inputs)
{
    const struct workflow *workflow = reading->workflow;
    if (inputs != NULL && !json_node_is(inputs, JSON_NODE_ARRAY)) {
        return error_set(reading->error, WEFT_INVALID, "'inputs' is not an array");
    }
    if (inputs != NULL && inputs->count > BUNDLE_TENSORS_MAX) {
        return error_set(
            reading->error, WEFT_INVALID, "at most %d inputs can be given", BUNDLE_TENSORS_MAX);
    }
    uint32_t index = 0;
    for (const struct json_node *input = json_tree_first(inputs); input != NULL;
         input = json_tree_next(reading->tree, input)) {
        const enum weft_status status = read_input(reading, input, index++);
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
    struct reading *reading, const struct json_node *output, bool is_binary,
    struct oip_output *output_out)
{
    const struct workflow *workflow = reading->workflow;
    const struct json_tree *tree = reading->tree;
    const struct json_node *parameters = json_tree_member(tree, output, "parameters");
    const struct json_node *binary = json_tree_member(tree, parameters, "binary_data");
    const struct json_node *name = json_tree_member(tree, output, "name");
    if (!json_node_is(name, JSON_NODE_TEXT)) {
        return error_set(reading->error, WEFT_INVALID, "an output that is asked for has no name");
    }
    if (json_tree_member(tree, parameters, "classification") != NULL ||
        json_tree_member(tree, parameters, "shared_memory_region") != NULL) {
        return error_set(
            reading->error, WEFT_INVALID,
            "output '%.*s': neither classification nor shared memory is supported", shown(name, 64),
            name->text);
    }
    output_out->is_binary = binary == NULL ? is_binary : json_node_is(binary, JSON_NODE_TRUE);
    for (uint32_t i = 0; i < workflow->result_count; i++) {
        const char *result = workflow->results[i].name;
        if (strlen(result) == name->text_bytes &&
            memcmp(result, name->text, name->text_bytes) == 0) {
            output_out->result = i;
            return WEFT_OK;
        }
    }
    return error_set(
        reading->error, WEFT_INVALID, "'%s' has no output '%.*s'", workflow->name, shown(name, 64),
        name->text);
}

/* What is asked for; without a list, everything. */
static enum weft_status read_outputs(
    struct reading *reading, const struct json_node *outputs, bool is_binary)
{
    struct oip_request *request = reading->request;
    request->is_binary = is_binary;
    if (outputs != NULL && !json_node_is(outputs, JSON_NODE_ARRAY)) {
        return error_set(reading->error, WEFT_INVALID, "'outputs' is not an array");
    }
    const uint32_t asked = outputs == NULL ? 0 : outputs->count;
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
    const struct json_node *output = json_tree_first(outputs);
    for (uint32_t i = 0; i < asked; i++, output = json_tree_next(reading->tree, output)) {
        const enum weft_status status =
            read_output(reading, output, is_binary, &request->outputs[i]);
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
    request->output_count = asked;
    return WEFT_OK;
}

static enum weft_status read_count(
    struct reading *reading, const struct json_node *parameters, const char *name, uint64_t most,
    uint64_t *value_out)
{
    const struct json_node *value = json_tree_member(reading->tree, parameters, name);
    if (value == NULL) {
        return WEFT_OK;
    }
    int64_t number = 0;
    if (!read_whole(value, &number) || (uint64_t)number > most) {
        return error_set(
            reading->error, WEFT_INVALID, "parameter '%s' is not a whole number from 0 to %" PRIu64,
            name, most);
    }
    *value_out = (uint64_t)number;
    return WEFT_OK;
}

static enum weft_status read_parameters(struct reading *reading, const struct json_node *parameters)
{
    struct oip_request *request = reading->request;
    uint64_t timeout_us = 0;
    uint64_t priority = 0;
    uint64_t items = 0;
    enum weft_status status =
        read_count(reading, parameters, "timeout", (uint64_t)DURATION_NS_MAX / 1000, &timeout_us);
    if (status == WEFT_OK) {
        status = read_count(reading, parameters, "priority", UINT32_MAX, &priority);
    }
    if (status == WEFT_OK) {
        status = read_count(reading, parameters, "items", UINT16_MAX, &items);
    }
    request->timeout_ns = (int64_t)timeout_us * 1000;
    request->priority = (uint32_t)priority;
    request->says_items = items > 0;
    request->bundle->items = items == 0 ? 1 : (uint32_t)items;
    return status;
}

static enum weft_status read_object(struct reading *reading)
{
    struct oip_request *request = reading->request;
    const struct json_tree *tree = reading->tree;
    const struct json_node *object = tree->nodes;
    const struct json_node *parameters = json_tree_member(tree, object, "parameters");
    const struct json_node *id = json_tree_member(tree, object, "id");
    if (!json_node_is(object, JSON_NODE_OBJECT)) {
        return error_set(reading->error, WEFT_INVALID, "the request is not a JSON object");
    }
    if (id != NULL &&
        (!json_node_is(id, JSON_NODE_TEXT) || id->text_bytes >= sizeof(request->id))) {
        return error_set(
            reading->error, WEFT_INVALID, "'id' is not a string of less than %d bytes",
            OIP_ID_BYTES_MAX);
    }
    if (id != NULL) {
        (void)memcpy(request->id, id->text, id->text_bytes);
        request->id[id->text_bytes] = '\0';
    }
    enum weft_status status = read_parameters(reading, parameters);
    if (status == WEFT_OK) {
        const struct json_node *binary = json_tree_member(tree, parameters, "binary_data_output");
        status = read_outputs(
            reading, json_tree_member(tree, object, "outputs"),
            json_node_is(binary, JSON_NODE_TRUE));
    }
    return status == WEFT_OK ? read_inputs(reading, json_tree_member(tree, object, "inputs"))
                             : status;
}

void oip_request_init(struct oip_request *request)
{
    memset(request, 0, offsetof(struct oip_request, outputs));
}

enum weft_status oip_request_read(
    const char *json, size_t length, const struct workflow *workflow,
    const struct oip_bounds *bounds, struct oip_request *request_out, struct weft_error *error)
{
    struct json_tree tree;
    const char *cause = NULL;
    enum weft_status status = json_tree_read(json, length, &tree, &cause);
    if (status == WEFT_INVALID) {
        return error_set(error, status, "the request is not JSON: %s", cause);
    }
    if (status != WEFT_OK) { /* It is JSON if a number is too large; but not for a double. */
        return error_set(error, status == WEFT_LIMIT ? WEFT_INVALID : status, "%s", cause);
    }
    struct oip_request request;
    oip_request_init(&request);
    request.bundle = bundle_create();
    struct reading reading = {
        .workflow = workflow,
        .tree = &tree,
        .bounds = bounds,
        .request = &request,
        .error = error,
    };
    status = request.bundle == NULL ? error_set(error, WEFT_NO_MEMORY, "no memory for a request")
                                    : read_object(&reading);
    json_tree_deinit(&tree);
    if (status != WEFT_OK) {
        oip_request_deinit(&request);
        return status;
    }
    memcpy(request_out, &request, offsetof(struct oip_request, outputs));
    memcpy(request_out->outputs, request.outputs, request.output_count * sizeof(*request.outputs));
    memcpy(request_out->binary, request.binary, request.binary_count * sizeof(*request.binary));
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
