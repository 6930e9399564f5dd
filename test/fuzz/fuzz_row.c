/* fuzz_row.c - what is read as a row is written as the same bytes. */
#include <string.h>

#include "base/assert.h"
#include "fuzz/fuzz.h"
#include "wire/row.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t encoded[ROW_BYTES_MAX];
    struct row row;

    if (row_decode(data, size, &row) == WEFT_OK) {
        ASSERT(row_encode(&row, encoded, sizeof(encoded)) == size);
        ASSERT(memcmp(encoded, data, size) == 0);
    }
    return 0;
}
