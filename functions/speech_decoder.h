/*
 * speech_decoder.h - Moonshine's decoder: from what the encoder heard to tokens, one by one.
 */
#ifndef SPEECH_DECODER_H
#define SPEECH_DECODER_H

#include <weft/function.h>

enum {
    DECODER_TOKENS_MAX = 128,
    DECODER_SAMPLES_MIN = 1023, /* Fewer give the encoder not one step. */
};

/*
 * The tokens of item @item of @hidden, which was encoded from @samples samples and padded.
 * Runs model "moonshine-decoder". At most DECODER_TOKENS_MAX; the end is not among them.
 */
enum weft_status decoder_run(
    const struct weft_call *call, const struct weft_tensor *hidden, uint32_t item, int64_t samples,
    int32_t *tokens_out, uint32_t *count_out);

#endif /* SPEECH_DECODER_H */
