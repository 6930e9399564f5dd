/* fuzz_speech_functions.c - no tensors make the functions of speech.so touch memory of others. */
#include "base/units.h"
#include "fuzz/function_target.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"file", "samples", "speech", "hidden", "lengths"};
    call_function(names, ARRAY_COUNT(names), data, size);
    return 0;
}
