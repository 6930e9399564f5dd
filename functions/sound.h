/*
 * sound.h - sound in memory: one channel of floats from -1 to 1, 16,000 per second.
 */
#ifndef SOUND_H
#define SOUND_H

#include <weft/function.h>

enum {
    SOUND_RATE = 16000,
    SOUND_SECONDS_MAX = 600,       /* More is refused: it should come in pieces. */
    SOUND_SAMPLES_MAX = 240000000, /* Of all channels: ten minutes of two at 200 kHz. */
};

/*
 * Decode the sound file in @file (WAV, FLAC, Ogg, …) into output @name of @call, as tensor
 * [samples]: channels are averaged, other rates are converted. It is read block by block, so
 * that memory depends on how long it sounds, whatever its rate and channels, and what its head
 * promises is not believed.
 */
enum weft_status sound_decode(
    const struct weft_call *call, const struct weft_tensor *file, const char *name);

#endif /* SOUND_H */
