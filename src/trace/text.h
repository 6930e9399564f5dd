/*
 * text.h - a trace record as a line for people, and as one for programs.
 *
 *     [   12.500 ms] n0 placed job 0.1 ocr/detect on w3 (planned)
 */
#ifndef TRACE_TEXT_H
#define TRACE_TEXT_H

#include <stddef.h>

#include "model/catalogue.h"
#include "node/record.h"

enum { TRACE_LINE_BYTES_MAX = 512 };

/* Write @record without a newline. Returns the length. @catalogue gives the names. */
size_t trace_text(
    const struct record *record, const struct catalogue *catalogue, char *line, size_t line_bytes);

/* The same as one JSON object. */
size_t trace_json(
    const struct record *record, const struct catalogue *catalogue, char *line, size_t line_bytes);

/* The names of kinds and reasons, as in record.h. */
const char *record_kind_name(uint32_t kind);
const char *reason_name(uint32_t reason);

#endif /* TRACE_TEXT_H */
