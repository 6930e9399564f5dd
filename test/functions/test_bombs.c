/*
 * Small files that would become large ones: decoders refuse them, or need no more than others.
 *
 * Covers: functions/pixels_decode.c, functions/sound.c
 */
#include "functions/fake_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <sndfile.h>
#include <turbojpeg.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/attributes.h"

enum { MIB = 1 << 20 };

/* Bytes that grow. */
struct bytes {
    uint8_t *data;
    size_t count;
    size_t room;
    uint32_t bits; /* That wait to become a byte. */
    uint32_t bit_count;
};

static void put(struct bytes *bytes, const void *data, size_t count)
{
    while (bytes->room - bytes->count < count) {
        bytes->room = bytes->room == 0 ? 4096 : 2 * bytes->room;
        bytes->data = realloc(bytes->data, bytes->room);
        assert_non_null(bytes->data);
    }
    if (count > 0) {
        memcpy(bytes->data + bytes->count, data, count);
    }
    bytes->count += count;
}

static void put_number(struct bytes *bytes, uint32_t number)
{
    const uint8_t four[] = {
        (uint8_t)(number >> 24), (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number};
    put(bytes, four, sizeof(four));
}

static void put_bits(struct bytes *bytes, uint32_t value, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bytes->bits |= (value >> i & 1) << bytes->bit_count;
        if (++bytes->bit_count == 8) {
            const uint8_t byte = (uint8_t)bytes->bits;
            put(bytes, &byte, 1);
            bytes->bits = 0;
            bytes->bit_count = 0;
        }
    }
}

/* @count zeros as zlib writes them at its best: 258 in 13 bits. */
static void put_zeros(struct bytes *bytes, uint32_t count)
{
    const uint32_t runs = (count - 1) / 258;
    put(bytes, "\x78\xda", 2);
    put_bits(bytes, 3, 3);    /* The last block, with the codes that need no table. */
    put_bits(bytes, 0x0c, 8); /* A zero: 00110000, its first bit first. */
    for (uint32_t i = 0; i < runs; i++) {
        put_bits(bytes, 0xa3, 8); /* 258 of what was there one before: 11000101, 00000. */
        put_bits(bytes, 0, 5);
    }
    put_bits(bytes, 0, 7); /* The end. */
    put_bits(bytes, 0, (8 - bytes->bit_count) % 8);
    put_number(bytes, (1 + 258 * runs) % 65521 << 16 | 1);
}

static uint32_t crc_of(const uint8_t *data, size_t count)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        crc ^= data[i];
        for (uint32_t bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc % 2 == 1 ? 0xedb88320 : 0);
        }
    }
    return ~crc;
}

static void put_chunk(struct bytes *png, const char *kind, const void *data, size_t count)
{
    put_number(png, (uint32_t)count);
    const size_t start = png->count;
    put(png, kind, 4);
    put(png, data, count);
    put_number(png, crc_of(png->data + start, png->count - start));
}

/* A picture of one pixel with a chunk @kind that says @head and then @zeros zeros. */
static struct bytes png_with(const char *kind, const char *head, size_t head_bytes, uint32_t zeros)
{
    static const uint8_t header[] = {0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0};
    struct bytes png = {.data = NULL};
    struct bytes extra = {.data = NULL};
    put(&extra, head, head_bytes);
    put_zeros(&extra, zeros);
    put(&png, "\x89PNG\r\n\x1a\n", 8);
    put_chunk(&png, "IHDR", header, sizeof(header));
    put_chunk(&png, kind, extra.data, extra.count);
    put_chunk(&png, "IDAT", "\x78\xda\x63\x60\x00\x00\x00\x02\x00\x01", 10);
    put_chunk(&png, "IEND", NULL, 0);
    free(extra.data);
    return png;
}

/* The most memory that this process has had, in MiB. */
static long memory_mib(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss / 1024;
}

/* Decode @file with @library, and free it. */
static enum weft_status decode(const char *library, struct bytes *file, char *message_out)
{
    struct fake *fake = fake_open(library);
    const int64_t shape[] = {(int64_t)file->count};
    fake_input(fake, "file", WEFT_UINT8, 1, shape, file->data);
    free(file->data);
    file->data = NULL;
    const enum weft_status status = fake_call(fake, "decode");
    (void)snprintf(message_out, 256, "%s", fake_message(fake));
    fake_close(fake);
    return status;
}

static void profiles_and_texts_of_pictures_are_bounded(ATTR_UNUSED void **state)
{
    static const struct {
        const char *kind;
        const char *head;
        size_t head_bytes;
    } cases[] = {{"iCCP", "p\0", 3}, {"zTXt", "t\0", 3}, {"iTXt", "t\0\1\0\0", 6}};
    char message[256];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const size_t head_bytes = cases[i].head_bytes;
        struct bytes small = png_with(cases[i].kind, cases[i].head, head_bytes, 100000);
        assert_int_equal(decode("document", &small, message), WEFT_OK);
        struct bytes file = png_with(cases[i].kind, cases[i].head, head_bytes, 256 * MIB);
        assert_true(file.count < 2 * MIB);
        const long before = memory_mib();
        assert_int_equal(decode("document", &file, message), WEFT_INVALID);
        assert_true(memory_mib() - before < 100);
    }
}

/* A picture in several scans, the last of which is there @times over. */
static struct bytes jpeg_with(uint32_t times)
{
    static uint8_t pixels[64 * 64 * 3];
    struct bytes file = {.data = NULL};
    unsigned char *written = NULL;
    unsigned long length = 0;
    for (size_t i = 0; i < sizeof(pixels); i++) {
        pixels[i] = (uint8_t)(i * i % 251);
    }
    tjhandle encoder = tjInitCompress();
    assert_int_equal(
        tjCompress2(
            encoder, pixels, 64, 0, 64, TJPF_RGB, &written, &length, TJSAMP_444, 90,
            TJFLAG_PROGRESSIVE),
        0);
    (void)tjDestroy(encoder);
    size_t last = length - 2;
    while (written[last] != 0xff || written[last + 1] != 0xda) {
        last--;
    }
    put(&file, written, last);
    for (uint32_t i = 0; i < times; i++) {
        put(&file, written + last, length - 2 - last);
    }
    put(&file, "\xff\xd9", 2);
    tjFree(written);
    return file;
}

static void scans_of_pictures_are_bounded(ATTR_UNUSED void **state)
{
    char message[256];
    struct bytes usual = jpeg_with(1);
    for (uint32_t i = 0; i < 1000; i++) {
        put(&usual, "\xff\xda\xff\xda", 4); /* After the end: not of the picture. */
    }
    assert_int_equal(decode("document", &usual, message), WEFT_OK);
    struct bytes many = jpeg_with(100);
    assert_int_equal(decode("document", &many, message), WEFT_INVALID);
    assert_string_equal(message, "the JPEG file has more than 64 scans");
}

static sf_count_t bytes_size(void *user)
{
    return (sf_count_t)((struct bytes *)user)->count;
}

/* Files are written from front to back, but for their heads. */
static size_t bytes_at;

static sf_count_t bytes_seek(sf_count_t offset, int whence, void *user)
{
    const struct bytes *bytes = user;
    bytes_at = (size_t)offset + (whence == SEEK_SET   ? 0
                                 : whence == SEEK_CUR ? bytes_at
                                                      : bytes->count);
    return (sf_count_t)bytes_at;
}

static sf_count_t bytes_write(const void *data, sf_count_t count, void *user)
{
    struct bytes *bytes = user;
    if (bytes_at + (size_t)count > bytes->count) {
        put(bytes, data, bytes_at + (size_t)count - bytes->count);
    }
    memcpy(bytes->data + bytes_at, data, (size_t)count);
    bytes_at += (size_t)count;
    return count;
}

static sf_count_t bytes_read(void *out, sf_count_t count, void *user)
{
    (void)out;
    (void)user;
    return 0 * count;
}

static sf_count_t bytes_tell(void *user)
{
    (void)user;
    return (sf_count_t)bytes_at;
}

/* Silence as FLAC. */
static struct bytes flac_of(int rate, int channels, int seconds)
{
    static int16_t silence[8 * 8192];
    SF_VIRTUAL_IO calls = {
        .get_filelen = bytes_size,
        .seek = bytes_seek,
        .read = bytes_read,
        .write = bytes_write,
        .tell = bytes_tell,
    };
    struct bytes file = {.data = NULL};
    SF_INFO info = {
        .samplerate = rate, .channels = channels, .format = SF_FORMAT_FLAC | SF_FORMAT_PCM_16};
    bytes_at = 0;
    SNDFILE *sound = sf_open_virtual(&calls, SFM_WRITE, &info, &file);
    assert_non_null(sound);
    for (sf_count_t left = (sf_count_t)rate * seconds; left > 0; left -= 8192) {
        (void)sf_writef_short(sound, silence, left < 8192 ? left : 8192);
    }
    assert_int_equal(sf_close(sound), 0);
    return file;
}

/* Where FLAC says how many frames there are: 36 bits, the first of them half a byte. */
static void flac_claim(struct bytes *file, uint64_t frames)
{
    file->data[21] = (uint8_t)((file->data[21] & 0xf0) | (frames >> 32 & 0x0f));
    for (uint32_t i = 0; i < 4; i++) {
        file->data[22 + i] = (uint8_t)(frames >> (24 - 8 * i));
    }
}

static void memory_for_sound_depends_on_its_length_alone(ATTR_UNUSED void **state)
{
    char message[256];
    struct bytes file = flac_of(655350, 8, 10);
    assert_true(file.count < MIB);
    const long before = memory_mib();
    assert_int_equal(decode("speech", &file, message), WEFT_OK);
    assert_true(memory_mib() - before < 50);
}

static void a_head_that_lies_changes_nothing(ATTR_UNUSED void **state)
{
    char message[256];
    struct bytes large = flac_of(16000, 1, 2);
    flac_claim(&large, UINT64_C(0xfffffffff));
    assert_int_equal(decode("speech", &large, message), WEFT_INVALID);
    struct bytes some = flac_of(16000, 1, 2);
    flac_claim(&some, 9000000); /* Within the limit: 9 minutes of 2 seconds. */
    assert_int_equal(decode("speech", &some, message), WEFT_OK);
    struct bytes unknown = flac_of(16000, 1, 2);
    flac_claim(&unknown, 0);
    assert_int_equal(decode("speech", &unknown, message), WEFT_OK);
}

static void too_much_sound_is_refused(ATTR_UNUSED void **state)
{
    char message[256];
    struct bytes long_one = flac_of(1000, 1, 601);
    assert_int_equal(decode("speech", &long_one, message), WEFT_INVALID);
    long_one = flac_of(1000, 1, 601);
    flac_claim(&long_one, 0); /* Not said beforehand: it is found out. */
    assert_int_equal(decode("speech", &long_one, message), WEFT_INVALID);
    struct bytes channels = flac_of(655350, 8, 1);
    flac_claim(&channels, UINT64_C(50) * 655350); /* 262 million samples of 50 seconds. */
    assert_int_equal(decode("speech", &channels, message), WEFT_INVALID);
    assert_non_null(strstr(message, "too many channels"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            memory_for_sound_depends_on_its_length_alone), /* First: it has had least. */
        cmocka_unit_test(profiles_and_texts_of_pictures_are_bounded),
        cmocka_unit_test(scans_of_pictures_are_bounded),
        cmocka_unit_test(a_head_that_lies_changes_nothing),
        cmocka_unit_test(too_much_sound_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
