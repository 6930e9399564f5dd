#include <string.h>

#include <spng.h>
#include <turbojpeg.h>

#include "pixels.h"

enum { COLOURS = 3, PNG_SIGNATURE_BYTES = 8 };

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

static enum weft_status decode_jpeg(
    const struct weft_call *call, const struct weft_tensor *file, const char *name)
{
    enum weft_status status = WEFT_OK;
    int width = 0;
    int height = 0;
    int sampling = 0;
    int colours = 0;
    tjhandle decoder = tjInitDecompress();
    if (decoder == NULL) {
        return WEFT_NO_MEMORY;
    }
    const unsigned long bytes = (unsigned long)file->bytes;
    if (tjDecompressHeader3(decoder, file->data, bytes, &width, &height, &sampling, &colours) !=
        0) {
        status = weft_call_fail(call, "the JPEG file is broken");
    } else if (!pixels_fit(width, height)) {
        status = weft_call_fail(call, "the picture has more than 40 megapixels");
    } else {
        uint8_t *data = add_picture(call, name, width, height);
        if (data == NULL) {
            status = WEFT_NO_MEMORY;
        } else if (!is_decoded(
                       decoder, tjDecompress2(
                                    decoder, file->data, bytes, data, width, width * COLOURS,
                                    height, TJPF_RGB, 0))) {
            status = weft_call_fail(call, "the JPEG file is broken, or not all there");
        }
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
    if (spng_set_png_buffer(decoder, file->data, (size_t)file->bytes) == 0) {
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
