/*
 * bench_functions.c - what the code between models costs, beside copying the same bytes.
 *
 * usage: bench_functions [ROUNDS]
 *
 * Calls the functions of functions/ as workers do, on a page and a recording of the size that the
 * demo has; where a model would be in between, on tensors of the shapes that it gives. Decoding
 * files is left out: that is the work of libraries. The reference is memcpy() of all inputs and
 * outputs of the call, in turn with it; both the best of ROUNDS.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weft/function.h>

enum {
    ROUNDS_DEFAULT = 30,
    TENSORS_MAX = 16,
    ARENA_BYTES = 256 << 20,
    PAGE_WIDTH = 1654, /* A4 at 200 dots an inch, */
    PAGE_HEIGHT = 2339,
    MAP_WIDTH = 672, /* as the detector sees it, */
    MAP_HEIGHT = 960,
    LINES = 40, /* with so many lines. */
    LETTERS = 6625,
    COLUMNS = 80, /* Of a line that is read: its width by 8. */
    SAMPLES = 7 * 16000,
    FRAME = 512,
};

/* Memory of one call: given out from the front, and all at once taken back. */
struct memory {
    char *bytes;
    size_t used;
};

struct bench {
    struct weft_tensor inputs[TENSORS_MAX];
    uint32_t input_count;
    struct weft_tensor outputs[TENSORS_MAX];
    uint32_t output_count;
    struct memory in;
    struct memory out;
    uint32_t rounds;
    char folder[32];
};

static struct bench bench;

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* This clock is always there. */
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void die(const char *what)
{
    (void)fprintf(stderr, "bench_functions: %s\n", what);
    exit(1);
}

static void *take(struct memory *memory, size_t bytes)
{
    char *taken = memory->bytes + memory->used;
    memory->used += (bytes + 63) / 64 * 64;
    if (memory->used > ARENA_BYTES) {
        die("its memory is too small");
    }
    return taken;
}

static size_t width_of(enum weft_dtype dtype)
{
    return dtype == WEFT_UINT8 ? 1 : dtype == WEFT_INT64 ? 8 : 4;
}

static void *add(
    struct weft_tensor *tensor, struct memory *memory, const char *name, enum weft_dtype dtype,
    uint32_t rank, const int64_t *shape)
{
    uint64_t bytes = width_of(dtype);
    *tensor = (struct weft_tensor){.dtype = dtype, .rank = rank};
    (void)snprintf(tensor->name, sizeof(tensor->name), "%s", name);
    for (uint32_t i = 0; i < rank; i++) {
        tensor->shape[i] = shape[i];
        bytes *= (uint64_t)shape[i];
    }
    tensor->bytes = bytes;
    tensor->data = take(memory, bytes);
    return tensor->data;
}

static void *input(const char *name, enum weft_dtype dtype, uint32_t rank, const int64_t *shape)
{
    return add(&bench.inputs[bench.input_count++], &bench.in, name, dtype, rank, shape);
}

static void *give_output(
    void *inside, const char *name, enum weft_dtype dtype, uint32_t rank, const int64_t *shape,
    uint64_t bytes)
{
    struct weft_tensor *tensor = &bench.outputs[bench.output_count++];
    const int64_t whole = (int64_t)bytes;
    (void)inside;
    return dtype == WEFT_BYTES ? add(tensor, &bench.out, name, WEFT_UINT8, 1, &whole)
                               : add(tensor, &bench.out, name, dtype, rank, shape);
}

static void give_items(void *inside, uint32_t items)
{
    (void)inside;
    (void)items;
}

static void say(void *inside, const char *message)
{
    (void)inside;
    die(message);
}

static int is_cancelled(void *inside)
{
    (void)inside;
    return 0;
}

static const char *folder_of(void *inside)
{
    (void)inside;
    return bench.folder;
}

static weft_function find(const struct weft_function_table *table, const char *name)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (strcmp(table->entries[i].name, name) == 0) {
            return table->entries[i].run;
        }
    }
    die(name);
    return NULL;
}

static double copy_s(void)
{
    static char *target;
    char *to = target == NULL ? target = malloc(2 * (size_t)ARENA_BYTES) : target;
    const double begun_s = now_s();
    for (uint32_t i = 0; i < bench.input_count; i++) {
        memcpy(to, bench.inputs[i].data, bench.inputs[i].bytes);
        to += bench.inputs[i].bytes;
    }
    for (uint32_t i = 0; i < bench.output_count; i++) {
        memcpy(to, bench.outputs[i].data, bench.outputs[i].bytes);
        to += bench.outputs[i].bytes;
    }
    return now_s() - begun_s;
}

/* Call @function of @table with the inputs so far, and forget them. */
static void measure(const struct weft_function_table *table, const char *file, const char *function)
{
    const struct weft_call call = {
        .items = 1,
        .input_count = bench.input_count,
        .inputs = bench.inputs,
        .output = give_output,
        .give_items = give_items,
        .fail = say,
        .is_cancelled = is_cancelled,
        .folder = folder_of,
    };
    const weft_function run = find(table, function);
    double best_s = HUGE_VAL;
    double reference_s = HUGE_VAL;
    uint64_t bytes = 0;
    for (uint32_t round = 0; round < bench.rounds; round++) {
        bench.out.used = 0;
        bench.output_count = 0;
        const double begun_s = now_s();
        if (run(&call) != WEFT_OK) {
            die(function);
        }
        best_s = fmin(best_s, now_s() - begun_s);
        reference_s = fmin(reference_s, copy_s());
    }
    for (uint32_t i = 0; i < bench.input_count; i++) {
        bytes += bench.inputs[i].bytes;
    }
    for (uint32_t i = 0; i < bench.output_count; i++) {
        bytes += bench.outputs[i].bytes;
    }
    (void)printf(
        "  %s.%-12s %8.2f ms %8.1f MB   x %.1f\n", file, function, best_s * 1e3,
        (double)bytes / 1e6, best_s / reference_s);
    bench.input_count = 0;
    bench.in.used = 0;
}

static const struct weft_function_table *open_functions(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s.so", FUNCTIONS_FOLDER, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct weft_function_table *table =
        library == NULL ? NULL : dlsym(library, "weft_functions");
    if (table == NULL) {
        die(path);
    }
    return table;
}

/* Where line @line of the page lies, in shares of its height. */
static float top_of(uint32_t line)
{
    return 0.05F + (float)line * 0.9F / LINES;
}

static bool is_text(float x, float y)
{
    for (uint32_t line = 0; line < LINES; line++) {
        const float below = y - top_of(line);
        if (below >= 0 && below < 0.5F / LINES) {
            return x > 0.1F && x < 0.9F;
        }
    }
    return false;
}

static void input_page(void)
{
    const int64_t shape[] = {PAGE_HEIGHT, PAGE_WIDTH, 3};
    uint8_t *pixels = input("pixels", WEFT_UINT8, 3, shape);
    for (uint32_t i = 0; i < PAGE_WIDTH * PAGE_HEIGHT * 3; i++) {
        pixels[i] = (uint8_t)(i * 2654435761U >> 24);
    }
}

static void input_floats(const char *name, uint32_t rank, const int64_t *shape)
{
    float *values = input(name, WEFT_FP32, rank, shape);
    const uint64_t count = bench.inputs[bench.input_count - 1].bytes / sizeof(*values);
    for (uint64_t i = 0; i < count; i++) {
        values[i] = (float)((uint32_t)i * 2654435761U >> 8) / (1 << 24) * 0.3F;
    }
}

static void bench_document(void)
{
    const struct weft_function_table *table = open_functions("document");
    const int64_t map_shape[] = {1, 1, MAP_HEIGHT, MAP_WIDTH};
    const int64_t lines_shape[] = {LINES, 3, 48, COLUMNS * 8};
    const int64_t boxes_shape[] = {LINES, 10};
    const int64_t upside_shape[] = {LINES, 2};
    const int64_t letters_shape[] = {LINES, COLUMNS, LETTERS};
    input_page();
    measure(table, "document", "resize");
    input_page();
    float *map = input("map", WEFT_FP32, 4, map_shape);
    for (uint32_t y = 0; y < MAP_HEIGHT; y++) {
        for (uint32_t x = 0; x < MAP_WIDTH; x++) {
            map[y * MAP_WIDTH + x] =
                is_text((float)x / MAP_WIDTH, (float)y / MAP_HEIGHT) ? 0.9F : 0.01F;
        }
    }
    measure(table, "document", "crop");
    input_floats("lines", 4, lines_shape);
    float *boxes = input("boxes", WEFT_FP32, 2, boxes_shape);
    for (uint32_t i = 0; i < LINES; i++, boxes += 10) {
        const float corners[10] = {0, 0, COLUMNS * 8, 0, COLUMNS * 8, 48, 0, 48, 0, 1};
        memcpy(boxes, corners, sizeof(corners));
    }
    float *upside = input("upside_down", WEFT_FP32, 2, upside_shape);
    for (uint32_t i = 0; i < LINES * 2; i++) {
        upside[i] = i % 2 == 0 ? 0 : 1; /* The whole page stands on its head. */
    }
    measure(table, "document", "turn");
    input_floats("probabilities", 3, letters_shape);
    input_floats("boxes", 2, boxes_shape);
    measure(table, "document", "text");
}

static void bench_picture(void)
{
    static const int64_t cells[] = {7600, 1900, 475, 130};
    const struct weft_function_table *table = open_functions("picture");
    const int64_t four[] = {1, 4};
    const int64_t two[] = {1, 2};
    const int64_t words[] = {1, 1, 320, 320};
    input_page();
    measure(table, "picture", "prepare");
    input_page();
    input_floats("orientation", 2, four);
    input_floats("safety", 2, two);
    input_floats("words", 4, words);
    for (uint32_t i = 0; i < 4; i++) {
        char name[16];
        const int64_t scores[] = {1, cells[i], 10};
        const int64_t boxes[] = {1, cells[i], 32};
        (void)snprintf(name, sizeof(name), "scores%u", i);
        input_floats(name, 3, scores);
        (void)snprintf(name, sizeof(name), "boxes%u", i);
        input_floats(name, 3, boxes);
    }
    measure(table, "picture", "describe");
}

static void input_samples(void)
{
    const int64_t shape[] = {SAMPLES};
    input_floats("samples", 1, shape);
}

static void bench_speech(void)
{
    const struct weft_function_table *table = open_functions("speech");
    const int64_t frames[] = {(SAMPLES + FRAME - 1) / FRAME};
    input_samples();
    measure(table, "speech", "frames");
    input_samples();
    float *speech = input("speech", WEFT_FP32, 1, frames);
    for (int64_t i = 0; i < frames[0]; i++) {
        speech[i] = i % 50 < 30 ? 0.9F : 0.1F;
    }
    measure(table, "speech", "segment");
}

/* What a line is written with: as many letters as the reader has outputs for. */
static void write_letters(char path[64])
{
    (void)snprintf(path, 64, "%s/document.letters.txt", bench.folder);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        die(path);
    }
    for (uint32_t i = 0; i < LETTERS - 2; i++) {
        (void)fprintf(file, "%c\n", 'a' + (char)(i % 26));
    }
    (void)fclose(file); /* What is missing would be said by the function. */
}

int main(int argc, char **argv)
{
    char path[64];
    bench.rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : ROUNDS_DEFAULT;
    bench.in.bytes = malloc(ARENA_BYTES);
    bench.out.bytes = malloc(ARENA_BYTES);
    (void)snprintf(bench.folder, sizeof(bench.folder), "/tmp/weft-bench-XXXXXX");
    if (bench.rounds == 0 || bench.in.bytes == NULL || bench.out.bytes == NULL ||
        mkdtemp(bench.folder) == NULL) {
        die("usage: bench_functions [ROUNDS]");
    }
    write_letters(path);
    (void)printf("a page of %d by %d, %d lines; ", PAGE_WIDTH, PAGE_HEIGHT, LINES);
    (void)printf("7 s of sound; x: times memcpy() of inputs and outputs\n");
    bench_document();
    bench_picture();
    bench_speech();
    (void)remove(path);
    (void)rmdir(bench.folder);
    free(bench.in.bytes);
    free(bench.out.bytes);
    return 0;
}
