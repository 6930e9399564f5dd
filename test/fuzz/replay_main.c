/*
 * replay_main.c - run a fuzz target once over every file of the folders given.
 *
 * Takes the place of libFuzzer in ordinary builds, so that the corpus is part of the
 * normal tests. A folder that is missing or empty is a failure: it would prove nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

enum { PATH_BYTES_MAX = 4096, INPUT_BYTES_MAX = 1 << 20 };

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* The input gets a block of its own size, so that a sanitizer sees one byte too many. */
static int replay_bytes(const uint8_t *bytes, size_t size)
{
    uint8_t *input = malloc(size > 0 ? size : 1);
    if (input == NULL) {
        (void)fprintf(stderr, "replay: out of memory\n");
        return 1;
    }
    memcpy(input, bytes, size);
    (void)LLVMFuzzerTestOneInput(input, size);
    free(input);
    return 0;
}

static int replay_file(const char *path)
{
    static uint8_t bytes[INPUT_BYTES_MAX];

    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        (void)fprintf(stderr, "replay: cannot open '%s': %s\n", path, strerror(errno));
        return 1;
    }
    const size_t size = fread(bytes, 1, sizeof(bytes), file);
    const int failed = ferror(file) || size == sizeof(bytes);
    (void)fclose(file); /* Opened for reading: nothing can be lost. */
    if (failed) {
        (void)fprintf(stderr, "replay: cannot read '%s', or it is too long\n", path);
        return 1;
    }
    return replay_bytes(bytes, size);
}

static int replay_folder(const char *folder)
{
    struct dirent **entries = NULL;
    char path[PATH_BYTES_MAX];
    int failures = 0;

    const int count = scandir(folder, &entries, is_visible, alphasort);
    if (count <= 0) {
        (void)fprintf(stderr, "replay: no inputs in '%s'\n", folder);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        (void)fprintf(stderr, "replay: %s\n", path); /* Said before a crash, not after. */
        failures += replay_file(path);
        free(entries[i]);
    }
    free(entries);
    printf("replay: %d inputs of %s\n", count, folder);
    return failures;
}

int main(int argc, char **argv)
{
    int failures = argc > 1 ? 0 : 1;

    for (int i = 1; i < argc; i++) {
        failures += replay_folder(argv[i]);
    }
    return failures > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
