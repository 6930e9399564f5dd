/*
 * frame.h - one picture on a terminal, line by line, cut at its edges.
 *
 * Lines that are too long are cut, lines past the last row are not drawn: either would push
 * everything else away. A line that was cut ends in a sign. Colours take no room, and are left out
 * where they are not wanted.
 */
#ifndef CONSOLE_FRAME_H
#define CONSOLE_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/text.h"

enum { FRAME_BYTES = 64 * 1024 };

enum frame_style { FRAME_PLAIN, FRAME_BOLD, FRAME_DIM, FRAME_YELLOW, FRAME_RED };

struct frame {
    char bytes[FRAME_BYTES];
    struct text text;
    uint32_t columns;
    uint32_t rows;
    uint32_t row; /* Where the next piece goes. */
    uint32_t column;
    size_t last; /* Where the character in the last column begins, in bytes. */
    bool is_cut; /* Something did not fit into this line. */
    bool is_coloured;
    bool is_ascii; /* The sign is ">", not "…". */
};

/* An empty picture as large as the terminal of @file. @clears: with nothing left of the last. */
void frame_begin(struct frame *frame, FILE *file, bool is_coloured, bool clears);

/* As much of the text as fits into the line. */
ATTR_PRINTF(2, 3)
void frame_put(struct frame *frame, const char *format, ...);

/* Pieces of this line are cut at @columns from now on; what was cut before has its sign there. */
void frame_limit(struct frame *frame, uint32_t columns);

/* Spaces up to @column. */
void frame_indent(struct frame *frame, uint32_t column);

/* How the next pieces look, to the end of the line. */
void frame_style(struct frame *frame, enum frame_style style);

/* End the line. */
void frame_line(struct frame *frame);

/* How many lines there is room for. */
uint32_t frame_room(const struct frame *frame);

/* Write the picture to @file. */
void frame_end(struct frame *frame, FILE *file);

#endif /* CONSOLE_FRAME_H */
