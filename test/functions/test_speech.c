/* Speech: each function of functions/speech.c against answers known beforehand. */
#include "functions/fake_call.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>
#include <cmocka.h>

#include "base/attributes.h"

#define PI 3.14159265358979323846

static struct fake *fake;

static int open_speech(ATTR_UNUSED void **state)
{
    fake = fake_open("speech");
    return 0;
}

static int close_speech(ATTR_UNUSED void **state)
{
    fake_close(fake);
    return 0;
}

static void put32(uint8_t *at, uint32_t value)
{
    for (uint32_t i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

/* A WAV file of @seconds with @channels of 16 bits: 440 Hz on the first, silence elsewhere. */
static uint8_t *wav_of(uint32_t rate, uint32_t channels, double seconds, size_t *length_out)
{
    const uint32_t frames = (uint32_t)(rate * seconds);
    const uint32_t bytes = frames * channels * 2;
    uint8_t *file = calloc(44 + (size_t)bytes, 1);
    assert_non_null(file);
    memcpy(file, "RIFF", 4);
    put32(file + 4, 36 + bytes);
    memcpy(file + 8, "WAVEfmt ", 8);
    put32(file + 16, 16);
    put32(file + 20, 1 | channels << 16);
    put32(file + 24, rate);
    put32(file + 28, rate * channels * 2);
    put32(file + 32, channels * 2 | 16U << 16);
    memcpy(file + 36, "data", 4);
    put32(file + 40, bytes);
    for (uint32_t i = 0; i < frames; i++) {
        const int16_t sample = (int16_t)(16000 * sin(2 * PI * 440 * i / rate));
        memcpy(file + 44 + (size_t)i * channels * 2, &sample, sizeof(sample));
    }
    *length_out = 44 + (size_t)bytes;
    return file;
}

static void decode(uint32_t rate, uint32_t channels)
{
    size_t length = 0;
    uint8_t *file = wav_of(rate, channels, 0.5, &length);
    const int64_t shape[] = {(int64_t)length};
    fake_input(fake, "file", WEFT_UINT8, 1, shape, file);
    assert_int_equal(fake_call(fake, "decode"), WEFT_OK);
    const struct weft_tensor *samples = fake_output(fake, "samples");
    assert_true(llabs(samples->shape[0] - 8000) <= 2);
    const float *values = samples->data;
    for (int i = 500; i < 7000; i++) { /* The ends of what was converted are softer. */
        const double expected = 16000.0 / 32768 / channels * sin(2 * PI * 440 * i / 16000);
        assert_true(fabs((double)values[i] - expected) < 0.01);
    }
    free(file);
}

static void every_rate_becomes_sixteen_thousand(ATTR_UNUSED void **state)
{
    decode(16000, 1);
    decode(8000, 1);
    decode(44100, 2);
}

static void what_is_no_sound_is_refused(ATTR_UNUSED void **state)
{
    const int64_t shape[] = {8};
    fake_input(fake, "file", WEFT_UINT8, 1, shape, "RIFFjunk");
    assert_int_equal(fake_call(fake, "decode"), WEFT_INVALID);
    assert_string_equal(fake_message(fake), "the file is not a sound that can be read");
    size_t length = 0;
    uint8_t *file = wav_of(16000, 1, 0, &length);
    const int64_t empty[] = {(int64_t)length};
    fake_input(fake, "file", WEFT_UINT8, 1, empty, file);
    assert_int_equal(fake_call(fake, "decode"), WEFT_INVALID);
    free(file);
}

static void input_samples(int64_t count)
{
    float *samples = malloc((size_t)count * sizeof(*samples));
    assert_non_null(samples);
    for (int64_t i = 0; i < count; i++) {
        samples[i] = (float)i;
    }
    fake_input(fake, "samples", WEFT_FP32, 1, &count, samples);
    free(samples);
}

static void a_frame_begins_with_the_end_of_the_last(ATTR_UNUSED void **state)
{
    input_samples(1100);
    assert_int_equal(fake_call(fake, "frames"), WEFT_OK);
    const struct weft_tensor *input = fake_output(fake, "input");
    assert_int_equal(input->shape[0], 3);
    assert_int_equal(input->shape[1], 576);
    const float *frames = input->data;
    assert_true(frames[0] == 0 && frames[63] == 0 && frames[64] == 0 && frames[65] == 1);
    assert_true(frames[576] == 448 && frames[576 + 64] == 512);
    assert_true(frames[2 * 576 + 64] == 1024 && frames[2 * 576 + 64 + 75] == 1099);
    assert_true(frames[2 * 576 + 64 + 76] == 0);
    assert_int_equal(fake_output(fake, "h")->shape[2], 128);
}

static void input_speech(const float *speech, int64_t count)
{
    input_samples(count * 512);
    fake_input(fake, "speech", WEFT_FP32, 1, &count, speech);
}

static void speech_is_cut_out_with_a_margin(ATTR_UNUSED void **state)
{
    float speech[200] = {0};
    for (int i = 20; i < 40; i++) {
        speech[i] = 0.9F;
    }
    speech[30] = 0.1F; /* A gap that is none, */
    speech[80] = 0.9F; /* a click that is no speech, */
    for (int i = 100; i < 150; i++) {
        speech[i] = 0.8F; /* and another sentence, */
    }
    speech[150] = 0.4F; /* which fades. */
    input_speech(speech, 200);
    assert_int_equal(fake_call(fake, "segment"), WEFT_OK);
    assert_int_equal(fake_items(fake), 2);
    const int64_t *lengths = fake_output(fake, "lengths")->data;
    assert_int_equal(lengths[0], 20 * 512 + 2 * 3200);
    assert_int_equal(lengths[1], 51 * 512 + 2 * 3200);
    const struct weft_tensor *segments = fake_output(fake, "segments");
    assert_int_equal(segments->shape[1], lengths[1]);
    const float *values = segments->data;
    assert_true(values[0] == 20 * 512 - 3200);
    assert_true(values[lengths[0] - 1] == 40 * 512 + 3200 - 1);
    assert_true(values[lengths[0]] == 0);
    assert_true(values[lengths[1]] == 100 * 512 - 3200);
}

static void long_speech_is_cut_where_it_is_softest(ATTR_UNUSED void **state)
{
    enum { FRAMES = 700 }; /* 22.4 s. */
    float speech[FRAMES];
    for (int i = 0; i < FRAMES; i++) {
        speech[i] = 0.9F;
    }
    speech[350] = 0.6F;
    input_speech(speech, FRAMES);
    assert_int_equal(fake_call(fake, "segment"), WEFT_OK);
    assert_int_equal(fake_items(fake), 2);
    const int64_t *lengths = fake_output(fake, "lengths")->data;
    assert_int_equal(lengths[0], 350 * 512);
    assert_int_equal(lengths[1], 350 * 512);
}

static void silence_is_one_segment_of_nothing(ATTR_UNUSED void **state)
{
    const float speech[50] = {0};
    input_speech(speech, 50);
    assert_int_equal(fake_call(fake, "segment"), WEFT_OK);
    assert_int_equal(fake_items(fake), 1);
    assert_int_equal(*(const int64_t *)fake_output(fake, "lengths")->data, 0);
    assert_true(fake_output(fake, "segments")->shape[1] >= 1023);
}

/* A decoder that says a fixed sentence, and looks at what it is given. */
struct script {
    uint32_t step;
    uint32_t runs;
    float logits[8];
    float past[4][6 * 4][8 * 36 * 4]; /* By step: outputs stay until the function returns. */
    struct weft_tensor outputs[25];
};

static const struct weft_tensor *find_input(
    const struct weft_tensor *inputs, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(inputs[i].name, name) == 0) {
            return &inputs[i];
        }
    }
    fail_msg("no input '%s'", name);
    return NULL;
}

static enum weft_status say(
    void *context, const char *model, const struct weft_tensor *inputs, uint32_t input_count,
    const struct weft_tensor **outputs_out, uint32_t *output_count_out)
{
    static const int64_t sentence[] = {1, 3, 4, 5, 2}; /* What comes in; the next is the answer. */
    static const char *const parts[] = {
        "decoder.key", "decoder.value", "encoder.key", "encoder.value"};
    struct script *script = context;
    const uint32_t step = script->step;
    assert_string_equal(model, "moonshine-decoder");
    assert_int_equal(input_count, 27);
    const struct weft_tensor *ids = find_input(inputs, input_count, "input_ids");
    assert_int_equal(*(const int64_t *)ids->data, sentence[step]);
    const struct weft_tensor *use = find_input(inputs, input_count, "use_cache_branch");
    assert_int_equal(*(const uint8_t *)use->data, step > 0);
    const struct weft_tensor *heard = find_input(inputs, input_count, "encoder_hidden_states");
    assert_int_equal(heard->shape[1], 40); /* (16000 - 127) / 64 / 3 / 2 - 1 */
    assert_true(*(const float *)heard->data == 7);
    const struct weft_tensor *past =
        find_input(inputs, input_count, "past_key_values.5.decoder.value");
    const struct weft_tensor *old =
        find_input(inputs, input_count, "past_key_values.5.encoder.key");
    if (step > 0) {
        assert_true(*(const float *)past->data == (float)(100 * step + 21));
        assert_true(*(const float *)old->data == 100 + 22); /* Of the first step for ever. */
        assert_int_equal(past->shape[2], step);
    }
    memset(script->logits, 0, sizeof(script->logits));
    script->logits[sentence[step + 1]] = 1;
    script->outputs[0] = (struct weft_tensor){
        .name = "logits",
        .dtype = WEFT_FP32,
        .rank = 3,
        .shape = {1, 1, 8},
        .bytes = sizeof(script->logits),
        .data = script->logits};
    for (uint32_t i = 0; i < 24; i++) {
        struct weft_tensor *present = &script->outputs[1 + i];
        float *values = script->past[step][i];
        values[0] = (float)(100 * (step + 1) + i);
        *present = (struct weft_tensor){
            .dtype = WEFT_FP32, .rank = 4, .shape = {1, 8, step + 1, 36}, .data = values};
        present->bytes = 8 * (step + 1) * 36 * sizeof(float);
        (void)snprintf(present->name, sizeof(present->name), "present.%u.%s", i / 4, parts[i % 4]);
    }
    *outputs_out = script->outputs;
    *output_count_out = 25;
    script->step = sentence[step + 1] == 2 ? 0 : step + 1;
    script->runs++;
    return WEFT_OK;
}

static void tokens_become_text(ATTR_UNUSED void **state)
{
    char folder[] = "/tmp/weft-tokens-XXXXXX";
    char path[64];
    struct script *script = calloc(1, sizeof(*script));
    assert_non_null(script);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/speech.tokens.txt", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("<unk>\n<s>\n</s>\n\xe2\x96\x81Hel\nlo\n<0x21>\n", file);
    (void)fclose(file);
    float hidden[3 * 60 * 2];
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        hidden[i] = 7;
    }
    const int64_t shape[] = {3, 60, 2};
    const int64_t lengths_shape[] = {3};
    const int64_t lengths[] = {16000, 16000, 0}; /* The last is silence: nothing runs for it. */
    fake_set_folder(fake, folder);
    fake_set_model(fake, say, script);
    fake_input(fake, "hidden", WEFT_FP32, 3, shape, hidden);
    fake_input(fake, "lengths", WEFT_INT64, 1, lengths_shape, lengths);
    assert_int_equal(fake_call(fake, "transcribe"), WEFT_OK);
    assert_string_equal(fake_text(fake, "segments", 0), "Hello!");
    assert_string_equal(fake_text(fake, "segments", 2), "");
    assert_string_equal(fake_text(fake, "text", 0), "Hello! Hello!");
    assert_int_equal(script->runs, 8);
    assert_int_equal(fake_items(fake), 1);
    (void)remove(path);
    (void)rmdir(folder);
    free(script);
}

static void inputs_of_other_shapes_are_refused(ATTR_UNUSED void **state)
{
    static const char *const functions[] = {"frames", "segment", "transcribe"};
    const float few[4] = {0};
    const int64_t shape[] = {2, 2};
    for (size_t i = 0; i < 3; i++) {
        fake_input(fake, "samples", WEFT_FP32, 2, shape, few);
        fake_input(fake, "hidden", WEFT_FP32, 2, shape, few);
        assert_int_equal(fake_call(fake, functions[i]), WEFT_INVALID);
        assert_string_not_equal(fake_message(fake), "");
    }
}

#define IN_SPEECH(test) cmocka_unit_test_setup_teardown(test, open_speech, close_speech)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SPEECH(every_rate_becomes_sixteen_thousand),
        IN_SPEECH(what_is_no_sound_is_refused),
        IN_SPEECH(a_frame_begins_with_the_end_of_the_last),
        IN_SPEECH(speech_is_cut_out_with_a_margin),
        IN_SPEECH(long_speech_is_cut_where_it_is_softest),
        IN_SPEECH(silence_is_one_segment_of_nothing),
        IN_SPEECH(tokens_become_text),
        IN_SPEECH(inputs_of_other_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
