/* fuzz_sound.c - no file makes the decoder of sounds read or write where it should not. */
#include "fuzz/decode_target.h"
#include "fuzz/fuzz.h"
#include "sound.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decode_bytes(sound_decode, data, size);
    return 0;
}
