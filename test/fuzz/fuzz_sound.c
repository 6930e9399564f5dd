/* fuzz_sound.c - no file makes the decoder of sounds read or write where it should not. */
#include "fuzz/decode_target.h"
#include "fuzz/fuzz.h"
#include "sound.h"

/* libsndfile keeps some kilobytes of an Ogg file that it gives up: no leak of ours. Processes of
 * functions that grow are replaced. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    decode_bytes(sound_decode, data, size);
    return 0;
}
