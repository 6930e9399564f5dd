/*
 * arguments.h - options of a command as a table: parsed by it, and explained from it.
 *
 * A row names an option and where its value goes in the command's struct of values,
 * which holds the defaults before. "--name value", "--name=value" and, for what is not
 * an option, operands in any order; "--" ends the options.
 */
#ifndef CONSOLE_ARGUMENTS_H
#define CONSOLE_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <weft/status.h>

enum { ARGUMENT_LIST_MAX = 64 };

/* What an option takes, and the type of its value. */
enum argument_kind {
    ARGUMENT_FLAG,  /* Nothing; bool. */
    ARGUMENT_TEXT,  /* const char *. */
    ARGUMENT_COUNT, /* A whole number; struct argument_count. */
    ARGUMENT_LIST,  /* A text each time it is given; struct argument_list. */
};

struct argument_count {
    bool given;
    uint64_t value;
};

struct argument_list {
    uint32_t count;
    const char *items[ARGUMENT_LIST_MAX];
};

struct argument {
    const char *name;    /* With its dashes. */
    const char *metavar; /* What it takes, as help shows it. NULL for a flag. */
    const char *help;
    enum argument_kind kind;
    size_t offset; /* Of its value: offsetof(struct values, field). */
};

struct arguments {
    const char *operand; /* What an operand is, as usage shows it. NULL: there are none. */
    uint32_t operand_min;
    uint32_t operand_max;        /* UINT32_MAX: any number. */
    const struct argument *rows; /* Ends with a NULL name. NULL: no options. */
};

/* What was given beside options. */
struct operands {
    uint32_t count;
    char **items; /* Borrowed from argv. */
    bool help;    /* "--help" or "-h" was there; nothing else was checked then. */
};

/*
 * Read @argv, which starts after the name of the command and ends with NULL, into
 * @values. Operands are moved to its front. Texts are borrowed.
 *
 * Errors: WEFT_INVALID; @error says which argument is wrong and, if it can, what was meant.
 */
enum weft_status arguments_parse(
    const struct arguments *arguments, char **argv, void *values, struct operands *operands_out,
    struct weft_error *error);

/* One line an option, as --help shows them. */
void arguments_print(const struct arguments *arguments, FILE *file);

#endif /* CONSOLE_ARGUMENTS_H */
