#include "console/arguments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "console/style.h"

enum { HELP_COLUMN = 24 };

/* The value after "=" of an argument, or NULL. */
static const char *joined_value(const char *argument)
{
    const char *at = strchr(argument, '=');
    return at == NULL ? NULL : at + 1;
}

static size_t name_length(const char *argument)
{
    return strcspn(argument, "=");
}

static const struct argument *find(const struct arguments *arguments, const char *argument)
{
    const size_t length = name_length(argument);
    for (const struct argument *row = arguments->rows; row != NULL && row->name != NULL; row++) {
        if (strlen(row->name) == length && strncmp(row->name, argument, length) == 0) {
            return row;
        }
    }
    return NULL;
}

static enum weft_status unknown(
    const struct arguments *arguments, const char *argument, struct weft_error *error)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%.*s", (int)name_length(argument), argument);
    struct suggestion suggestion = suggest_for(name);
    suggest_consider(&suggestion, "--help");
    for (const struct argument *row = arguments->rows; row != NULL && row->name != NULL; row++) {
        suggest_consider(&suggestion, row->name);
    }
    if (suggestion.name == NULL) {
        return error_set(error, WEFT_INVALID, "unknown option '%s'", name);
    }
    return error_set(
        error, WEFT_INVALID, "unknown option '%s'; did you mean '%s'?", name, suggestion.name);
}

/* A whole number and nothing else. False if @text is none. */
static bool read_count(const char *text, uint64_t *value_out)
{
    if (text[0] < '0' || text[0] > '9') {
        return false; /* strtoull takes spaces and signs. */
    }
    char *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0') {
        return false;
    }
    *value_out = value;
    return true;
}

static enum weft_status store(
    const struct argument *row, const char *text, void *values, struct weft_error *error)
{
    void *field = (char *)values + row->offset;
    switch (row->kind) {
    case ARGUMENT_FLAG: {
        bool *flag = field;
        *flag = true;
        break;
    }
    case ARGUMENT_TEXT: {
        const char **value = field;
        *value = text;
        break;
    }
    case ARGUMENT_COUNT: {
        struct argument_count *count = field;
        if (!read_count(text, &count->value)) {
            const bool is_whole = text[strspn(text, "0123456789")] == '\0' && text[0] != '\0';
            return error_set(
                error, WEFT_INVALID, "'%s' is '%s'; %s", row->name, text,
                is_whole ? "it is too large" : "it must be a whole number");
        }
        count->given = true;
        break;
    }
    case ARGUMENT_LIST: {
        struct argument_list *list = field;
        if (list->count == ARGUMENT_LIST_MAX) {
            return error_set(
                error, WEFT_INVALID, "'%s' is given more than %d times", row->name,
                ARGUMENT_LIST_MAX);
        }
        list->items[list->count] = text;
        list->count++;
        break;
    }
    }
    return WEFT_OK;
}

/* Read the option *@argv and its value; *@argv is left on the last argument used. */
static enum weft_status read_option(
    const struct arguments *arguments, char ***argv, void *values, struct weft_error *error)
{
    const char *argument = **argv;
    const struct argument *row = find(arguments, argument);
    if (row == NULL) {
        return unknown(arguments, argument, error);
    }
    const char *text = joined_value(argument);
    if (row->kind == ARGUMENT_FLAG) {
        if (text != NULL) {
            return error_set(error, WEFT_INVALID, "'%s' takes no value", row->name);
        }
    } else if (text == NULL) {
        text = (*argv)[1];
        if (text == NULL) {
            return error_set(error, WEFT_INVALID, "'%s' needs %s", row->name, row->metavar);
        }
        ++*argv;
    }
    return store(row, text, values, error);
}

static enum weft_status check_operands(
    const struct arguments *arguments, const struct operands *operands, struct weft_error *error)
{
    if (operands->count < arguments->operand_min) {
        return error_set(error, WEFT_INVALID, "no %s given", arguments->operand);
    }
    if (operands->count > arguments->operand_max) {
        return error_set(
            error, WEFT_INVALID, "'%s' is one argument too many",
            operands->items[arguments->operand_max]);
    }
    return WEFT_OK;
}

static bool asks_for_help(char *const *argv)
{
    for (; *argv != NULL && strcmp(*argv, "--") != 0; argv++) {
        if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0) {
            return true;
        }
    }
    return false;
}

enum weft_status arguments_parse(
    const struct arguments *arguments, char **argv, void *values, struct operands *operands_out,
    struct weft_error *error)
{
    struct operands operands = {.items = argv, .help = asks_for_help(argv)};
    bool options_ended = false;
    if (operands.help) {
        *operands_out = operands;
        return WEFT_OK;
    }
    for (; *argv != NULL; argv++) {
        const bool is_option = (*argv)[0] == '-' && (*argv)[1] != '\0';
        if (options_ended || !is_option) {
            operands.items[operands.count] = *argv;
            operands.count++;
        } else if (strcmp(*argv, "--") == 0) {
            options_ended = true;
        } else {
            const enum weft_status status = read_option(arguments, &argv, values, error);
            if (status != WEFT_OK) {
                return status;
            }
        }
    }
    const enum weft_status status = check_operands(arguments, &operands, error);
    if (status == WEFT_OK) {
        *operands_out = operands;
    }
    return status;
}

/* @help may have several lines, each of which is put under the first. */
static void print_row(const char *name, const char *metavar, const char *help, FILE *file)
{
    int width =
        fprintf(file, "  %s%s%s", name, metavar == NULL ? "" : " ", metavar == NULL ? "" : metavar);
    if (width >= HELP_COLUMN) {
        (void)fputc('\n', file);
        width = 0;
    }
    while (*help != '\0') {
        const size_t length = strcspn(help, "\n");
        (void)fprintf(file, "%*s", HELP_COLUMN - width, "");
        style_print_line(file, help, length, HELP_COLUMN, /* is_indented */ true);
        help += length + (help[length] == '\n' ? 1 : 0);
        width = 0;
    }
}

void arguments_print(const struct arguments *arguments, FILE *file)
{
    for (const struct argument *row = arguments->rows; row != NULL && row->name != NULL; row++) {
        print_row(row->name, row->metavar, row->help, file);
    }
    print_row("-h, --help", NULL, "print this text", file);
}
