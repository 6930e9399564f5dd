/* dtype.h - types of the elements of tensors: their widths, and what they are called. */
#ifndef MODEL_DTYPE_H
#define MODEL_DTYPE_H

#include <weft/tensor.h>

enum { DTYPE_SHAPE_BYTES = 72 };

/* The bytes of one element; 0 for texts, which have lengths of their own. */
uint32_t dtype_bytes(enum weft_dtype dtype);

/* As the Open Inference Protocol writes it, and back; WEFT_DTYPES if it is not a type. */
const char *dtype_name(enum weft_dtype dtype);
enum weft_dtype dtype_parse(const char *name);

/* "FP32 [?,3,48,320]". Returns @out. */
char *dtype_shape_text(
    char out[static DTYPE_SHAPE_BYTES], enum weft_dtype dtype, uint32_t rank, const int64_t *shape);

#endif /* MODEL_DTYPE_H */
