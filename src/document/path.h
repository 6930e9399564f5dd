/* path.h - where the file is that a document names. */
#ifndef DOCUMENT_PATH_H
#define DOCUMENT_PATH_H

#include <stdbool.h>

enum { DOCUMENT_PATH_BYTES_MAX = 4096 };

/*
 * @named as it stands in the document @file: relative to that file's folder, unless it
 * is absolute or @file is NULL. False if the path is too long for @out.
 */
bool path_beside(char out[DOCUMENT_PATH_BYTES_MAX], const char *file, const char *named);

#endif /* DOCUMENT_PATH_H */
