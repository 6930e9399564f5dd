#include <stdlib.h>
#include <string.h>

#include <spng.h>
#include <turbojpeg.h>

#include "exif.h"
#include "pixels.h"

enum {
    COLOURS = 3,
    PNG_SIGNATURE_BYTES = 8,
    PNG_EXTRA_BYTES_MAX = 8 << 20, /* Profiles and texts, inflated: nothing needs them here. */
    JPEG_SCANS_MAX = 64,           /* Each goes over all pixels. Programs write about ten. */
};

bool pixels_fit(int64_t width, int64_t height)
{
    return width > 0 && height > 0 && width <= PIXELS_MAX && height <= PIXELS_MAX / width;
}

static uint8_t *add_picture(
    const struct weft_call *call, const char *name, int64_t width, int64_t height)
{
    const int64_t shape[] = {height, width, COLOURS};
    return weft_call_output(call, name, WEFT_UINT8, 3, shape);
}

/* The library only warns of what is odd, and fills up what is missing: that would be made up. */
static bool is_decoded(tjhandle decoder, int result)
{
    return result == 0 || (tjGetErrorCode(decoder) == TJERR_WARNING &&
                           strstr(tjGetErrorStr2(decoder), "Premature end") == NULL);
}

/* The picture in @from, of @width by @height, as @orientation says it is to be shown. */
static void turn(const uint8_t *from, int width, int height, uint32_t orientation, uint8_t *out)
{
    const bool is_turned = orientation > 4; /* Rows become columns. */
    const uint32_t kind = (orientation - 1) % 4;
    const bool flips_columns = is_turned ? kind >= 2 : kind == 1 || kind == 2;
    const bool flips_rows = is_turned ? kind == 1 || kind == 2 : kind >= 2;
    const int out_width = is_turned ? height : width;
    const int out_height = is_turned ? width : height;
    for (int y = 0; y < out_height; y++) {
        for (int x = 0; x < out_width; x++, out += COLOURS) {
            int column = is_turned ? y : x;
            int row = is_turned ? x : y;
            column = flips_columns ? width - 1 - column : column;
            row = flips_rows ? height - 1 - row : row;
            memcpy(out, from + ((size_t)row * (size_t)width + (size_t)column) * COLOURS, COLOURS);
        }
    }
}

/* Decode into output @name, the right way up. */
static enum weft_status decode_jpeg_into(
    const struct weft_call *call, tjhandle decoder, const struct weft_tensor *file, int width,
    int height, const char *name)
{
    const uint32_t orientation = exif_orientation(file->data, file->bytes);
    const bool is_turned = orientation > 4;
    uint8_t *data = add_picture(call, name, is_turned ? height : width, is_turned ? width : height);
    uint8_t *as_it_is = orientation == 1 ? data : malloc((size_t)width * (size_t)height * COLOURS);
    enum weft_status status = WEFT_OK;
    if (data == NULL || as_it_is == NULL) {
        status = WEFT_NO_MEMORY;
    } else if (!is_decoded(
                   decoder, tjDecompress2(
                                decoder, file->data, (unsigned long)file->bytes, as_it_is, width,
                                width * COLOURS, height, TJPF_RGB, TJFLAG_LIMITSCANS))) {
        status = weft_call_fail(call, "the JPEG file is broken, or not all there");
    } else if (orientation != 1) {
        turn(as_it_is, width, height, orientation, data);
    }
    if (as_it_is != data) {
        free(as_it_is);
    }
    return status;
}

/* Where the next marker begins, from @at on: in the data of a scan 0xff is followed by 0, or by
 * one of eight marks that belong to it. */
static uint64_t next_marker(const uint8_t *bytes, uint64_t size, uint64_t at)
{
    while (at + 1 < size && (bytes[at] != 0xff || bytes[at + 1] == 0 || bytes[at + 1] == 0xff ||
                             (bytes[at + 1] >= 0xd0 && bytes[at + 1] <= 0xd7))) {
        at++;
    }
    return at;
}

/* The scans of a JPEG file, up to its end: what follows that is not of the picture. */
static uint32_t count_scans(const uint8_t *bytes, uint64_t size)
{
    enum { KIND_END = 0xd9, KIND_SCAN = 0xda };
    uint32_t count = 0;
    uint64_t at = next_marker(bytes, size, 2);
    while (at + 3 < size && bytes[at + 1] != KIND_END) {
        count += bytes[at + 1] == KIND_SCAN;
        at = next_marker(bytes, size, at + 2 + ((uint64_t)bytes[at + 2] << 8 | bytes[at + 3]));
    }
    return count;
}

static enum weft_status decode_jpeg(
    const struct weft_call *call, const struct weft_tensor *file, const char *name)
{
    enum weft_status status;
    int width = 0;
    int height = 0;
    int sampling = 0;
    int colours = 0;
    tjhandle decoder = tjInitDecompress();
    if (decoder == NULL) {
        return WEFT_NO_MEMORY;
    }
    if (tjDecompressHeader3(
            decoder, file->data, (unsigned long)file->bytes, &width, &height, &sampling,
            &colours) != 0) {
        status = weft_call_fail(call, "the JPEG file is broken");
    } else if (colours == TJCS_CMYK || colours == TJCS_YCCK) {
        status = weft_call_fail(call, "the JPEG file has colours for print (CMYK), not RGB");
    } else if (!pixels_fit(width, height)) {
        status = weft_call_fail(call, "the picture has more than 40 megapixels");
    } else if (count_scans(file->data, file->bytes) > JPEG_SCANS_MAX) {
        status = weft_call_fail(call, "the JPEG file has more than 64 scans");
    } else {
        status = decode_jpeg_into(call, decoder, file, width, height, name);
    }
    (void)tjDestroy(decoder);
    return status;
}

static enum weft_status decode_png_into(
    const struct weft_call *call, spng_ctx *decoder, const char *name)
{
    struct spng_ihdr header;
    if (spng_get_ihdr(decoder, &header) != 0) {
        return weft_call_fail(call, "the PNG file is broken");
    }
    if (!pixels_fit(header.width, header.height)) {
        return weft_call_fail(call, "the picture has more than 40 megapixels");
    }
    uint8_t *data = add_picture(call, name, header.width, header.height);
    if (data == NULL) {
        return WEFT_NO_MEMORY;
    }
    const size_t bytes = (size_t)header.width * header.height * COLOURS;
    if (spng_decode_image(decoder, data, bytes, SPNG_FMT_RGB8, 0) != 0) {
        return weft_call_fail(call, "the PNG file is broken");
    }
    return WEFT_OK;
}

static enum weft_status decode_png(
    const struct weft_call *call, const struct weft_tensor *file, const char *name)
{
    enum weft_status status = WEFT_NO_MEMORY;
    spng_ctx *decoder = spng_ctx_new(0);
    if (decoder == NULL) {
        return status;
    }
    if (spng_set_image_limits(decoder, PIXELS_MAX, PIXELS_MAX) == 0 &&
        spng_set_chunk_limits(decoder, PNG_EXTRA_BYTES_MAX, PNG_EXTRA_BYTES_MAX) == 0 &&
        spng_set_png_buffer(decoder, file->data, (size_t)file->bytes) == 0) {
        status = decode_png_into(call, decoder, name);
    }
    spng_ctx_free(decoder);
    return status;
}

enum weft_status pixels_decode(
    const struct weft_call *call, const struct weft_tensor *file, const char *name)
{
    static const uint8_t png[PNG_SIGNATURE_BYTES] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff};
    if (file == NULL || file->dtype != WEFT_UINT8 || file->rank != 1) {
        return weft_call_fail(
            call, "the picture must be the bytes of a file: UINT8, one dimension");
    }
    if (file->bytes >= sizeof(png) && memcmp(file->data, png, sizeof(png)) == 0) {
        return decode_png(call, file, name);
    }
    if (file->bytes >= sizeof(jpeg) && memcmp(file->data, jpeg, sizeof(jpeg)) == 0) {
        return decode_jpeg(call, file, name);
    }
    return weft_call_fail(call, "the picture is neither JPEG nor PNG");
}
