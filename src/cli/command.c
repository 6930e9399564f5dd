#include "cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "cli/manual.h"
#include "console/style.h"

static const struct command *const commands[] = {
#define X(name) &command_##name,
    COMMAND_LIST(X)
#undef X
        NULL,
};

static const struct command *find(const char *name)
{
    for (uint32_t i = 0; commands[i] != NULL; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static void print_overview(FILE *file)
{
    (void)fputs(
        "usage: weft COMMAND [arguments]\n"
        "\n"
        "Schedules and serves workflows of ML models.\n"
        "\n"
        "commands:\n",
        file);
    for (uint32_t i = 0; commands[i] != NULL; i++) {
        (void)fprintf(file, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    }
    (void)fputs(
        "\n"
        "  weft COMMAND --help, or weft help COMMAND, explains a command.\n"
        "  weft --version prints the version.\n"
        "  weft help --man prints a manual page, weft help --bash completion for bash.\n"
        "\n"
        "exit codes: 0 ok; 1 the run failed; 2 bad usage or document\n",
        file);
}

static void print_help(const struct command *command)
{
    (void)printf(
        "usage: weft %s %s\n\n%s\n\noptions:\n", command->name, command->usage, command->summary);
    arguments_print(&command->arguments, stdout);
    if (command->description != NULL) {
        (void)fputc('\n', stdout);
        for (const char *at = command->description; *at != '\0';) {
            const size_t length = strcspn(at, "\n");
            style_print_line(stdout, at, length, /* indent */ 0, /* is_indented */ true);
            at += length + (at[length] == '\n' ? 1 : 0);
        }
    }
    (void)fputs("\nexit codes: 0 ok; 1 the run failed; 2 bad usage or document\n", stdout);
}

void command_print_text(FILE *stream, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        (void)fputc((unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at, stream);
    }
}

int command_fail(const struct command *command, const struct weft_error *error, int exit_code)
{
    /* Names in it may be a server's, or a file's: what they hold must not reach a terminal. */
    (void)fprintf(stderr, "weft %s: ", command->name);
    command_print_text(stderr, error->message);
    (void)fputc('\n', stderr);
    return error->status == WEFT_NO_MEMORY ? COMMAND_FAILED : exit_code;
}

int command_flush(const struct command *command)
{
    const bool failed_before = ferror(stdout) != 0;
    if (fflush(stdout) == 0 && !failed_before) {
        return COMMAND_OK;
    }
    (void)fprintf(stderr, "weft %s: standard output: %s\n", command->name, strerror(errno));
    return COMMAND_FAILED;
}

/* @argv starts after the name of @command. */
static int parse_and_run(const struct command *command, char **argv)
{
    void *values = command->values_bytes == 0 ? NULL : memory_zeroed(1, command->values_bytes);
    struct operands operands;
    struct weft_error error = {0};
    int exit_code = COMMAND_OK;
    if (values != NULL && command->defaults != NULL) {
        memcpy(values, command->defaults, command->values_bytes);
    }
    if (arguments_parse(&command->arguments, argv, values, &operands, &error) != WEFT_OK) {
        exit_code = command_fail(command, &error, COMMAND_WRONG);
    } else if (operands.help) {
        print_help(command);
        exit_code = command_flush(command);
    } else {
        exit_code = command->run(command, values, &operands);
    }
    free(values);
    return exit_code;
}

static int unknown_command(const char *name)
{
    struct suggestion suggestion = suggest_for(name);
    for (uint32_t i = 0; commands[i] != NULL; i++) {
        suggest_consider(&suggestion, commands[i]->name);
    }
    if (suggestion.name == NULL) {
        (void)fprintf(stderr, "weft: unknown command '%s'; see 'weft --help'\n", name);
    } else {
        (void)fprintf(
            stderr, "weft: unknown command '%s'; did you mean '%s'?\n", name, suggestion.name);
    }
    return COMMAND_WRONG;
}

static int unknown_option(const char *name)
{
    struct suggestion suggestion = suggest_for(name);
    suggest_consider(&suggestion, "--help");
    suggest_consider(&suggestion, "--version");
    (void)fprintf(
        stderr, "weft: unknown option '%s'; did you mean '%s'?\n", name,
        suggestion.name == NULL ? "--help" : suggestion.name);
    return COMMAND_WRONG;
}

static int help(const char *name)
{
    if (name == NULL) {
        print_overview(stdout);
        return COMMAND_OK;
    }
    const struct command *command = find(name);
    if (strcmp(name, "--man") == 0) {
        manual_print_page(commands);
    } else if (strcmp(name, "--bash") == 0) {
        manual_print_bash(commands);
    } else if (command == NULL) {
        return unknown_command(name);
    } else {
        print_help(command);
    }
    return command_flush(command == NULL ? commands[0] : command);
}

static const char *program = "weft";

const char *command_program(void)
{
    return program;
}

int command_main(char **argv)
{
    program = argv[0] == NULL ? program : argv[0];
    const char *name = argv[0] == NULL ? NULL : argv[1];
    json_set_alloc_funcs(memory_block, free); /* Without memory it writes anywhere. */
    if (name == NULL) {
        print_overview(stderr);
        return COMMAND_WRONG;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 || strcmp(name, "version") == 0) {
        (void)puts("weft " WEFT_VERSION);
        return COMMAND_OK;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        return help(argv[2]);
    }
    if (name[0] == '-') {
        return unknown_option(name);
    }
    const struct command *command = find(name);
    return command == NULL ? unknown_command(name) : parse_and_run(command, argv + 2);
}
