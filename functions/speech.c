/*
 * speech.c - from a recording to text: what is done around the models.
 *
 *   decode      file                  -> samples
 *   frames      samples               -> input, h, c: for Silero's detector of speech
 *   segment     samples, speech       -> segments: one item each; lengths
 *   transcribe  hidden, lengths       -> text, segments; runs Moonshine's decoder
 *
 * A recording without speech is one segment of no length and an empty text.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sound.h"
#include "speech_decoder.h"
#include "texts.h"

enum {
    FRAME = 512,  /* Samples that the detector judges at a time. */
    CONTEXT = 64, /* Of the samples before, how many it wants to see. */
    STATE = 128,
    SEGMENTS_MAX = 256,
    GAP_FRAMES = 12,     /* Silence shorter than this, 0.4 s, is part of speech. */
    SPEECH_FRAMES = 4,   /* Speech shorter than this, 0.1 s, is not speech. */
    MARGIN = 3200,       /* Samples kept on both sides. */
    SEGMENT_MAX = 240000 /* 15 s: what the encoder was trained on. */
};

#define SPEECH_BEGINS 0.5F
#define SPEECH_ENDS   0.35F

static enum weft_status decode(const struct weft_call *call)
{
    return sound_decode(call, weft_call_input(call, "file"), "samples");
}

static bool is_sound(const struct weft_tensor *samples)
{
    return samples != NULL && samples->dtype == WEFT_FP32 && samples->rank == 1 &&
           samples->shape[0] > 0;
}

static enum weft_status frames(const struct weft_call *call)
{
    const struct weft_tensor *samples = weft_call_input(call, "samples");
    if (!is_sound(samples)) {
        return weft_call_fail(call, "'samples' must be FP32 with one dimension");
    }
    const int64_t length = samples->shape[0];
    const int64_t count = (length + FRAME - 1) / FRAME;
    const int64_t shape[] = {count, CONTEXT + FRAME};
    const int64_t state_shape[] = {1, 1, STATE};
    float *input = weft_call_output(call, "input", WEFT_FP32, 2, shape);
    float *h = weft_call_output(call, "h", WEFT_FP32, 3, state_shape);
    float *c = weft_call_output(call, "c", WEFT_FP32, 3, state_shape);
    if (input == NULL || h == NULL || c == NULL) {
        return WEFT_NO_MEMORY;
    }
    memset(h, 0, STATE * sizeof(float));
    memset(c, 0, STATE * sizeof(float));
    const float *from = samples->data;
    for (int64_t i = 0; i < count; i++) {
        float *to = input + i * (CONTEXT + FRAME);
        for (int64_t k = 0; k < CONTEXT + FRAME; k++) {
            const int64_t at = i * FRAME + k - CONTEXT;
            to[k] = at >= 0 && at < length ? from[at] : 0;
        }
    }
    weft_call_give_items(call, 1);
    return WEFT_OK;
}

/* A stretch of speech, in samples. */
struct stretch {
    int64_t begin;
    int64_t end;
};

/* Split what is longer than SEGMENT_MAX where speech is least likely in its second half. */
static uint32_t add_stretch(
    struct stretch *stretches, uint32_t count, struct stretch next, const float *speech)
{
    while (next.end - next.begin > SEGMENT_MAX && count + 1 < SEGMENTS_MAX) {
        int64_t cut = (next.begin + SEGMENT_MAX) / FRAME;
        for (int64_t i = (next.begin + SEGMENT_MAX / 2) / FRAME; i < cut; i++) {
            cut = speech[i] < speech[cut] ? i : cut;
        }
        stretches[count++] = (struct stretch){next.begin, cut * FRAME};
        next.begin = cut * FRAME;
    }
    if (count < SEGMENTS_MAX) {
        stretches[count++] = next;
    }
    return count;
}

static uint32_t find_speech(
    const float *speech, int64_t frame_count, int64_t length, struct stretch *stretches)
{
    uint32_t count = 0;
    int64_t begin = -1;
    int64_t end = -1;
    for (int64_t i = 0; i <= frame_count; i++) {
        const bool is_over = i == frame_count || (end >= 0 && i - end > GAP_FRAMES);
        if (begin >= 0 && is_over) {
            if (end - begin >= SPEECH_FRAMES) {
                struct stretch next = {begin * FRAME - MARGIN, end * FRAME + MARGIN};
                next.begin = next.begin < 0 ? 0 : next.begin;
                next.end = next.end > length ? length : next.end;
                if (count > 0 && next.begin < stretches[count - 1].end) {
                    next.begin = stretches[count - 1].end;
                }
                count = add_stretch(stretches, count, next, speech);
            }
            begin = -1;
            end = -1;
        }
        if (i == frame_count) {
            break;
        }
        if (speech[i] > SPEECH_BEGINS) {
            begin = begin < 0 ? i : begin;
            end = i + 1;
        } else if (begin >= 0 && speech[i] > SPEECH_ENDS && i == end) {
            end = i + 1;
        }
    }
    return count;
}

static enum weft_status cut_segments(
    const struct weft_call *call, const float *samples, const struct stretch *stretches,
    uint32_t count)
{
    const uint32_t items = count == 0 ? 1 : count;
    int64_t longest = DECODER_SAMPLES_MIN;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t length = stretches[i].end - stretches[i].begin;
        longest = length > longest ? length : longest;
    }
    const int64_t shape[] = {items, longest};
    const int64_t lengths_shape[] = {items};
    float *segments = weft_call_output(call, "segments", WEFT_FP32, 2, shape);
    int64_t *lengths = weft_call_output(call, "lengths", WEFT_INT64, 1, lengths_shape);
    if (segments == NULL || lengths == NULL) {
        return WEFT_NO_MEMORY;
    }
    memset(segments, 0, (size_t)items * (size_t)longest * sizeof(float));
    lengths[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        lengths[i] = stretches[i].end - stretches[i].begin;
        memcpy(
            segments + (int64_t)i * longest, samples + stretches[i].begin,
            (size_t)lengths[i] * sizeof(float));
    }
    weft_call_give_items(call, items);
    return WEFT_OK;
}

static enum weft_status segment(const struct weft_call *call)
{
    struct stretch stretches[SEGMENTS_MAX];
    const struct weft_tensor *samples = weft_call_input(call, "samples");
    const struct weft_tensor *speech = weft_call_input(call, "speech");
    if (!is_sound(samples)) {
        return weft_call_fail(call, "'samples' must be FP32 with one dimension");
    }
    const int64_t length = samples->shape[0];
    if (speech == NULL || speech->dtype != WEFT_FP32 || speech->rank != 1 ||
        speech->shape[0] != (length + FRAME - 1) / FRAME) {
        return weft_call_fail(call, "'speech' must be FP32, one for each 512 samples");
    }
    const uint32_t count = find_speech(speech->data, speech->shape[0], length, stretches);
    return cut_segments(call, samples->data, stretches, count);
}

static struct lines *tokens; /* Of the decoder, by number. */
static pthread_mutex_t tokens_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct lines *tokens_of(const struct weft_call *call)
{
    (void)pthread_mutex_lock(&tokens_lock);
    if (tokens == NULL) {
        tokens = lines_read(call, "speech.tokens.txt");
    }
    const struct lines *found = tokens;
    (void)pthread_mutex_unlock(&tokens_lock);
    return found;
}

__attribute__((destructor)) static void forget_tokens(void)
{
    lines_release(tokens);
}

/* A token is a piece of a word; "\u2581" stands for a space, "<0x0A>" for a byte. */
static void add_token(struct text *text, const char *token)
{
    static const char space[] = "\xe2\x96\x81";
    unsigned int byte = 0;
    if (strlen(token) == 6 && sscanf(token, "<0x%2x>", &byte) == 1) {
        const char one = (char)byte;
        text_add(text, &one, 1);
        return;
    }
    if (token[0] == '<' && token[1] != '\0') { /* "<s>" and the like are not text. */
        return;
    }
    while (*token != '\0') {
        if (strncmp(token, space, sizeof(space) - 1) == 0) {
            if (text->length > 0) {
                text_add(text, " ", 1);
            }
            token += sizeof(space) - 1;
        } else {
            text_add(text, token, 1);
            token++;
        }
    }
}

/* Write the text of every segment, and all of them as one. */
static enum weft_status transcribe_all(
    const struct weft_call *call, const struct weft_tensor *hidden, const int64_t *lengths,
    const struct lines *known, struct text *texts)
{
    enum weft_status status = WEFT_OK;
    struct text whole = {0};
    const uint32_t count = (uint32_t)hidden->shape[0];
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        int32_t numbers[DECODER_TOKENS_MAX];
        uint32_t number_count = 0;
        status = decoder_run(call, hidden, i, lengths[i], numbers, &number_count);
        for (uint32_t k = 0; k < number_count; k++) {
            if (numbers[k] >= 0 && (uint32_t)numbers[k] < known->count) {
                add_token(&texts[i], known->items[numbers[k]]);
            }
        }
        if (whole.length > 0 && texts[i].length > 0) {
            text_add(&whole, " ", 1);
        }
        text_add(&whole, texts[i].bytes, texts[i].length);
        whole.is_short |= texts[i].is_short;
    }
    if (status == WEFT_OK) {
        status = texts_give(call, "segments", texts, count);
    }
    if (status == WEFT_OK) {
        status = texts_give(call, "text", &whole, 1);
    }
    text_release(&whole);
    weft_call_give_items(call, 1);
    return status;
}

static enum weft_status transcribe(const struct weft_call *call)
{
    const struct weft_tensor *hidden = weft_call_input(call, "hidden");
    const struct weft_tensor *lengths = weft_call_input(call, "lengths");
    if (hidden == NULL || hidden->dtype != WEFT_FP32 || hidden->rank != 3 || hidden->shape[0] < 1 ||
        hidden->shape[0] > SEGMENTS_MAX) {
        return weft_call_fail(call, "'hidden' must be FP32 of shape [segments, steps, width]");
    }
    if (lengths == NULL || lengths->dtype != WEFT_INT64 || lengths->rank != 1 ||
        lengths->shape[0] != hidden->shape[0]) {
        return weft_call_fail(call, "'lengths' must be INT64, one for each segment");
    }
    const struct lines *known = tokens_of(call);
    if (known == NULL) {
        return WEFT_NOT_FOUND;
    }
    const size_t count = (size_t)hidden->shape[0];
    struct text *texts = calloc(count, sizeof(*texts));
    if (texts == NULL) {
        return WEFT_NO_MEMORY;
    }
    const enum weft_status status = transcribe_all(call, hidden, lengths->data, known, texts);
    for (size_t i = 0; i < count; i++) {
        text_release(&texts[i]);
    }
    free(texts);
    return status;
}

WEFT_FUNCTIONS(
    {"decode", decode}, {"frames", frames}, {"segment", segment}, {"transcribe", transcribe});
