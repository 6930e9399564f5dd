#include "sound.h"

#include <stdlib.h>
#include <string.h>

#include <samplerate.h>
#include <sndfile.h>

enum { CHANNELS_MAX = 64, RATE_MAX = 768000, RATE_MIN = 1000 };

/* A file in memory, as libsndfile reads it. */
struct source {
    const uint8_t *bytes;
    sf_count_t size;
    sf_count_t at;
};

static sf_count_t source_size(void *user)
{
    return ((struct source *)user)->size;
}

static sf_count_t source_seek(sf_count_t offset, int whence, void *user)
{
    struct source *source = user;
    const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? source->at : source->size;
    if (offset < -from || offset > source->size - from) {
        return -1;
    }
    source->at = from + offset;
    return source->at;
}

static sf_count_t source_read(void *out, sf_count_t count, void *user)
{
    struct source *source = user;
    const sf_count_t left = source->size - source->at;
    const sf_count_t taken = count < left ? count : left;
    if (taken > 0) {
        memcpy(out, source->bytes + source->at, (size_t)taken);
        source->at += taken;
    }
    return taken;
}

static sf_count_t source_tell(void *user)
{
    return ((struct source *)user)->at;
}

static void average(float *samples, sf_count_t frames, int channels)
{
    for (sf_count_t i = 0; i < frames; i++) {
        float sum = 0;
        for (int c = 0; c < channels; c++) {
            sum += samples[i * channels + c];
        }
        samples[i] = sum / (float)channels;
    }
}

static enum weft_status convert(
    const struct weft_call *call, const char *name, const float *samples, sf_count_t frames,
    int rate)
{
    const double ratio = (double)SOUND_RATE / rate;
    const int64_t room = (int64_t)((double)frames * ratio) + 1;
    float *converted = malloc((size_t)room * sizeof(*converted));
    if (converted == NULL) {
        return WEFT_NO_MEMORY;
    }
    SRC_DATA data = {
        .data_in = samples,
        .input_frames = (long)frames,
        .data_out = converted,
        .output_frames = (long)room,
        .src_ratio = ratio,
    };
    enum weft_status status = WEFT_OK;
    if (src_simple(&data, SRC_SINC_FASTEST, 1) != 0) {
        status = weft_call_fail(call, "the rate of the sound cannot be converted");
    } else {
        const int64_t count = data.output_frames_gen;
        float *out = weft_call_output(call, name, WEFT_FP32, 1, &count);
        if (out == NULL) {
            status = WEFT_NO_MEMORY;
        } else {
            memcpy(out, converted, (size_t)count * sizeof(*out));
        }
    }
    free(converted);
    return status;
}

static enum weft_status read_sound(
    const struct weft_call *call, SNDFILE *sound, const SF_INFO *info, const char *name)
{
    if (info->channels < 1 || info->channels > CHANNELS_MAX || info->samplerate < RATE_MIN ||
        info->samplerate > RATE_MAX) {
        return weft_call_fail(call, "the sound has a strange rate or number of channels");
    }
    if (info->frames < 0 || info->frames > (sf_count_t)SOUND_SECONDS_MAX * info->samplerate) {
        return weft_call_fail(call, "the sound is longer than ten minutes");
    }
    float *samples = malloc(((size_t)info->frames * (size_t)info->channels + 1) * sizeof(*samples));
    if (samples == NULL) {
        return WEFT_NO_MEMORY;
    }
    enum weft_status status;
    const sf_count_t frames = sf_readf_float(sound, samples, info->frames);
    if (frames < 1) {
        status = weft_call_fail(call, "there is no sound in the file");
    } else {
        average(samples, frames, info->channels);
        status = convert(call, name, samples, frames, info->samplerate);
    }
    free(samples);
    return status;
}

enum weft_status sound_decode(
    const struct weft_call *call, const struct weft_tensor *file, const char *name)
{
    if (file == NULL || file->dtype != WEFT_UINT8 || file->rank != 1 || file->bytes > INT64_MAX) {
        return weft_call_fail(call, "the sound must be the bytes of a file: UINT8, one dimension");
    }
    SF_VIRTUAL_IO calls = {
        .get_filelen = source_size,
        .seek = source_seek,
        .read = source_read,
        .tell = source_tell,
    };
    struct source source = {.bytes = file->data, .size = (sf_count_t)file->bytes};
    SF_INFO info = {0};
    SNDFILE *sound = sf_open_virtual(&calls, SFM_READ, &info, &source);
    if (sound == NULL) {
        return weft_call_fail(call, "the file is no sound that can be read");
    }
    const enum weft_status status = read_sound(call, sound, &info, name);
    (void)sf_close(sound);
    return status;
}
