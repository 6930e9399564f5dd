#include "console/style.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool style_is_on(FILE *file)
{
    const char *off = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    const int descriptor = fileno(file);
    return (off == NULL || off[0] == '\0') && terminal != NULL && terminal[0] != '\0' &&
           strcmp(terminal, "dumb") != 0 && descriptor >= 0 && isatty(descriptor) == 1;
}

const char *style_begin(enum style style)
{
    static const char *const codes[] = {
        [STYLE_PLAIN] = "",       [STYLE_BOLD] = "\x1b[1m",   [STYLE_GOOD] = "\x1b[32m",
        [STYLE_BAD] = "\x1b[31m", [STYLE_FAINT] = "\x1b[90m",
    };
    return codes[style];
}

const char *style_end(enum style style)
{
    return style == STYLE_PLAIN ? "" : "\x1b[0m";
}
