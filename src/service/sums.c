#include "service/sums.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

#define SUMS_FILE "sha256"

enum {
    SUM_BYTES = 32,
    PATH_BYTES = 4096,
    LINE_BYTES = SUMS_DIGITS + 2 + PATH_BYTES,
    BLOCK_BYTES = 1 << 20,
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
    for (uint32_t i = 0; i < SUM_BYTES; i++) {
        (void)snprintf(digits_out + 2 * (size_t)i, 3, "%02x", sum[i]);
    }
    return WEFT_OK;
}

/* "SUM  NAME"; names stay below @folder. */
static enum weft_status check_line(const char *folder, char *line, struct weft_error *error)
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
    const enum weft_status status = sums_file(path, sum, error);
    if (status == WEFT_OK && strncmp(line, sum, SUMS_DIGITS) != 0) {
        return error_set(
            error, WEFT_INVALID, "%s: its contents differ from what was exported", path);
    }
    return status;
}

enum weft_status sums_check(const char *folder, struct weft_error *error)
{
    char path[PATH_BYTES];
    char *line = memory_zeroed(LINE_BYTES, 1);
    enum weft_status status = WEFT_OK;
    const bool fits = snprintf(path, sizeof(path), "%s/" SUMS_FILE, folder) < (int)sizeof(path);
    FILE *file = fits ? fopen(path, "re") : NULL;
    if (file == NULL) {
        free(line);
        return error_set(error, WEFT_IO, "%s/" SUMS_FILE ": %s", folder, strerror(errno));
    }
    while (status == WEFT_OK && fgets(line, LINE_BYTES, file) != NULL) {
        status = check_line(folder, line, error);
    }
    (void)fclose(file); /* It was only read. */
    free(line);
    return status;
}
