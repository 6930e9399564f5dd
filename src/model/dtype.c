#include "model/dtype.h"

#include <string.h>

#include "base/assert.h"
#include "base/text.h"

static const uint8_t dtype_widths[WEFT_DTYPES] = {
#define X(name, bytes, text) [name] = (bytes),
    WEFT_DTYPE_MAP(X)
#undef X
};

static const char *const dtype_names[WEFT_DTYPES] = {
#define X(name, bytes, text) [name] = (text),
    WEFT_DTYPE_MAP(X)
#undef X
};

uint32_t dtype_bytes(enum weft_dtype dtype)
{
    ASSERT(dtype < WEFT_DTYPES);
    return dtype_widths[dtype];
}

const char *dtype_name(enum weft_dtype dtype)
{
    ASSERT(dtype < WEFT_DTYPES);
    return dtype_names[dtype];
}

enum weft_dtype dtype_parse(const char *name)
{
    enum weft_dtype dtype = WEFT_BOOL;
    while (dtype < WEFT_DTYPES && strcmp(dtype_names[dtype], name) != 0) {
        dtype++;
    }
    return dtype;
}

char *dtype_shape_text(
    char out[static DTYPE_SHAPE_BYTES], enum weft_dtype dtype, uint32_t rank, const int64_t *shape)
{
    struct text text;
    text_init(&text, out, DTYPE_SHAPE_BYTES);
    text_add(&text, "%s [", dtype_name(dtype));
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] < 0) {
            text_add(&text, "%s?", i > 0 ? "," : "");
        } else {
            text_add(&text, "%s%lld", i > 0 ? "," : "", (long long)shape[i]);
        }
    }
    text_add(&text, "]");
    return out;
}
