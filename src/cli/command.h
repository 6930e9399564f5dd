/*
 * command.h - the commands of weft, as a table.
 *
 * A command is one file with one row. To add one: write <command>.c and name it in COMMAND_LIST.
 * Exit codes are those of every command.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "console/arguments.h"

enum command_exit {
    COMMAND_OK = 0,
    COMMAND_FAILED = 1, /* The run, or its output, failed. */
    COMMAND_WRONG = 2,  /* Bad usage, or a bad document. */
};

struct command {
    const char *name;
    const char *summary;     /* One line for `weft --help`. */
    const char *usage;       /* What follows the name of the command. */
    const char *description; /* Paragraphs under the options. NULL: none. */
    struct arguments arguments;
    size_t values_bytes;  /* Of the struct that its options fill. */
    const void *defaults; /* What that holds before. NULL: zeros. */

    /* @values as the options say, and at most as many operands as allowed. Returns an exit code. */
    int (*run)(const struct command *command, void *values, const struct operands *operands);
};

/* In the order in which help lists them. */
#define COMMAND_LIST(X)                                                                            \
    X(bench)                                                                                       \
    X(check)                                                                                       \
    X(cluster)                                                                                     \
    X(compare)                                                                                     \
    X(drain)                                                                                       \
    X(explain)                                                                                     \
    X(export)                                                                                      \
    X(generate)                                                                                    \
    X(infer)                                                                                       \
    X(merge)                                                                                       \
    X(policies)                                                                                    \
    X(profile)                                                                                     \
    X(serve)                                                                                       \
    X(sim)                                                                                         \
    X(solve)

#define X(name) extern const struct command command_##name;
COMMAND_LIST(X)
#undef X

/* The whole program, apart from main itself. */
int command_main(char **argv);

/* How this program was called, as it was typed. */
const char *command_program(void);

/* Print @text, which comes from elsewhere, without control characters: as one line. */
void command_print_text(FILE *stream, const char *text);

/*
 * Say what is wrong on stderr, "weft sim: cause". Returns @exit_code, or COMMAND_FAILED if memory
 * has run out: then nothing is known to be wrong with what was given.
 */
int command_fail(const struct command *command, const struct weft_error *error, int exit_code);

/* Whether all that was printed has left. Otherwise says so; the exit code is COMMAND_FAILED. */
int command_flush(const struct command *command);

#endif /* CLI_COMMAND_H */
