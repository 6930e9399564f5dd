#include "console/whole_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"

static enum weft_status fail(const char *path, int cause, struct weft_error *error)
{
    return error_set(error, WEFT_IO, "%s: %s", path, strerror(cause));
}

static char *joined(const char *left, const char *right)
{
    const size_t bytes = strlen(left) + strlen(right) + 1;
    char *text = memory_zeroed(bytes, 1);
    (void)snprintf(text, bytes, "%s%s", left, right);
    return text;
}

static void release(struct whole_file *whole)
{
    free(whole->path);
    free(whole->temporary);
    *whole = (struct whole_file){0};
}

/* As open() would have made it: mkstemp() keeps others out. */
static void use_default_mode(int descriptor)
{
    const mode_t mask = umask(0);
    (void)umask(mask);
    (void)fchmod(descriptor, 0666 & ~mask); /* Some file systems have no modes. */
}

static enum weft_status open_beside(struct whole_file *whole, struct weft_error *error)
{
    whole->temporary = joined(whole->path, ".XXXXXX");
    const int descriptor = mkstemp(whole->temporary);
    if (descriptor < 0) {
        return fail(whole->path, errno, error);
    }
    use_default_mode(descriptor);
    whole->stream = fdopen(descriptor, "w");
    if (whole->stream == NULL) {
        const int cause = errno;
        (void)close(descriptor);
        (void)unlink(whole->temporary);
        return fail(whole->path, cause, error);
    }
    return WEFT_OK;
}

static enum weft_status open_directly(struct whole_file *whole, struct weft_error *error)
{
    whole->stream = fopen(whole->path, "w");
    return whole->stream == NULL ? fail(whole->path, errno, error) : WEFT_OK;
}

enum weft_status whole_file_open(
    struct whole_file *whole, const char *path, struct weft_error *error)
{
    if (strcmp(path, "-") == 0) {
        *whole = (struct whole_file){.stream = stdout};
        return WEFT_OK;
    }
    struct whole_file opened = {0};
    struct stat what;
    bool is_plain = true;
    if (stat(path, &what) == 0) {
        is_plain = S_ISREG(what.st_mode);
        opened.path = realpath(path, NULL); /* The file itself, not a link to it. */
    }
    if (opened.path == NULL) {
        opened.path = joined(path, "");
    }
    const enum weft_status status =
        is_plain ? open_beside(&opened, error) : open_directly(&opened, error);
    if (status != WEFT_OK) {
        release(&opened);
        return status;
    }
    *whole = opened;
    return WEFT_OK;
}

void whole_file_write(struct whole_file *whole, const void *bytes, size_t count)
{
    ASSERT(whole->stream != NULL);
    errno = 0;
    if (fwrite(bytes, 1, count, whole->stream) < count && whole->cause == 0) {
        whole->cause = errno;
    }
}

enum weft_status whole_file_commit(struct whole_file *whole, struct weft_error *error)
{
    ASSERT(whole->stream != NULL);
    FILE *file = whole->stream;
    const char *path = whole->path == NULL ? "standard output" : whole->path;
    errno = 0;
    bool failed = ferror(file) != 0;
    failed = (file == stdout ? fflush(file) : fclose(file)) != 0 || failed;
    int cause = whole->cause != 0 ? whole->cause : errno;
    cause = failed && cause == 0 ? EIO : cause;
    if (!failed && whole->temporary != NULL) {
        failed = rename(whole->temporary, whole->path) != 0;
        cause = errno;
    }
    enum weft_status status = WEFT_OK;
    if (failed) {
        status = fail(path, cause, error);
        if (whole->temporary != NULL) {
            (void)unlink(whole->temporary);
        }
    }
    release(whole);
    return status;
}

void whole_file_discard(struct whole_file *whole)
{
    if (whole->stream != NULL && whole->stream != stdout) {
        (void)fclose(whole->stream); /* What could not be written is not wanted. */
    }
    if (whole->temporary != NULL) {
        (void)unlink(whole->temporary);
    }
    release(whole);
}
