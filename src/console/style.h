/*
 * style.h - bold and coloured text, where a person sees it: on a terminal, unless NO_COLOR is set
 * or TERM says that it cannot.
 */
#ifndef CONSOLE_STYLE_H
#define CONSOLE_STYLE_H

#include <stdbool.h>
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

#endif /* CONSOLE_STYLE_H */
