/*
 * row.h - a worker's row as bytes.
 *
 * Only the parts that a row carries are written, and never at_ns: the clock of the
 * sender is of no use to the receiver, which fills in its own.
 */
#ifndef WIRE_ROW_H
#define WIRE_ROW_H

#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

#include "view/row.h"

enum { ROW_BYTES_MAX = 144 };

/*
 * Write @row to @bytes. Returns how many were written: 0 if @bytes_max, which is enough
 * if it is ROW_BYTES_MAX, is not.
 */
size_t row_encode(const struct row *row, uint8_t *bytes, size_t bytes_max);

/*
 * Read a row. Its times at_ns, and the part that it does not carry, are 0.
 *
 * Errors: WEFT_INVALID for anything that row_encode() cannot have written.
 */
enum weft_status row_decode(const uint8_t *bytes, size_t bytes_count, struct row *row_out);

#endif /* WIRE_ROW_H */
