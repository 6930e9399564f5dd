/*
 * image.h - weights as the library has packed them for its kernels, in a file.
 *
 * Packing makes matrix products of a few rows two to three times as fast, and takes longer than
 * all else that a load does. The library cannot keep what it has packed. So a load packs into one
 * range of memory, which then becomes a mapping of a file with the same contents: the pages are
 * shared with other processes, can leave memory, and come back without being packed again.
 */
#ifndef ONNX_IMAGE_H
#define ONNX_IMAGE_H

#include <stdbool.h>

#include "onnx/ort_memory.h"

struct onnx_image {
    struct ort_image memory;
    bool is_kept; /* It is a mapping of a file. */
};

/* Reserve room for @bytes, none of which is used yet. Without memory there is no room. */
void onnx_image_reserve(struct onnx_image *image, uint64_t bytes);

/*
 * Nothing more will be laid into @image: give back what it did not use, and let the rest be the
 * contents of the file at @path, which is written unless it has these contents. Where that is not
 * possible the image stays as it is.
 */
void onnx_image_keep(struct onnx_image *image, const char *path);

/* Give all of it back. */
void onnx_image_release(struct onnx_image *image);

/*
 * Map the first @bytes of @file, to be read; in huge pages where the system has any. The caller
 * unmaps them. NULL if they cannot be mapped.
 */
void *onnx_pages_map(int file, uint64_t bytes);

/* The pages of a mapped file that lie from @start on: let them leave memory, or bring all in. */
void onnx_pages_drop(void *start, uint64_t bytes);
void onnx_pages_bring(void *start, uint64_t bytes);

#endif /* ONNX_IMAGE_H */
