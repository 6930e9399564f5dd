/* fuzz_picture_functions.c - no tensors make the functions of picture.so touch memory of others. */
#include "base/units.h"
#include "fuzz/function_target.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"file",    "pixels",  "orientation", "safety",  "words",
                                        "scores0", "scores1", "scores2",     "scores3", "boxes0",
                                        "boxes1",  "boxes2",  "boxes3"};
    call_function(names, ARRAY_COUNT(names), data, size);
    return 0;
}
