/*
 * style.h - text as a person sees it on a terminal: how wide that is; and bold or coloured, unless
 * NO_COLOR is set or TERM says that it cannot.
 */
#ifndef CONSOLE_STYLE_H
#define CONSOLE_STYLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum style {
    STYLE_PLAIN,
    STYLE_BOLD,  /* Heads. */
    STYLE_GOOD,  /* Better than what it is compared with. */
    STYLE_BAD,   /* Worse. */
    STYLE_FAINT, /* Not to be relied on. */
};

/* Whether text in @file may be styled. */
bool style_is_on(FILE *file);

/* What begins text of @style, and what ends it. Both are "" for plain text. */
const char *style_begin(enum style style);
const char *style_end(enum style style);

/* How many columns the terminal behind @file has; UINT32_MAX if it is not one. */
uint32_t style_columns(FILE *file);

/*
 * Print the @length bytes of @line and an end of line, after @indent spaces unless the cursor is
 * there already. What does not fit the terminal goes on below, between words.
 */
void style_print_line(
    FILE *file, const char *line, size_t length, uint32_t indent, bool is_indented);

#endif /* CONSOLE_STYLE_H */
