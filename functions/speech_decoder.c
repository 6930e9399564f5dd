#include "speech_decoder.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "largest.h"

enum {
    TOKEN_BEGIN = 1,
    TOKEN_END = 2,
    LAYERS = 6,
    PARTS = 4, /* Keys and values of the decoder, then of the encoder. */
    PASTS = LAYERS * PARTS,
    HEADS = 8,
    HEAD_WIDTH = 36,
    INPUTS = PASTS + 3,
};

#define TOKENS_PER_SECOND  6.5
#define SAMPLES_PER_SECOND 16000

/* One sentence on its way: what the next step of the model is given. */
struct sentence {
    int64_t token;
    uint8_t has_past;
    struct weft_tensor inputs[INPUTS]; /* input_ids, hidden, use_cache_branch, then the past. */
};

static const char *const part_names[PARTS] = {
    "decoder.key", "decoder.value", "encoder.key", "encoder.value"};

static bool is_encoders(uint32_t past)
{
    return past % PARTS >= 2;
}

/* The encoder's convolutions take 127 samples at once, by 64, then thirds, then halves. */
static int64_t steps_of(int64_t samples)
{
    const int64_t first = (samples - 127) / 64;
    const int64_t steps = first / 3 / 2 - 1;
    return steps < 0 ? 0 : steps;
}

static struct weft_tensor *named(
    struct weft_tensor *tensor, const char *name, enum weft_dtype dtype, void *data)
{
    *tensor = (struct weft_tensor){.dtype = dtype, .data = data};
    (void)snprintf(tensor->name, sizeof(tensor->name), "%s", name);
    return tensor;
}

static void begin(
    struct sentence *sentence, const struct weft_tensor *hidden, uint32_t item, int64_t steps)
{
    static float nothing;
    const int64_t width = hidden->shape[2];
    *sentence = (struct sentence){.token = TOKEN_BEGIN};
    struct weft_tensor *ids =
        named(&sentence->inputs[0], "input_ids", WEFT_INT64, &sentence->token);
    ids->rank = 2;
    ids->shape[0] = 1;
    ids->shape[1] = 1;
    ids->bytes = sizeof(sentence->token);
    float *own = (float *)hidden->data + (int64_t)item * hidden->shape[1] * width;
    struct weft_tensor *heard =
        named(&sentence->inputs[1], "encoder_hidden_states", WEFT_FP32, own);
    heard->rank = 3;
    heard->shape[0] = 1;
    heard->shape[1] = steps;
    heard->shape[2] = width;
    heard->bytes = (uint64_t)(steps * width) * sizeof(float);
    struct weft_tensor *use =
        named(&sentence->inputs[2], "use_cache_branch", WEFT_BOOL, &sentence->has_past);
    use->rank = 1;
    use->shape[0] = 1;
    use->bytes = 1;
    for (uint32_t i = 0; i < PASTS; i++) {
        char name[WEFT_TENSOR_NAME_BYTES_MAX];
        (void)snprintf(
            name, sizeof(name), "past_key_values.%u.%s", i / PARTS, part_names[i % PARTS]);
        struct weft_tensor *past = named(&sentence->inputs[3 + i], name, WEFT_FP32, &nothing);
        past->rank = 4;
        past->shape[0] = 0; /* Of no sentence yet: the first step does not look at it. */
        past->shape[1] = HEADS;
        past->shape[2] = 1;
        past->shape[3] = HEAD_WIDTH;
    }
}

static const struct weft_tensor *find(
    const struct weft_tensor *tensors, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(tensors[i].name, name) == 0) {
            return &tensors[i];
        }
    }
    return NULL;
}

/* What a step has made is the past of the next; the encoder's part is made by the first alone. */
static enum weft_status remember(
    const struct weft_call *call, struct sentence *sentence, const struct weft_tensor *outputs,
    uint32_t output_count)
{
    for (uint32_t i = 0; i < PASTS; i++) {
        char name[WEFT_TENSOR_NAME_BYTES_MAX];
        if (is_encoders(i) && sentence->has_past) {
            continue;
        }
        (void)snprintf(name, sizeof(name), "present.%u.%s", i / PARTS, part_names[i % PARTS]);
        const struct weft_tensor *present = find(outputs, output_count, name);
        if (present == NULL || present->dtype != WEFT_FP32 || present->rank != 4) {
            return weft_call_fail(call, "the decoder gives no past: is it another model?");
        }
        struct weft_tensor *past = &sentence->inputs[3 + i];
        memcpy(past->shape, present->shape, sizeof(past->shape));
        past->bytes = present->bytes;
        past->data = present->data; /* Good until the function returns. */
    }
    sentence->has_past = 1;
    return WEFT_OK;
}

static int32_t most_likely(const struct weft_tensor *logits)
{
    const int64_t count = (int64_t)(logits->bytes / sizeof(float));
    return (int32_t)largest_at(logits->data, count);
}

static enum weft_status step(
    const struct weft_call *call, struct sentence *sentence, int32_t *token_out)
{
    const struct weft_tensor *outputs = NULL;
    uint32_t output_count = 0;
    enum weft_status status =
        weft_call_run(call, "moonshine-decoder", sentence->inputs, INPUTS, &outputs, &output_count);
    if (status != WEFT_OK) {
        return status;
    }
    const struct weft_tensor *logits = find(outputs, output_count, "logits");
    if (logits == NULL || logits->dtype != WEFT_FP32 || logits->bytes == 0) {
        return weft_call_fail(call, "the decoder gives no logits: is it another model?");
    }
    *token_out = most_likely(logits);
    sentence->token = *token_out;
    return remember(call, sentence, outputs, output_count);
}

enum weft_status decoder_run(
    const struct weft_call *call, const struct weft_tensor *hidden, uint32_t item, int64_t samples,
    int32_t *tokens_out, uint32_t *count_out)
{
    enum weft_status status = WEFT_OK;
    struct sentence sentence;
    int64_t steps = steps_of(samples);
    steps = steps > hidden->shape[1] ? hidden->shape[1] : steps;
    const double expected = (double)samples * TOKENS_PER_SECOND / SAMPLES_PER_SECOND;
    uint32_t limit = (uint32_t)expected + 2;
    limit = steps == 0 ? 0 : limit > DECODER_TOKENS_MAX ? DECODER_TOKENS_MAX : limit;
    begin(&sentence, hidden, item, steps);
    *count_out = 0;
    while (*count_out < limit && status == WEFT_OK && !weft_call_is_cancelled(call)) {
        int32_t token = TOKEN_END;
        status = step(call, &sentence, &token);
        if (token == TOKEN_END) {
            break;
        }
        tokens_out[*count_out] = token;
        (*count_out)++;
    }
    return status;
}
