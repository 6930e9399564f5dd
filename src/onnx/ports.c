/* ports.c - the inputs and outputs of a loaded model, as the library tells them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "engine/bundle.h"
#include "onnx/file.h"
#include "onnx/model.h"

/* A port while it is read. */
struct reading {
    const struct ort *ort;
    struct onnx_declared declared;
    struct onnx_port port;
};

/* Fill in what @type says if it is a tensor; *is_one_out whether it is. */
static struct OrtStatus *read_tensor(
    struct reading *reading, const struct OrtTypeInfo *type, bool *is_one_out)
{
    const struct ort_abi *api = &reading->ort->api;
    const struct OrtTensorTypeAndShapeInfo *info = NULL;
    const char *symbols[WEFT_RANK_MAX] = {NULL};
    size_t rank = 0;
    struct OrtStatus *outcome = api->CastTypeInfoToTensorInfo(type, &info);
    *is_one_out = outcome == NULL && info != NULL;
    if (!*is_one_out) {
        return outcome;
    }
    outcome = api->GetTensorElementType(info, &reading->declared.type);
    if (outcome == NULL) {
        outcome = api->GetDimensionsCount(info, &rank);
    }
    reading->declared.rank = (uint32_t)rank;
    if (outcome != NULL || rank > WEFT_RANK_MAX) {
        return outcome;
    }
    struct onnx_port *port = &reading->port;
    port->rank = (uint32_t)rank;
    outcome = api->GetDimensions(info, port->shape, rank);
    if (outcome == NULL) {
        outcome = api->GetSymbolicDimensions(info, symbols, rank);
    }
    if (outcome == NULL && rank > 0 && symbols[0] != NULL) {
        (void)snprintf(port->symbol, sizeof(port->symbol), "%s", symbols[0]);
    }
    return outcome;
}

/* The same for a sequence of maps. */
static struct OrtStatus *read_maps(
    struct reading *reading, const struct OrtSequenceTypeInfo *sequence)
{
    const struct ort_abi *api = &reading->ort->api;
    const struct OrtMapTypeInfo *map = NULL;
    struct OrtTypeInfo *element = NULL;
    struct OrtTypeInfo *value = NULL;
    bool is_tensor = false;
    struct OrtStatus *outcome = api->GetSequenceElementType(sequence, &element);
    if (outcome == NULL) {
        outcome = api->CastTypeInfoToMapTypeInfo(element, &map);
    }
    if (outcome == NULL && map != NULL) {
        outcome = api->GetMapKeyType(map, &reading->declared.key_type);
        if (outcome == NULL) {
            outcome = api->GetMapValueType(map, &value);
        }
        if (outcome == NULL) {
            outcome = read_tensor(reading, value, &is_tensor);
        }
    }
    reading->declared.kind = is_tensor ? ONNX_KIND_MAPS : ONNX_KIND_SEQUENCE;
    if (value != NULL) {
        api->ReleaseTypeInfo(value);
    }
    if (element != NULL) {
        api->ReleaseTypeInfo(element);
    }
    return outcome;
}

static struct OrtStatus *read_type(struct reading *reading, const struct OrtTypeInfo *type)
{
    const struct OrtSequenceTypeInfo *sequence = NULL;
    bool is_tensor = false;
    struct OrtStatus *outcome = read_tensor(reading, type, &is_tensor);
    reading->declared.kind = is_tensor ? ONNX_KIND_TENSOR : ONNX_KIND_OTHER;
    if (outcome == NULL && !is_tensor) {
        outcome = reading->ort->api.CastTypeInfoToSequenceTypeInfo(type, &sequence);
    }
    return outcome == NULL && sequence != NULL ? read_maps(reading, sequence) : outcome;
}

/* Name and type of input or output @index. */
static enum weft_status read_port(
    struct onnx_model *model, bool is_input, size_t index, struct reading *reading,
    struct weft_error *error)
{
    const struct ort *ort = model->ort;
    const struct ort_abi *api = &ort->api;
    struct OrtTypeInfo *type = NULL;
    char *name = NULL;
    *reading = (struct reading){.ort = ort, .declared = {.is_input = is_input}};
    struct OrtStatus *outcome =
        is_input ? api->SessionGetInputName(model->session, index, ort->names, &name)
                 : api->SessionGetOutputName(model->session, index, ort->names, &name);
    if (outcome == NULL) {
        outcome = is_input ? api->SessionGetInputTypeInfo(model->session, index, &type)
                           : api->SessionGetOutputTypeInfo(model->session, index, &type);
    }
    if (outcome == NULL) {
        reading->declared.name_bytes = strlen(name);
        (void)snprintf(reading->declared.name, sizeof(reading->declared.name), "%s", name);
        outcome = read_type(reading, type);
    }
    if (type != NULL) {
        api->ReleaseTypeInfo(type);
    }
    if (name != NULL) {
        (void)ort_check(ort, api->AllocatorFree(ort->names, name), "free", NULL); /* It is ours. */
    }
    return ort_check(ort, outcome, model->name, error);
}

/* Add what @reading found: one port, or two for maps. */
static void add_ports(struct onnx_ports *ports, const struct reading *reading)
{
    const struct onnx_declared *declared = &reading->declared;
    struct onnx_port *port = &ports->items[ports->count++];
    *port = reading->port;
    port->dtype = onnx_dtype_of(declared->type);
    port->source = ports->source_count;
    memcpy(port->name, declared->name, sizeof(port->name)); /* It fits: it was checked. */
    if (declared->kind == ONNX_KIND_MAPS) {
        *port = (struct onnx_port){
            .dtype = port->dtype,
            .rank = 2,
            .shape = {-1, -1},
            .source = port->source,
            .part = PART_VALUES,
        };
        memcpy(port->name, declared->name, sizeof(port->name));
        struct onnx_port *keys = &ports->items[ports->count++];
        *keys = *port;
        keys->dtype = onnx_dtype_of(declared->key_type);
        keys->part = PART_KEYS;
        memcpy(keys->name + strlen(port->name), ONNX_KEYS, sizeof(ONNX_KEYS)); /* The same. */
    }
    ports->names[ports->source_count++] = port->name;
}

static enum weft_status read_ports(
    struct onnx_model *model, bool is_input, struct onnx_ports *ports, struct weft_error *error)
{
    const struct ort_abi *api = &model->ort->api;
    size_t count = 0;
    char what[NAME_BYTES_MAX + 16];
    (void)snprintf(what, sizeof(what), "model '%s'", model->name);
    struct OrtStatus *outcome = is_input ? api->SessionGetInputCount(model->session, &count)
                                         : api->SessionGetOutputCount(model->session, &count);
    enum weft_status status = ort_check(model->ort, outcome, model->name, error);
    if (status != WEFT_OK) {
        return status;
    }
    ports->items = memory_zeroed(2 * count + 1, sizeof(*ports->items));
    ports->names = memory_zeroed(count + 1, sizeof(*ports->names));
    for (size_t i = 0; i < count && status == WEFT_OK; i++) {
        struct reading reading;
        status = read_port(model, is_input, i, &reading, error);
        if (status == WEFT_OK) {
            status = onnx_declared_check(what, &reading.declared, error);
        }
        if (status == WEFT_OK) {
            add_ports(ports, &reading);
        }
    }
    return status == WEFT_OK ? onnx_declared_count(what, ports->count, is_input, error) : status;
}

/* The library does not tell a scalar from a tensor of any rank: the file does. */
static void note_rank(void *context, const struct onnx_declared *declared)
{
    struct onnx_model *model = context;
    struct onnx_ports *ports = declared->is_input ? &model->inputs : &model->outputs;
    for (uint32_t i = 0; i < ports->count; i++) {
        struct onnx_port *port = &ports->items[i];
        if (port->rank == 0 && !declared->has_rank && strcmp(port->name, declared->name) == 0) {
            port->is_any_rank = true;
            port->rank = 1;
            port->shape[0] = -1;
        }
    }
}

static bool has_scalars(const struct onnx_ports *ports)
{
    for (uint32_t i = 0; i < ports->count; i++) {
        if (ports->items[i].rank == 0) {
            return true;
        }
    }
    return false;
}

enum weft_status onnx_ports_read(
    struct onnx_model *model, const char *path, struct weft_error *error)
{
    enum weft_status status = read_ports(model, /* is_input */ true, &model->inputs, error);
    if (status == WEFT_OK) {
        status = read_ports(model, /* is_input */ false, &model->outputs, error);
    }
    if (status == WEFT_OK && (has_scalars(&model->inputs) || has_scalars(&model->outputs))) {
        /* A file that was replaced since tells nothing: those are scalars then. */
        (void)onnx_file_read(path, note_rank, model, NULL);
    }
    return status;
}
