/*
 * cache_trim.h - a folder of models in the mapped format that does not grow for ever.
 */
#ifndef ONNX_CACHE_TRIM_H
#define ONNX_CACHE_TRIM_H

#include <stdint.h>

enum { ONNX_CACHE_UNUSED_S = 3600 }; /* What was used since is not removed. */

#define ONNX_CACHE_BYTES_MAX (UINT64_C(4) << 30)

/* The file at @path is used now. */
void onnx_cache_touch(const char *path);

/*
 * Remove models of @folder, with all that lies beside them, until they have @bytes_max at most:
 * those unused for longest first, and none that was used in the last @unused_s seconds. A file that
 * is mapped stays mapped. What cannot be removed stays.
 */
void onnx_cache_trim(const char *folder, uint64_t bytes_max, int64_t unused_s);

#endif /* ONNX_CACHE_TRIM_H */
