#include "document/path.h"

#include <stdio.h>
#include <string.h>

bool path_beside(char out[DOCUMENT_PATH_BYTES_MAX], const char *file, const char *named)
{
    const char *slash = file == NULL || named[0] == '/' ? NULL : strrchr(file, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - file) + 1;
    const int length =
        snprintf(out, DOCUMENT_PATH_BYTES_MAX, "%.*s%s", folder, folder == 0 ? "" : file, named);

    return length >= 0 && length < DOCUMENT_PATH_BYTES_MAX;
}
