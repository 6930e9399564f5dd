/* check.c - `weft check`: whether documents are good, without running them. */
#include "document/check.h"

#include <string.h>

#include "base/error.h"
#include "cli/check_repository.h"
#include "cli/check_scenario.h"
#include "cli/command.h"
#include "document/repository.h"
#include "document/scenario.h"

static void on_error(void *context, const struct weft_error *error)
{
    (void)context;
    command_print_text(stderr, error->message);
    (void)fputc('\n', stderr);
}

static bool is_model(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && strcmp(dot, ".onnx") == 0;
}

/* The exit code of one that is no repository. */
static int check_document(const char *path)
{
    if (is_model(path)) {
        struct weft_error error = {0};
        (void)error_set(
            &error, WEFT_INVALID,
            "%s: a model; check the repository that it is in, which is a folder", path);
        on_error(NULL, &error);
        return COMMAND_WRONG;
    }
    struct tree_listener listener = {.on_error = on_error};
    enum document_kind kind = DOCUMENT_SCENARIO;
    struct scenario *scenario = NULL;
    const enum weft_status status =
        document_check_scenario(path, &listener, &kind, &scenario, NULL);
    if (status == WEFT_OK) {
        (void)printf("%s: %s ok\n", path, document_kind_text(kind));
        if (scenario != NULL) {
            check_scenario_print(scenario);
        }
        scenario_destroy(scenario);
        return COMMAND_OK;
    }
    scenario_destroy(scenario);
    if (listener.count >= TREE_ERRORS_MAX) {
        (void)fprintf(stderr, "%s: there may be more errors\n", path);
    }
    return status == WEFT_NO_MEMORY ? COMMAND_FAILED : COMMAND_WRONG;
}

static int run(const struct command *command, void *given, const struct operands *files)
{
    (void)given;
    int exit_code = COMMAND_OK;
    for (uint32_t i = 0; i < files->count; i++) {
        const int checked = repository_is_folder(files->items[i])
                                ? (check_repository(files->items[i]) ? COMMAND_OK : COMMAND_WRONG)
                                : check_document(files->items[i]);
        exit_code = checked == COMMAND_OK ? exit_code : checked;
    }
    const int flushed = command_flush(command);
    return exit_code == COMMAND_OK ? flushed : exit_code;
}

const struct command command_check = {
    .name = "check",
    .summary = "check documents of all kinds, traces of requests and repositories",
    .usage = "FILE...",
    .description =
        "Prints what each file is and that it is ok, or its errors, each in one line with file\n"
        "and line. All files are checked, with the files they name. For a scenario, prints the\n"
        "items and run time of each task, and how many workers its requests keep busy. A file\n"
        "whose name ends in .csv is a trace of requests.\n"
        "\n"
        "For a repository, which is a folder, prints what it holds and what is ignored. Models\n"
        "are loaded and functions looked for, and workflows are compared with what their models\n"
        "take and give: a repository that is ok answers its first request.\n",
    .arguments = {.operand = "FILE", .operand_min = 1, .operand_max = UINT32_MAX},
    .run = run,
};
