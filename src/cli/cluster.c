/* cluster.c - `weft cluster`: who is in a cluster, and whether they answer. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/report_json.h"
#include "client/http_call.h"
#include "console/table.h"
#include "directory/directory.h"

enum { ASK_SECONDS = 2, HTTP_OK = 200 };

struct values {
    struct directory_options directory;
    const char *ca_file;
    bool json;
};

/* What @member says when it is asked whether it is ready. */
static const char *state_of(const struct member *member, const char *ca_file)
{
    struct http_url url;
    struct http_reply reply;
    if (member->address[0] == '\0') {
        return "starting";
    }
    if (member->http[0] == '\0' || http_url_parse(member->http, &url, NULL) != WEFT_OK) {
        return "member";
    }
    const struct http_call call = {
        .url = &url,
        .method = "GET",
        .path = "/v2/health/ready",
        .ca_file = ca_file,
        .timeout_s = ASK_SECONDS,
    };
    if (http_call(&call, &reply, NULL) != WEFT_OK) {
        return "no answer";
    }
    const bool is_ready = reply.status == HTTP_OK;
    free(reply.body);
    return is_ready ? "ready" : member->drains ? "draining" : "not ready";
}

static void print_table(const struct member_list *list, const char *ca_file)
{
    static const struct table_column columns[] = {
        {"NODE", false},    {"INCARNATION", true}, {"STATE", false}, {"CLIENTS", false},
        {"ADDRESS", false}, {"VERSION", false},    {"SERVES", false}};
    struct table table;
    table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    for (uint32_t i = 0; i < list->count; i++) {
        const struct member *member = &list->items[i];
        table_add(&table, "%s", member->name);
        table_add(&table, "%" PRIu64, member->incarnation);
        table_add(&table, "%s", state_of(member, ca_file));
        table_add(&table, "%s", member->http[0] == '\0' ? "-" : member->http);
        table_add(&table, "%s", member->address[0] == '\0' ? "-" : member->address);
        table_add(&table, "%s", member->version);
        table_add(&table, "%016" PRIx64, member->agreement);
    }
    table_print(&table, stdout);
    table_deinit(&table);
}

static void print_json(const struct member_list *list, const char *ca_file)
{
    json_t *members = json_array();
    for (uint32_t i = 0; i < list->count; i++) {
        const struct member *member = &list->items[i];
        char agreement[20];
        (void)snprintf(agreement, sizeof(agreement), "%016" PRIx64, member->agreement);
        json_t *one = json_pack(
            "{s:s, s:I, s:s, s:s, s:s, s:s, s:s}", "node", member->name, "incarnation",
            (json_int_t)member->incarnation, "state", state_of(member, ca_file), "clients",
            member->http, "address", member->address, "version", member->version, "serves",
            agreement);
        (void)json_array_append_new(members, one); /* Without memory, one is missing. */
    }
    report_json_print(json_pack("{s:o}", "members", members), stdout);
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
        status = directory_list(directory, /* wait_ms */ 0, list, &error);
    }
    int exit_code = COMMAND_OK;
    if (status != WEFT_OK) {
        exit_code =
            command_fail(command, &error, status == WEFT_INVALID ? COMMAND_WRONG : COMMAND_FAILED);
    } else {
        (values->json ? print_json : print_table)(list, values->ca_file);
        exit_code = command_flush(command);
    }
    directory_destroy(directory);
    free(list);
    return exit_code;
}

static const struct argument rows[] = {
    {"--ca", "FILE", "certificates to trust when nodes are asked; default the system's",
     ARGUMENT_TEXT, offsetof(struct values, ca_file)},
    {"--etcd-ca", "FILE", "authority of etcds://; default the system's", ARGUMENT_TEXT,
     offsetof(struct values, directory.ca_file)},
    {"--etcd-user-file", "FILE", "file with USER:PASSWORD for etcd", ARGUMENT_TEXT,
     offsetof(struct values, directory.user_file)},
    {"--json", NULL, "print one JSON object", ARGUMENT_FLAG, offsetof(struct values, json)},
    {.name = NULL},
};

const struct command command_cluster = {
    .name = "cluster",
    .summary = "show who is in a cluster",
    .usage = "DIRECTORY [options]",
    .description =
        "DIRECTORY is what 'weft serve --cluster' was given. Each member is asked over HTTP\n"
        "whether it is ready. SERVES is the hash of what it serves: all have the same.\n",
    .arguments = {.operand = "DIRECTORY", .operand_min = 1, .operand_max = 1, .rows = rows},
    .values_bytes = sizeof(struct values),
    .run = run,
};
