#include "cuda/subject.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/monotonic.h"

static enum weft_status load(
    struct subject_card *card, const struct cuda_manifest *manifest, struct subject_held *held,
    struct weft_error *error)
{
    char path[4096];
    struct cuda_block block;
    if (snprintf(path, sizeof(path), "%s/%s", manifest->folder, manifest->weights) >=
        (int)sizeof(path)) {
        return error_set(error, WEFT_LIMIT, "the path of the weights is too long");
    }
    const enum weft_status status =
        cuda_blocks_take(&card->blocks, held->weights.range_bytes, &block, error);
    return status == WEFT_OK
               ? cuda_weights_fill(
                     &held->weights, &block, path, card->copies, /* beside */ NULL, error)
               : status;
}

enum weft_status subject_hold(
    struct subject_card *card, struct subject *subject, uint32_t part, struct weft_error *error)
{
    struct subject_held *held = &subject->held[part];
    enum weft_status status = WEFT_OK;
    if (!held->is_open) {
        status = cuda_weights_open(
            &card->device, subject->manifest.weights_bytes, &held->weights, error);
        held->is_open = status == WEFT_OK;
        for (uint32_t i = 0; i < SUBJECT_PARTS_MAX && held->is_open; i++) {
            if (subject->held[i].is_there) {
                cuda_weights_borrow_file(&held->weights, &subject->held[i].weights);
                break;
            }
        }
    }
    if (status == WEFT_OK && !held->is_there) {
        status = load(card, &subject->manifest, held, error);
        held->is_there = status == WEFT_OK;
    }
    return status;
}

enum weft_status subject_load_again(
    struct subject_card *card, struct subject *subject, int64_t *ns_out, struct weft_error *error)
{
    struct subject_held *held = &subject->held[0];
    struct cuda_block block = cuda_weights_unmap(&held->weights);
    cuda_blocks_give(&card->blocks, &block);
    const int64_t started_ns = monotonic_ns();
    const enum weft_status status = load(card, &subject->manifest, held, error);
    *ns_out = monotonic_ns() - started_ns;
    return status;
}

/* Numbers between an eighth and two, of either sign: zeros, and numbers that are alike, run faster.
 */
static void fill_input(const struct cuda_port *port, uint8_t *data, uint64_t bytes)
{
    const bool is_half = port->dtype == WEFT_FP16 || port->dtype == WEFT_BF16;
    const uint32_t width = is_half                    ? 2
                           : port->dtype == WEFT_FP32 ? 4
                           : port->dtype == WEFT_FP64 ? 8
                                                      : 0;
    uint64_t state = 1;
    for (uint64_t at = 0; at < bytes && width > 0; at += width) { /* Whole numbers stay 0. */
        state = state * 6364136223846793005U + 1442695040888963407U;
        const uint64_t sign = state >> 63;
        const uint64_t power = state >> 61 & 3; /* Of two, from an eighth on. */
        const uint64_t some = state >> 9;
        const uint64_t value =
            port->dtype == WEFT_FP16   ? sign << 15 | (12 + power) << 10 | (some & 0x3ff)
            : port->dtype == WEFT_BF16 ? sign << 15 | (124 + power) << 7 | (some & 0x7f)
            : port->dtype == WEFT_FP32 ? sign << 31 | (124 + power) << 23 | (some & 0x7fffff)
                                       : sign << 63 | (1020 + power) << 52 | some >> 12;
        memcpy(data + at, &value, width); /* The machine is little-endian, like the card. */
    }
}

enum weft_status subject_graph(
    struct subject_card *card, struct subject *subject, const struct subject_place *place,
    uint32_t package, struct cuda_graph *graph_out, struct weft_error *error)
{
    struct cuda_manifest *manifest = &subject->manifest;
    struct subject_held *held = &subject->held[place->part];
    enum weft_status status = subject_hold(card, subject, place->part, error);
    if (status == WEFT_OK && held->packages[package] == NULL) {
        status = cuda_package_open(
            &card->torch, manifest, package, held->weights.address, &held->packages[package],
            error);
    }
    if (status == WEFT_OK) {
        status = cuda_graph_open(
            &card->device, place->share, held->packages[package], manifest, graph_out, error);
    }
    for (uint32_t i = 0; i < manifest->input_count && status == WEFT_OK; i++) {
        fill_input(
            &manifest->inputs[i], graph_out->host + graph_out->input_at[i],
            manifest->inputs[i].row_bytes * graph_out->rows);
    }
    return status;
}

uint32_t subject_package(const struct subject *subject, uint32_t rows)
{
    uint32_t package = 0;
    while (package + 1 < subject->manifest.package_count &&
           subject->manifest.packages[package].rows < rows) {
        package++;
    }
    return package;
}
