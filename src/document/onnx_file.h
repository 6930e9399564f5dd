/*
 * onnx_file.h - whether a file can be an ONNX model at all, without a library that runs it.
 *
 * Walks over the outermost message and reads none of its fields, so that gigabytes take as long
 * as kilobytes. An empty file, a file of something else and one that was cut short are found; what
 * is wrong inside the graph is not.
 */
#ifndef DOCUMENT_ONNX_FILE_H
#define DOCUMENT_ONNX_FILE_H

#include <weft/status.h>

/*
 * Look at the file at @path.
 *
 * Errors: WEFT_IO if it cannot be read; WEFT_INVALID, with "path: cause", if it is no model.
 */
enum weft_status onnx_file_check(const char *path, struct weft_error *error);

#endif /* DOCUMENT_ONNX_FILE_H */
