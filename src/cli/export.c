/* export.c - `weft export`: the tool that makes models for GPUs, which comes with the program. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shipped.h"
#include "cli/command.h"

#define TOOL "weft_export.py"

struct values {
    const char *python;
};

static int run(const struct command *command, void *given, const struct operands *operands)
{
    const struct values *values = given;
    struct weft_error error;
    char path[SHIPPED_PATH_BYTES];
    if (!shipped_find(TOOL, path)) {
        (void)error_set(&error, WEFT_NOT_FOUND, "there is no " TOOL " beside this program");
        return command_fail(command, &error, COMMAND_FAILED);
    }
    char **argv = memory_zeroed(operands->count + 3, sizeof(*argv));
    const size_t length = strlen(values->python);
    argv[0] = memory_zeroed(length + 1, 1); /* By this name it finds its libraries. */
    memcpy(argv[0], values->python, length);
    argv[1] = path;
    for (uint32_t i = 0; i < operands->count; i++) {
        argv[i + 2] = operands->items[i];
    }
    (void)execvp(argv[0], argv); /* It returns only if that fails. */
    (void)error_set(&error, WEFT_IO, "%s: %s", values->python, strerror(errno));
    return command_fail(command, &error, COMMAND_FAILED);
}

static const struct argument rows[] = {
    {"--python", "PROGRAM", "the Python that has PyTorch; default python3", ARGUMENT_TEXT,
     offsetof(struct values, python)},
    {.name = NULL},
};

const struct command command_export = {
    .name = "export",
    .summary = "make a model for GPUs of a PyTorch module or an ONNX file",
    .usage = "MODULE:FUNCTION|FILE.onnx FOLDER [ROWS...] [INPUT=E1xE2...] [options]",
    .description =
        "FOLDER is MODEL/VERSION/model.cuda in a repository. FUNCTION returns a module and a\n"
        "function from a number of rows to its inputs, by name. An ONNX file is read by\n"
        "onnx2torch, and what that makes is compared with ONNX Runtime. ROWS are the batch\n"
        "sizes to compile, 1 4 8 16 if none are given; INPUT=E1xE2... the extents of a row that\n"
        "the file leaves open. Packages run with the version of PyTorch and on the kind of GPU\n"
        "that made them.\n",
    .arguments =
        {.operand = "MODULE:FUNCTION|FILE.onnx FOLDER",
         .operand_min = 2,
         .operand_max = UINT32_MAX,
         .rows = rows},
    .values_bytes = sizeof(struct values),
    .defaults = &(const struct values){.python = "python3"},
    .run = run,
};
