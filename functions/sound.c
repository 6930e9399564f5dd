#include "sound.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <samplerate.h>
#include <sndfile.h>

enum { CHANNELS_MAX = 64, RATE_MAX = 768000, RATE_MIN = 1000, BLOCK_FRAMES = 4096 };

#define TOO_LONG "the sound is longer than ten minutes, or has too many channels for that"

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

/* A sound on its way: blocks of frames, averaged, converted, and collected. */
struct stream {
    SNDFILE *sound;
    SRC_STATE *converter;
    double ratio;
    int channels;
    float *frames;    /* A block of all channels; averaged, at its front. */
    float *samples;   /* At SOUND_RATE. */
    int64_t count;    /* Of those. */
    int64_t room;     /* For those. */
    int64_t read;     /* Frames so far. */
    int64_t read_max; /* More are refused. */
};

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

/* Room for @more samples; they double, so that few are moved. */
static bool make_room(struct stream *stream, int64_t more)
{
    int64_t room = stream->room == 0 ? SOUND_RATE : stream->room;
    while (room - stream->count < more) {
        room *= 2;
    }
    if (room == stream->room) {
        return true;
    }
    float *larger = realloc(stream->samples, (size_t)room * sizeof(*larger));
    if (larger == NULL) {
        return false;
    }
    stream->samples = larger;
    stream->room = room;
    return true;
}

/* Convert @frames of the block, or what the converter still holds if they are the last. */
static enum weft_status convert(
    const struct weft_call *call, struct stream *stream, sf_count_t frames, bool is_last)
{
    SRC_DATA data = {
        .data_in = stream->frames,
        .input_frames = (long)frames,
        .end_of_input = is_last ? 1 : 0,
        .src_ratio = stream->ratio,
    };
    const int64_t block = (int64_t)((double)BLOCK_FRAMES * stream->ratio) + 16;
    do {
        if (!make_room(stream, block)) {
            return WEFT_NO_MEMORY;
        }
        data.data_out = stream->samples + stream->count;
        data.output_frames = (long)block;
        if (src_process(stream->converter, &data) != 0) {
            return weft_call_fail(call, "the rate of the sound cannot be converted");
        }
        stream->count += data.output_frames_gen;
        data.data_in += data.input_frames_used;
        data.input_frames -= data.input_frames_used;
    } while (data.input_frames_used > 0 || data.output_frames_gen > 0);
    return WEFT_OK;
}

static enum weft_status read_blocks(const struct weft_call *call, struct stream *stream)
{
    sf_count_t frames = BLOCK_FRAMES;
    while (frames > 0) {
        frames = sf_readf_float(stream->sound, stream->frames, BLOCK_FRAMES);
        frames = frames < 0 ? 0 : frames;
        stream->read += frames;
        if (stream->read > stream->read_max) {
            return weft_call_fail(call, TOO_LONG);
        }
        average(stream->frames, frames, stream->channels);
        const enum weft_status status = convert(call, stream, frames, frames == 0);
        if (status != WEFT_OK) {
            return status;
        }
    }
    return stream->read > 0 ? WEFT_OK : weft_call_fail(call, "there is no sound in the file");
}

static enum weft_status give(
    const struct weft_call *call, const struct stream *stream, const char *name)
{
    float *out = weft_call_output(call, name, WEFT_FP32, 1, &stream->count);
    if (out == NULL) {
        return WEFT_NO_MEMORY;
    }
    if (stream->count > 0) {
        memcpy(out, stream->samples, (size_t)stream->count * sizeof(*out));
    }
    return WEFT_OK;
}

static enum weft_status read_sound(
    const struct weft_call *call, SNDFILE *sound, const SF_INFO *info, const char *name)
{
    int error = 0;
    if (info->channels < 1 || info->channels > CHANNELS_MAX || info->samplerate < RATE_MIN ||
        info->samplerate > RATE_MAX) {
        return weft_call_fail(call, "the sound has a strange rate or number of channels");
    }
    const int64_t by_time = (int64_t)SOUND_SECONDS_MAX * info->samplerate;
    const int64_t by_work = SOUND_SAMPLES_MAX / info->channels;
    struct stream stream = {
        .sound = sound,
        .ratio = (double)SOUND_RATE / info->samplerate,
        .channels = info->channels,
        .read_max = by_time < by_work ? by_time : by_work,
    };
    if (info->frames > stream.read_max && info->frames != SF_COUNT_MAX /* Not said. */) {
        return weft_call_fail(call, TOO_LONG);
    }
    enum weft_status status = WEFT_NO_MEMORY;
    stream.frames = malloc((size_t)BLOCK_FRAMES * (size_t)info->channels * sizeof(float));
    stream.converter = src_new(SRC_SINC_FASTEST, 1, &error);
    if (stream.frames != NULL && stream.converter != NULL) {
        status = read_blocks(call, &stream);
        status = status == WEFT_OK ? give(call, &stream, name) : status;
    }
    (void)src_delete(stream.converter);
    free(stream.samples);
    free(stream.frames);
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
        return weft_call_fail(call, "the file is not a sound that can be read");
    }
    const enum weft_status status = read_sound(call, sound, &info, name);
    (void)sf_close(sound);
    return status;
}
