#include "console/frame.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

enum { PIECE_BYTES = 512, COLUMNS_DEFAULT = 100, ROWS_DEFAULT = 40 };

static const char *const escapes[] = {
    [FRAME_PLAIN] = "\033[0m",   [FRAME_BOLD] = "\033[1m", [FRAME_DIM] = "\033[2m",
    [FRAME_YELLOW] = "\033[33m", [FRAME_RED] = "\033[31m",
};

static void find_size(struct frame *frame, FILE *file)
{
    struct winsize size;
    frame->columns = COLUMNS_DEFAULT;
    frame->rows = ROWS_DEFAULT;
    if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 1) {
        frame->columns = size.ws_col;
        frame->rows = size.ws_row;
    }
}

void frame_begin(struct frame *frame, FILE *file, bool is_coloured, bool clears)
{
    text_init(&frame->text, frame->bytes, sizeof(frame->bytes));
    frame->row = 0;
    frame->column = 0;
    frame->is_cut = false;
    frame->is_ascii = false;
    frame->is_coloured = is_coloured;
    find_size(frame, file);
    text_add(&frame->text, "%s", clears ? "\033[?25l\033[2J\033[H" : "\033[H");
}

uint32_t frame_room(const struct frame *frame)
{
    /* The last row stays empty: ending a line there would scroll. */
    return frame->row + 1 < frame->rows ? frame->rows - 1 - frame->row : 0;
}

void frame_put(struct frame *frame, const char *format, ...)
{
    char piece[PIECE_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(piece, sizeof(piece), format, args);
    va_end(args);
    for (const char *c = piece; *c != '\0' && frame_room(frame) > 0; c++) {
        const bool begins = ((unsigned char)*c & 0xc0U) != 0x80U; /* A character of UTF-8. */
        if (begins && frame->column == frame->columns) {
            frame->is_cut = frame->is_cut || strspn(c, " ") != strlen(c);
            return;
        }
        if (begins) {
            frame->last = frame->text.length;
        }
        text_add(&frame->text, "%c", *c);
        frame->column += begins ? 1 : 0;
    }
}

/* Put the sign into the place of the last character, if more should have come behind it. */
static void mark_cut(struct frame *frame)
{
    if (frame->is_cut) {
        frame->text.length = frame->last;
        frame_style(frame, FRAME_PLAIN);
        text_add(&frame->text, "%s", frame->is_ascii ? ">" : "…");
        frame->is_cut = false;
    }
}

void frame_limit(struct frame *frame, uint32_t columns)
{
    mark_cut(frame);
    frame->columns = columns;
}

void frame_indent(struct frame *frame, uint32_t column)
{
    while (frame->column < column && frame->column < frame->columns) {
        frame_put(frame, " ");
        if (frame_room(frame) == 0) {
            return;
        }
    }
}

void frame_style(struct frame *frame, enum frame_style style)
{
    if (frame->is_coloured && frame_room(frame) > 0) {
        text_add(&frame->text, "%s", escapes[style]);
    }
}

void frame_line(struct frame *frame)
{
    if (frame_room(frame) == 0) {
        return;
    }
    mark_cut(frame);
    frame_style(frame, FRAME_PLAIN);
    /* In a full line the cursor stays on the last character, which must not be erased. */
    text_add(&frame->text, "%s\n", frame->column < frame->columns ? "\033[K" : "");
    frame->row++;
    frame->column = 0;
}

void frame_end(struct frame *frame, FILE *file)
{
    text_add(&frame->text, "\033[J");
    (void)fwrite(frame->bytes, 1, frame->text.length, file); /* The next one is soon there. */
    (void)fflush(file);
}
