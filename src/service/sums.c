#include "service/sums.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"

#define SEEN_FILE "sums" /* In the cache: lines of struct seen. */
#define FRESH_NS  NS_PER_S

enum {
    SUM_BYTES = 32,
    PATH_BYTES = 4096,
    LINE_BYTES = SUMS_DIGITS + 2 + PATH_BYTES,
    BLOCK_BYTES = 1 << 20,
    SEEN_BYTES = 160,          /* Of a line, at most. */
    SEEN_FILE_BYTES = 1 << 20, /* Then it begins again. */
};

_Static_assert(SUMS_DIGITS == 2 * SUM_BYTES, "two digits for a byte");

enum weft_status sums_file(
    const char *path, char digits_out[static SUMS_DIGITS + 1], struct weft_error *error)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return error_set(error, WEFT_IO, "%s: %s", path, strerror(errno));
    }
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    uint8_t *block = memory_zeroed(BLOCK_BYTES, 1);
    uint8_t sum[SUM_BYTES];
    unsigned bytes = 0;
    size_t count = 1;
    bool is_good = context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
    while (is_good && count > 0) {
        count = fread(block, 1, BLOCK_BYTES, file);
        is_good = EVP_DigestUpdate(context, block, count) == 1;
    }
    is_good = is_good && ferror(file) == 0 && EVP_DigestFinal_ex(context, sum, &bytes) == 1;
    EVP_MD_CTX_free(context);
    free(block);
    (void)fclose(file); /* It was only read. */
    if (!is_good || bytes != SUM_BYTES) {
        return error_set(error, WEFT_IO, "%s: cannot be read", path);
    }
    text_hex(digits_out, sum, SUM_BYTES);
    return WEFT_OK;
}

/*
 * What is noted of a file with the sum @digits: what changes if its contents do. False if it cannot
 * be noted: it was changed just now, and could be once more without a trace.
 */
static bool describe(const char *path, const char *digits, char line_out[SEEN_BYTES])
{
    struct stat about;
    struct timespec now;
    if (stat(path, &about) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return false;
    }
    const int64_t changed_ns = about.st_ctim.tv_sec * NS_PER_S + about.st_ctim.tv_nsec;
    const int64_t now_ns = now.tv_sec * NS_PER_S + now.tv_nsec;
    (void)snprintf(
        line_out, SEEN_BYTES, "%.*s %" PRIuMAX " %" PRIuMAX " %" PRIdMAX " %" PRId64 "\n",
        SUMS_DIGITS, digits, (uintmax_t)about.st_dev, (uintmax_t)about.st_ino,
        (intmax_t)about.st_size, changed_ns);
    return now_ns - changed_ns > FRESH_NS;
}

/* Whether @line is noted in the file at @path. */
static bool is_seen(const char *path, const char *line)
{
    char found[SEEN_BYTES];
    bool is_there = false;
    FILE *file = fopen(path, "re");
    while (file != NULL && !is_there && fgets(found, sizeof(found), file) != NULL) {
        is_there = strcmp(found, line) == 0;
    }
    if (file != NULL) {
        (void)fclose(file); /* It was only read. */
    }
    return is_there;
}

/* Note @line there. If that cannot be, the file is read again another time. */
static void note(const char *path, const char *line)
{
    struct stat about;
    const bool is_full = stat(path, &about) == 0 && about.st_size > SEEN_FILE_BYTES;
    FILE *file = fopen(path, is_full ? "we" : "ae");
    if (file != NULL) {
        (void)fputs(line, file);
        (void)fclose(file);
    }
}

/* "SUM  NAME"; names stay below @folder. @seen: where is noted what was right, or NULL. */
static enum weft_status check_line(
    const char *folder, char *line, const char *seen, struct weft_error *error)
{
    char path[PATH_BYTES];
    char sum[SUMS_DIGITS + 1];
    const char *name = line + SUMS_DIGITS + 2;
    line[strcspn(line, "\n")] = '\0';
    if (strlen(line) <= SUMS_DIGITS + 2 || line[SUMS_DIGITS] != ' ' || name[0] == '/' ||
        strstr(name, "..") != NULL ||
        snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path)) {
        return error_set(
            error, WEFT_INVALID, "%s/" SUMS_FILE ": cannot read '%.80s'", folder, line);
    }
    char noted[SEEN_BYTES];
    const bool is_notable = seen != NULL && describe(path, line, noted);
    if (is_notable && is_seen(seen, noted)) {
        return WEFT_OK;
    }
    const enum weft_status status = sums_file(path, sum, error);
    if (status == WEFT_OK && strncmp(line, sum, SUMS_DIGITS) != 0) {
        return error_set(
            error, WEFT_INVALID, "%s: its contents differ from what was exported", path);
    }
    if (status == WEFT_OK && is_notable) {
        note(seen, noted);
    }
    return status;
}

enum weft_status sums_check(const char *folder, const char *cache, struct weft_error *error)
{
    char path[PATH_BYTES];
    char seen[PATH_BYTES];
    const bool has_seen =
        cache != NULL && snprintf(seen, sizeof(seen), "%s/" SEEN_FILE, cache) < (int)sizeof(seen);
    if (has_seen) {
        (void)mkdir(cache, 0700); /* It may be there. */
    }
    char *line = memory_zeroed(LINE_BYTES, 1);
    enum weft_status status = WEFT_OK;
    const bool fits = snprintf(path, sizeof(path), "%s/" SUMS_FILE, folder) < (int)sizeof(path);
    FILE *file = fits ? fopen(path, "re") : NULL;
    if (file == NULL) {
        free(line);
        return error_set(error, WEFT_IO, "%s/" SUMS_FILE ": %s", folder, strerror(errno));
    }
    while (status == WEFT_OK && fgets(line, LINE_BYTES, file) != NULL) {
        status = check_line(folder, line, has_seen ? seen : NULL, error);
    }
    (void)fclose(file); /* It was only read. */
    free(line);
    return status;
}
