#include "onnx/rows.h"

#include <math.h>
#include <string.h>

#include "engine/half.h"

static double element(const struct weft_tensor *tensor, uint64_t index)
{
    const uint8_t *at = (const uint8_t *)tensor->data + index * dtype_bytes(tensor->dtype);
    if (tensor->dtype == WEFT_FP32) {
        float value;
        memcpy(&value, at, sizeof(value));
        return (double)value;
    }
    if (tensor->dtype == WEFT_FP64) {
        double value;
        memcpy(&value, at, sizeof(value));
        return value;
    }
    uint16_t bits;
    memcpy(&bits, at, sizeof(bits));
    return tensor->dtype == WEFT_FP16 ? half_to_double(bits) : bf16_to_double(bits);
}

static bool is_float(enum weft_dtype dtype)
{
    return dtype == WEFT_FP16 || dtype == WEFT_BF16 || dtype == WEFT_FP32 || dtype == WEFT_FP64;
}

static bool is_near(double a, double b, double scale)
{
    if (!isfinite(a) || !isfinite(b)) {
        return (isnan(a) && isnan(b)) || (!isnan(a) && !isnan(b) && isinf(a) && isinf(b));
    }
    const double larger = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
    return fabs(a - b) <= 1e-2 * larger || fabs(a - b) <= 1e-3 * scale;
}

static bool floats_agree(const struct weft_tensor *a, const struct weft_tensor *b)
{
    const uint64_t count = a->bytes / dtype_bytes(a->dtype);
    double scale = 0;
    for (uint64_t i = 0; i < count; i++) {
        const double value = fabs(element(a, i));
        scale = isfinite(value) && value > scale ? value : scale;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!is_near(element(a, i), element(b, i), scale)) {
            return false;
        }
    }
    return true;
}

bool onnx_rows_agree(const struct bundle *a, const struct bundle *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const struct weft_tensor *one = &a->tensors[i];
        const struct weft_tensor *other = bundle_find(b, one->name);
        if (other == NULL || other->bytes != one->bytes || other->dtype != one->dtype) {
            return false;
        }
        if (is_float(one->dtype)
                ? !floats_agree(one, other)
                : one->bytes > 0 && memcmp(one->data, other->data, one->bytes) != 0) {
            return false;
        }
    }
    return true;
}
