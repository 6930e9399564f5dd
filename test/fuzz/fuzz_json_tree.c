/* fuzz_json_tree.c - any text as JSON: read as jansson reads it, or refused as jansson does. */
#include "base/assert.h"
#include "fuzz/fuzz.h"
#include "fuzz/json_same.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ASSERT(json_readers_agree((const char *)data, size));
    return 0;
}
