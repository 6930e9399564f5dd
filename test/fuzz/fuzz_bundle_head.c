/* fuzz_bundle_head.c - what is read as the head of a bundle is written as the same bytes. */
#include <string.h>

#include "base/assert.h"
#include "fuzz/fuzz.h"
#include "runtime/bundle_wire.h"

enum { BYTES_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t encoded[BUNDLE_HEAD_BYTES_MAX];
    struct bundle *bundle;
    struct weft_error error;

    if (bundle_head_decode(data, size, BYTES_MAX, &bundle, &error) == WEFT_OK) {
        ASSERT(bundle->bytes <= BYTES_MAX);
        ASSERT(bundle_head_encode(bundle, encoded) == size);
        ASSERT(memcmp(encoded, data, size) == 0);
        bundle_destroy(bundle);
    }
    return 0;
}
