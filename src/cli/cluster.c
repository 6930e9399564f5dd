/* cluster.c - `weft cluster`: who is in a cluster, and whether they answer. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"
#include "base/numbers.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/report_json.h"
#include "client/http_call.h"
#include "console/table.h"
#include "directory/directory.h"
#include "model/ids.h"
#include "model/resources.h"

enum { ASK_SECONDS = 2, HTTP_OK = 200, ROW_COLUMNS = 5 };

struct values {
    struct directory_options directory;
    const char *ca_file;
    bool json;
};

/* What a member says of itself, and of the others. */
struct seen {
    const char *state;
    bool has_rows;        /* It said the rest: */
    double queued_ms;     /* work of all its workers, */
    int64_t queued_items; /* in so many items; */
    int64_t memory_free_bytes;
    int64_t resident;     /* Models in their memory. */
    double oldest_row_ms; /* Since it heard of the worker that it has not heard of for longest. */
};

/* Ask @member for @path. NULL unless it answers; the status is then in *status_out. */
static json_t *ask(
    const struct member *member, const char *path, const char *ca_file, uint32_t *status_out)
{
    struct http_url url;
    struct http_reply reply;
    *status_out = 0;
    if (member->http[0] == '\0' || http_url_parse(member->http, &url, NULL) != WEFT_OK) {
        return NULL;
    }
    const struct http_call call = {
        .url = &url,
        .method = "GET",
        .path = path,
        .ca_file = ca_file,
        .timeout_s = ASK_SECONDS,
    };
    if (http_call(&call, &reply, NULL) != WEFT_OK) {
        return NULL;
    }
    json_t *answer = json_loadb(reply.body, reply.body_bytes, JSON_REJECT_DUPLICATES, NULL);
    *status_out = reply.status;
    free(reply.body);
    return answer;
}

/* Its @status_out is 0 if it does not answer. */
static const char *state_of(const struct member *member, const char *ca_file, uint32_t *status_out)
{
    *status_out = 0;
    if (member_is_guest(member)) {
        return "fetching";
    }
    if (member->address[0] == '\0') {
        return "starting";
    }
    if (member->http[0] == '\0') {
        return "member";
    }
    json_decref(ask(member, "/v2/health/ready", ca_file, status_out));
    if (*status_out == 0) {
        return "no answer";
    }
    return *status_out == HTTP_OK ? "ready" : member->drains ? "draining" : "not ready";
}

static int64_t whole(const json_t *worker, const char *key)
{
    return json_integer_value(json_object_get(worker, key));
}

static double real(const json_t *worker, const char *key)
{
    return json_number_value(json_object_get(worker, key));
}

/* Add up what @answer of a member says of its own workers, and of the ages of others' rows. */
static void take_rows(const json_t *answer, struct seen *seen)
{
    size_t i;
    const json_t *worker;
    json_array_foreach(json_object_get(answer, "workers"), i, worker)
    {
        if (whole(worker, "node") != whole(answer, "node")) {
            const double age_ms = real(worker, "age_ms");
            seen->oldest_row_ms = age_ms > seen->oldest_row_ms ? age_ms : seen->oldest_row_ms;
            continue;
        }
        seen->queued_ms += real(worker, "queued_ms");
        seen->queued_items += whole(worker, "queued_items");
        seen->memory_free_bytes += whole(worker, "memory_free_bytes");
        seen->resident += whole(worker, "resident");
    }
}

static struct seen look_at(const struct member *member, const char *ca_file)
{
    uint32_t status;
    struct seen seen = {.state = state_of(member, ca_file, &status)};
    if (status == 0) {
        return seen; /* It would be waited for once more. */
    }
    json_t *answer = ask(member, "/v2/cluster", ca_file, &status);
    seen.has_rows = answer != NULL && status == HTTP_OK;
    if (seen.has_rows) {
        take_rows(answer, &seen);
    }
    json_decref(answer);
    return seen;
}

static void add_rows(struct table *table, const struct seen *seen)
{
    if (!seen->has_rows) {
        for (uint32_t i = 0; i < ROW_COLUMNS; i++) {
            table_add(table, "-");
        }
        return;
    }
    table_add(table, "%.1f", seen->queued_ms);
    table_add(table, "%" PRId64, seen->queued_items);
    table_add(table, "%.0f", (double)seen->memory_free_bytes * 1e-6);
    table_add(table, "%" PRId64, seen->resident);
    table_add(table, "%.1f", seen->oldest_row_ms * 1e-3);
}

/* The how manieth change made @edition. */
static uint32_t change_of(uint32_t edition)
{
    return edition >> EDITION_NODE_BITS;
}

/* Which change a member has followed, which it serves, and what keeps it from the newest. */
static void add_editions(
    struct table *table, const struct member_list *list, const struct member *member)
{
    const struct member_editions *said = &member->editions;
    uint32_t newest = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct member *other = &list->items[i];
        const bool is_alike = other->agreement == member->agreement;
        newest = is_alike ? max_u32(newest, other->editions.newest) : newest;
    }
    table_add(table, "%" PRIu32, change_of(said->newest));
    table_add(table, "%" PRIu32, change_of(said->serves));
    table_add(
        table, "%s",
        said->note[0] != '\0'                              ? said->note
        : said->held != newest                             ? "gets it"
        : said->serves != newest                           ? "waits for others"
        : said->oldest != newest || said->newest != newest ? "ends the old"
                                                           : "-");
}

static void print_table(const struct member_list *list, const char *ca_file)
{
    static const struct table_column columns[] = {
        {"NODE", false},    {"INCARNATION", true}, {"STATE", false},    {"CLIENTS", false},
        {"ADDRESS", false}, {"VERSION", false},    {"SERVES", false},   {"CHANGE", true},
        {"EDITION", true},  {"VERSIONS", false},   {"QUEUE, MS", true}, {"ITEMS", true},
        {"FREE, MB", true}, {"MODELS", true},      {"ROWS, S", true},   {"WORKERS", false}};
    struct table table;
    table_init(&table, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < list->count; i++) {
        const struct member *member = &list->items[i];
        const struct seen seen = look_at(member, ca_file);
        table_add(&table, "%s", member_title(member));
        table_add(&table, "%" PRIu64, member->incarnation);
        table_add(&table, "%s", seen.state);
        table_add(&table, "%s", member->http[0] == '\0' ? "-" : member->http);
        table_add(&table, "%s", member->address[0] == '\0' ? "-" : member->address);
        table_add(&table, "%s", member->version);
        table_add(&table, "%016" PRIx64, member->agreement);
        add_editions(&table, list, member);
        add_rows(&table, &seen);
        char workers[RESOURCES_BYTES];
        resources_say(member->resources, workers, sizeof(workers));
        table_add(&table, "%s", workers);
    }
    table_print(&table, stdout);
    table_deinit(&table);
}

static void print_json(const struct member_list *list, const char *ca_file)
{
    json_t *members = json_array();
    for (uint32_t i = 0; i < list->count; i++) {
        const struct member *member = &list->items[i];
        const struct seen seen = look_at(member, ca_file);
        char agreement[20];
        char workers[RESOURCES_BYTES];
        resources_say(member->resources, workers, sizeof(workers));
        (void)snprintf(agreement, sizeof(agreement), "%016" PRIx64, member->agreement);
        json_t *one = json_pack(
            "{s:s, s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:s}", "node",
            member_title(member), "workers", workers, "incarnation",
            (json_int_t)member->incarnation, "state", seen.state, "clients", member->http,
            "address", member->address, "version", member->version, "serves", agreement, "change",
            (json_int_t)change_of(member->editions.newest), "held",
            (json_int_t)change_of(member->editions.held), "edition",
            (json_int_t)change_of(member->editions.serves), "note", member->editions.note);
        if (seen.has_rows) {
            json_t *rows = json_pack(
                "{s:f, s:I, s:I, s:I, s:f}", "queued_ms", seen.queued_ms, "queued_items",
                (json_int_t)seen.queued_items, "memory_free_bytes",
                (json_int_t)seen.memory_free_bytes, "models", (json_int_t)seen.resident,
                "oldest_row_ms", seen.oldest_row_ms);
            (void)json_object_update_new(one, rows); /* Without memory, they are missing. */
        }
        (void)json_array_append_new(members, one); /* The same. */
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
        if (list->count == 0 && !values->json) {
            (void)fprintf(stderr, "weft cluster: there is no member\n");
        }
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
        "whether it is ready. SERVES is the hash of what it serves: all have the same. CHANGE\n"
        "counts loads and unloads of models, as far as it has heard of them, and EDITION those\n"
        "that its jobs go by. VERSIONS says what keeps it from the newest. Then come the work that "
        "waits and runs there, the\n"
        "memory that is free, the models in it, and how long ago it last heard of the worker\n"
        "that it has not heard of for longest: rows are sent when they change.\n",
    .arguments = {.operand = "DIRECTORY", .operand_min = 1, .operand_max = 1, .rows = rows},
    .values_bytes = sizeof(struct values),
    .run = run,
};
