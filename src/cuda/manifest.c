#include "cuda/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/units.h"

enum { LINE_BYTES_MAX = 1024, EXTENT_MAX = 1 << 30, CONSTANTS_AT_FIRST = 64 };

/* libtorch's numbers of our types. */
static const struct {
    const char *name;
    enum weft_dtype dtype;
    int32_t type;
    uint32_t bytes;
} types[] = {
    {"UINT8", WEFT_UINT8, 0, 1}, {"INT8", WEFT_INT8, 1, 1},   {"INT16", WEFT_INT16, 2, 2},
    {"INT32", WEFT_INT32, 3, 4}, {"INT64", WEFT_INT64, 4, 8}, {"FP16", WEFT_FP16, 5, 2},
    {"FP32", WEFT_FP32, 6, 4},   {"FP64", WEFT_FP64, 7, 8},   {"BOOL", WEFT_BOOL, 11, 1},
    {"BF16", WEFT_BF16, 15, 2},
};

/* What is being read: a line, from the left. */
struct line {
    char *at;
    uint32_t number;
    bool is_bad;
};

/* The next word; "" if there is none. */
static const char *next_word(struct line *line)
{
    line->at += strspn(line->at, " ");
    char *word = line->at;
    line->at += strcspn(line->at, " \n");
    if (*line->at != '\0') {
        *line->at++ = '\0';
    }
    return word;
}

static bool has_more(const struct line *line)
{
    return line->at[strspn(line->at, " \n")] != '\0';
}

static uint64_t next_number(struct line *line, uint64_t most)
{
    const char *word = next_word(line);
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(word, &end, 10);
    if (word[0] < '0' || word[0] > '9' || *end != '\0' || errno != 0 || value > most) {
        line->is_bad = true;
        return 0;
    }
    return value;
}

/* A name without folders above it: nothing outside of the model's own is read. */
static void next_name(struct line *line, char *out, size_t room)
{
    const char *word = next_word(line);
    const int length = snprintf(out, room, "%s", word);
    line->is_bad = line->is_bad || word[0] == '\0' || length < 0 || (size_t)length >= room;
}

static void next_path(struct line *line, char *out, size_t room)
{
    next_name(line, out, room);
    line->is_bad = line->is_bad || out[0] == '/' || out[0] == '.' || strstr(out, "..") != NULL;
}

static uint32_t next_extents(struct line *line, int64_t *out)
{
    const uint32_t rank = (uint32_t)next_number(line, WEFT_RANK_MAX);
    for (uint32_t i = 0; i < rank && !line->is_bad; i++) {
        out[i] = (int64_t)next_number(line, EXTENT_MAX);
    }
    return rank;
}

static void next_strides(struct line *line, uint32_t rank, int64_t *out)
{
    for (uint32_t i = 0; i < rank && !line->is_bad; i++) {
        out[i] = (int64_t)next_number(line, EXTENT_MAX);
    }
}

static size_t next_type(struct line *line)
{
    const char *word = next_word(line);
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (strcmp(types[i].name, word) == 0) {
            return i;
        }
    }
    line->is_bad = true;
    return 0;
}

/* The bytes from the first to the last element of @shape at @strides. */
static uint64_t span(uint32_t rank, const int64_t *shape, const int64_t *strides, uint32_t bytes)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] == 0) {
            return 0;
        }
        const uint64_t far = (uint64_t)(shape[i] - 1) * (uint64_t)strides[i];
        last = last > UINT64_MAX / 4 - far ? UINT64_MAX / 4 : last + far;
    }
    return (last + 1) * bytes;
}

static void read_constant(struct cuda_manifest *manifest, struct line *line)
{
    struct cuda_constant constant = {.rank = 0};
    const uint64_t all = manifest->weights_bytes;
    next_name(line, constant.name, sizeof(constant.name));
    constant.at = next_number(line, all);
    constant.bytes = next_number(line, all - constant.at);
    const size_t type = next_type(line);
    constant.type = types[type].type;
    constant.rank = next_extents(line, constant.shape);
    next_strides(line, constant.rank, constant.strides);
    if (line->is_bad || manifest->constant_count == CUDA_CONSTANTS_MAX ||
        span(constant.rank, constant.shape, constant.strides, types[type].bytes) > constant.bytes) {
        line->is_bad = true;
        return;
    }
    const uint32_t count = manifest->constant_count;
    if (count == 0 || (count >= CONSTANTS_AT_FIRST && (count & (count - 1)) == 0)) {
        const uint32_t room = count == 0 ? CONSTANTS_AT_FIRST : 2 * count;
        manifest->constants =
            memory_zeroed_more(manifest->constants, count, room, sizeof(constant));
    }
    manifest->constants[manifest->constant_count++] = constant;
}

static void read_port(struct line *line, struct cuda_port *ports, uint32_t *count)
{
    struct cuda_port port = {.rank = 0};
    next_name(line, port.name, sizeof(port.name));
    const size_t type = next_type(line);
    port.dtype = types[type].dtype;
    port.type = types[type].type;
    port.rank = next_extents(line, port.shape);
    line->is_bad = line->is_bad || port.rank >= WEFT_RANK_MAX;
    if (line->is_bad || *count == CUDA_PORTS_MAX) {
        line->is_bad = true;
        return;
    }
    port.row_bytes = tensor_bytes(port.dtype, port.rank, port.shape);
    port.view_rank = port.rank;
    int64_t stride = 1;
    for (uint32_t i = port.rank; i > 0; i--) {
        port.view_shape[i - 1] = port.shape[i - 1];
        port.view_strides[i - 1] = stride;
        stride *= port.shape[i - 1] > 0 ? port.shape[i - 1] : 1;
        line->is_bad = line->is_bad || stride > EXTENT_MAX;
    }
    if (has_more(line)) {
        line->is_bad = line->is_bad || strcmp(next_word(line), "view") != 0;
        port.view_rank = next_extents(line, port.view_shape);
        next_strides(line, port.view_rank, port.view_strides);
    }
    line->is_bad = line->is_bad || port.row_bytes == 0 || port.row_bytes > EXTENT_MAX ||
                   port.view_rank >= WEFT_RANK_MAX ||
                   span(port.view_rank, port.view_shape, port.view_strides, types[type].bytes) >
                       port.row_bytes;
    ports[(*count)++] = port;
}

static void read_package(struct cuda_manifest *manifest, struct line *line)
{
    if (manifest->package_count == CUDA_PACKAGES_MAX) {
        line->is_bad = true;
        return;
    }
    const uint32_t rows = (uint32_t)next_number(line, CUDA_ROWS_MAX);
    const uint32_t at = manifest->package_count;
    manifest->packages[at].rows = rows;
    next_path(line, manifest->packages[at].folder, sizeof(manifest->packages[at].folder));
    line->is_bad = line->is_bad || rows == 0 || (at > 0 && rows <= manifest->packages[at - 1].rows);
    manifest->package_count++;
}

static void read_line(struct cuda_manifest *manifest, struct line *line)
{
    const char *what = next_word(line);
    if (line->number == 1) {
        line->is_bad = strcmp(what, "weft-cuda") != 0 || next_number(line, 1) != 1;
    } else if (strcmp(what, "weights") == 0 && manifest->weights_bytes == 0) {
        next_path(line, manifest->weights, sizeof(manifest->weights));
        manifest->weights_bytes = next_number(line, INT64_MAX);
    } else if (strcmp(what, "constant") == 0) {
        read_constant(manifest, line);
    } else if (strcmp(what, "input") == 0) {
        read_port(line, manifest->inputs, &manifest->input_count);
    } else if (strcmp(what, "output") == 0) {
        read_port(line, manifest->outputs, &manifest->output_count);
    } else if (strcmp(what, "package") == 0) {
        read_package(manifest, line);
    } else {
        line->is_bad = true;
    }
    line->is_bad = line->is_bad || has_more(line);
}

static enum weft_status read_lines(
    FILE *file, const char *folder, struct cuda_manifest *manifest, struct weft_error *error)
{
    char text[LINE_BYTES_MAX];
    struct line line = {.number = 0};
    while (fgets(text, sizeof(text), file) != NULL) {
        line.number++;
        line.at = text;
        if (strchr(text, '\n') == NULL) {
            return error_set(
                error, WEFT_LIMIT, "%s/manifest:%u: a line has more than %d bytes, or no end",
                folder, line.number, LINE_BYTES_MAX - 2);
        }
        char copy[80];
        (void)snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(text, "\n"), text);
        read_line(manifest, &line);
        if (line.is_bad) {
            return error_set(
                error, WEFT_INVALID, "%s/manifest:%u: cannot read '%s'", folder, line.number, copy);
        }
    }
    if (ferror(file) != 0) {
        return error_set(error, WEFT_IO, "%s/manifest: %s", folder, strerror(errno));
    }
    if (manifest->package_count == 0 || manifest->input_count == 0 || manifest->output_count == 0 ||
        manifest->weights_bytes == 0) {
        return error_set(
            error, WEFT_INVALID,
            "%s/manifest: weights, an input, an output and a package are needed", folder);
    }
    return WEFT_OK;
}

enum weft_status cuda_manifest_read(
    const char *folder, struct cuda_manifest *manifest_out, struct weft_error *error)
{
    char path[4096];
    *manifest_out = (struct cuda_manifest){.folder = NULL};
    const int length = snprintf(path, sizeof(path), "%s/manifest", folder);
    FILE *file = length < (int)sizeof(path) ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return error_set(error, WEFT_IO, "%s/manifest: %s", folder, strerror(errno));
    }
    manifest_out->folder = memory_zeroed(strlen(folder) + 1, 1);
    memcpy(manifest_out->folder, folder, strlen(folder) + 1);
    const enum weft_status status = read_lines(file, folder, manifest_out, error);
    (void)fclose(file);
    if (status != WEFT_OK) {
        cuda_manifest_free(manifest_out);
    }
    return status;
}

void cuda_manifest_free(struct cuda_manifest *manifest)
{
    free(manifest->folder);
    free(manifest->constants);
    *manifest = (struct cuda_manifest){.folder = NULL};
}

enum weft_status cuda_manifest_check(
    struct cuda_manifest *manifest, const char *path, struct weft_error *error)
{
    struct stat about;
    struct timespec now;
    if (stat(path, &about) != 0) {
        return error_set(error, WEFT_IO, "%s: %s", path, strerror(errno));
    }
    const int64_t changed_ns = about.st_ctim.tv_sec * NS_PER_S + about.st_ctim.tv_nsec;
    if (manifest->since_ns == 0 || changed_ns <= manifest->since_ns) {
        return WEFT_OK;
    }
    if (manifest->compare == NULL) {
        return error_set(
            error, WEFT_REFUSED, "%s has changed after its sum was compared: it is not run", path);
    }
    (void)clock_gettime(CLOCK_REALTIME, &now); /* It is always there. */
    const enum weft_status status = manifest->compare(manifest->folder, error);
    if (status == WEFT_OK) {
        manifest->since_ns = now.tv_sec * NS_PER_S + now.tv_nsec;
    }
    return status;
}
