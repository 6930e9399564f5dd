/* drain.c - `weft drain`: let a node finish what it has, and leave its cluster. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/command.h"
#include "directory/directory.h"

enum { LOOK_MS = 500, PATIENCE_SECONDS = 60 };

struct values {
    struct directory_options directory;
    struct argument_count seconds;
};

/* Ask the member called @name to leave, and wait until it has. */
static enum weft_status drain(
    struct directory *directory, const char *name, uint64_t seconds, struct member_list *list,
    struct weft_error *error)
{
    enum weft_status status = directory_list(directory, /* wait_ms */ 0, list, error);
    const struct member *found = status == WEFT_OK ? member_find_title(list, name) : NULL;
    if (status == WEFT_OK && found == NULL) {
        return error_set(error, WEFT_NOT_FOUND, "no member is called '%s'", name);
    }
    if (status != WEFT_OK) {
        return status;
    }
    const uint64_t incarnation = found->incarnation;
    status = directory_ask_to_drain(directory, found, error);
    for (uint64_t i = 0; status == WEFT_OK && i < seconds * (1000 / LOOK_MS); i++) {
        directory_pause(LOOK_MS);
        status = directory_list(directory, /* wait_ms */ 0, list, error);
        found = member_find_title(list, name);
        if (status == WEFT_OK && (found == NULL || found->incarnation != incarnation)) {
            return WEFT_OK;
        }
    }
    return status != WEFT_OK
               ? status
               : error_set(
                     error, WEFT_FAILED, "'%s' was asked, and is still there after %" PRIu64 " s",
                     name, seconds);
}

static int run(const struct command *command, void *given, const struct operands *operands)
{
    struct values *values = given;
    struct directory *directory = NULL;
    struct weft_error error = {.status = WEFT_OK};
    struct member_list *list = memory_zeroed(1, sizeof(*list));
    values->directory.where = operands->items[0];
    enum weft_status status = directory_open(&values->directory, &directory, &error);
    if (status == WEFT_OK) {
        status = drain(directory, operands->items[1], values->seconds.value, list, &error);
    }
    directory_destroy(directory);
    free(list);
    if (status != WEFT_OK) {
        const bool is_wrong = status == WEFT_INVALID || status == WEFT_NOT_FOUND;
        return command_fail(command, &error, is_wrong ? COMMAND_WRONG : COMMAND_FAILED);
    }
    (void)printf("%s has left\n", operands->items[1]);
    return command_flush(command);
}

static const struct argument rows[] = {
    {"--wait", "SECONDS", "how long to wait until it has left; default 60", ARGUMENT_COUNT,
     offsetof(struct values, seconds)},
    {"--etcd-ca", "FILE", "authority of etcds://; default the system's", ARGUMENT_TEXT,
     offsetof(struct values, directory.ca_file)},
    {"--etcd-user-file", "FILE", "file with USER:PASSWORD for etcd", ARGUMENT_TEXT,
     offsetof(struct values, directory.user_file)},
    {.name = NULL},
};

const struct command command_drain = {
    .name = "drain",
    .summary = "let a node answer what it has, and leave its cluster",
    .usage = "DIRECTORY NODE [options]",
    .description =
        "The process takes no more requests, answers those that it has, as on SIGTERM, ends\n"
        "what it runs for other nodes, hands on to them what only waits, and leaves.\n",
    .arguments = {.operand = "DIRECTORY NODE", .operand_min = 2, .operand_max = 2, .rows = rows},
    .values_bytes = sizeof(struct values),
    .defaults = &(const struct values){.seconds = {.value = PATIENCE_SECONDS}},
    .run = run,
};
