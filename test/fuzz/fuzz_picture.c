/* fuzz_picture.c - no file makes the decoder of pictures read or write where it should not. */
#include "fuzz/decode_target.h"
#include "fuzz/fuzz.h"
#include "pixels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decode_bytes(pixels_decode, data, size);
    return 0;
}
