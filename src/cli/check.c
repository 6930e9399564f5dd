/* check.c - `weft check`: whether documents are good, without running them. */
#include "document/check.h"

#include "cli/check_repository.h"
#include "cli/command.h"
#include "document/repository.h"

static int run(const struct command *command, void *given, const struct operands *files)
{
    (void)given;
    int exit_code = COMMAND_OK;
    for (uint32_t i = 0; i < files->count; i++) {
        struct weft_error error = {0};
        enum document_kind kind = DOCUMENT_SCENARIO;
        if (repository_is_folder(files->items[i])) {
            exit_code = check_repository(files->items[i]) ? exit_code : COMMAND_WRONG;
        } else if (document_check(files->items[i], &kind, &error) == WEFT_OK) {
            (void)printf("%s: %s ok\n", files->items[i], document_kind_text(kind));
        } else {
            (void)fprintf(stderr, "%s\n", error.message);
            exit_code = error.status == WEFT_NO_MEMORY ? COMMAND_FAILED : COMMAND_WRONG;
        }
    }
    const int flushed = command_flush(command);
    return exit_code == COMMAND_OK ? flushed : exit_code;
}

const struct command command_check = {
    .name = "check",
    .summary = "check scenarios, workflows, profiles, clusters and repositories",
    .usage = "FILE...",
    .description =
        "Prints what each file is and that it is ok, or one line with the file, the line and\n"
        "the error. All files are checked, with the files they name. For a repository, which is\n"
        "a folder, prints what it holds and what is ignored, or what is wrong with each bad\n"
        "file. Models are opened only to find those that are empty, cut short or not models.\n",
    .arguments = {.operand = "FILE", .operand_min = 1, .operand_max = UINT32_MAX},
    .run = run,
};
