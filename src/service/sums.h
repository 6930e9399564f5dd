/*
 * sums.h - whether the files of a folder are those that were written: `sha256`, as sha256sum
 * writes it.
 */
#ifndef SERVICE_SUMS_H
#define SERVICE_SUMS_H

#include <weft/status.h>

#define SUMS_FILE "sha256"

enum { SUMS_DIGITS = 64 };

/* The sum of the file at @path, in digits. Errors: WEFT_IO. */
enum weft_status sums_file(
    const char *path, char digits_out[static SUMS_DIGITS + 1], struct weft_error *error);

/*
 * Compare each file that FOLDER/sha256 lists with its sum. In @cache, a folder, is noted what was
 * right: a file is not read again before it changes. NULL: nothing is noted.
 *
 * Errors: WEFT_IO if a file cannot be read; WEFT_INVALID if one differs, or the list makes no
 * sense.
 */
enum weft_status sums_check(const char *folder, const char *cache, struct weft_error *error);

#endif /* SERVICE_SUMS_H */
