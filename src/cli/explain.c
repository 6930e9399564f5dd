/* explain.c - `weft explain`: the story of one job, of a trace or of a server that runs. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/job_story.h"
#include "client/infer_inputs.h"
#include "console/style.h"
#include "trace/latency_parts.h"
#include "trace/text.h"

struct values {
    struct infer_where where;
};

static double in_ms(int64_t ns)
{
    return (double)ns / 1e6;
}

static const json_t *find(const struct job_story *story, const char *kind)
{
    for (uint32_t i = 0; i < story->count; i++) {
        const struct job_story_line *line = &story->lines[i];
        if (line->is_own && strcmp(job_story_text(line->json, "kind"), kind) == 0) {
            return line->json;
        }
    }
    return NULL;
}

/* How it ended, and how late that was. */
static void print_end(const json_t *arrived, const json_t *answered)
{
    const int64_t slo_ns = job_story_number(arrived, "slo_ns", 0);
    const int64_t took_ns = job_story_number(answered, "latency_ns", 0);
    const char *reason = job_story_text(answered, "reason");
    if (answered == NULL) {
        (void)printf("not answered so far");
        return;
    }
    const bool is_given_up = strcmp(reason, reason_name(REASON_LATE)) == 0;
    (void)printf(
        "%s after %.1f ms",
        reason[0] == '\0' ? "answered"
        : is_given_up     ? "given up"
                          : "ended without an answer",
        in_ms(took_ns));
    if (is_given_up) {
        (void)printf(": it was late, or sure to be");
    } else if (reason[0] != '\0') {
        (void)printf(": ");
        command_print_text(stdout, reason);
    } else if (slo_ns > 0 && took_ns > slo_ns) {
        (void)printf(", %.1f ms late (SLO %g ms)", in_ms(took_ns - slo_ns), in_ms(slo_ns));
    } else if (slo_ns > 0) {
        (void)printf(", in time (SLO %g ms)", in_ms(slo_ns));
    }
}

/* Where the time of a job that was answered went. */
static void print_parts(const json_t *answered)
{
    const int64_t took_ns = job_story_number(answered, "latency_ns", 0);
    char key[32];
    if (answered == NULL || took_ns <= 0 || json_object_get(answered, "queued_ns") == NULL) {
        return;
    }
    for (uint32_t i = 0; i < LATENCY_PARTS; i++) {
        (void)snprintf(key, sizeof(key), "%s_ns", latency_part_names[i]);
        const int64_t part_ns = job_story_number(answered, key, 0);
        (void)printf(
            "%s%s %.1f ms (%.0f %%)", i == 0 ? "  " : ", ", latency_part_names[i], in_ms(part_ns),
            100 * (double)part_ns / (double)took_ns);
    }
    (void)printf("\n");
}

static void print_weighed(const json_t *weighed)
{
    for (size_t i = 0; i < json_array_size(weighed); i++) {
        const json_t *item = json_array_get(weighed, i);
        const char *load = job_story_text(item, "load");
        (void)printf(
            "%sw%" PRId64 ": %s%.1f ms", i == 0 ? "; " : ", ", job_story_number(item, "worker", -1),
            i == 0 ? "ends in " : "", in_ms(job_story_number(item, "end_ns", 0)));
        if (job_story_number(item, "batch", 0) > 0) {
            (void)printf(" as a batch of %" PRId64, job_story_number(item, "batch", 0));
        }
        if (load[0] != '\0') {
            (void)printf(" (must load ");
            command_print_text(stdout, load);
            (void)printf(")");
        }
    }
}

static void print_mates(const struct job_story_line *line)
{
    const int64_t batch = job_story_number(line->json, "batch", 1);
    if (batch <= 1) {
        return;
    }
    (void)printf(", in a batch of %" PRId64 " with ", batch);
    for (size_t i = 0; i < json_array_size(line->mates); i++) {
        const char *mate = json_string_value(json_array_get(line->mates, i));
        (void)printf("%s", i == 0 ? "" : ", ");
        command_print_text(stdout, mate == NULL ? "?" : mate);
    }
    if (json_array_size(line->mates) == 0) {
        (void)printf("other tasks of this job");
    }
}

/* When the task of @line last joined a queue before; -1: it did not. */
static int64_t queued_ns(const struct job_story *story, const struct job_story_line *line)
{
    const char *task = job_story_text(line->json, "task");
    int64_t at_ns = -1;
    for (const struct job_story_line *other = story->lines; other < line; other++) {
        const char *kind = job_story_text(other->json, "kind");
        if (other->is_own && strcmp(job_story_text(other->json, "task"), task) == 0 &&
            (strcmp(kind, "queued") == 0 || (at_ns < 0 && strcmp(kind, "offered") == 0))) {
            at_ns = other->at_ns;
        }
    }
    return at_ns;
}

/* What a record says beside its kind, its task and its worker. */
static void print_more(const struct job_story *story, const struct job_story_line *line)
{
    const json_t *json = line->json;
    const char *kind = job_story_text(json, "kind");
    const char *reason = job_story_text(json, "reason");
    if (reason[0] != '\0') {
        (void)printf(" (");
        command_print_text(stdout, reason);
        (void)printf(")");
    }
    const int64_t bytes = job_story_number(json, "bytes", 0);
    if (strcmp(kind, "sent") == 0 && bytes > 0) {
        (void)printf(", %.1f kB", (double)bytes / 1000);
    } else if (strcmp(kind, "ended") == 0) {
        (void)printf(" after %.1f ms", in_ms(job_story_number(json, "run_ns", 0)));
    } else if (strcmp(kind, "started") == 0) {
        const int64_t since_ns = queued_ns(story, line);
        print_mates(line);
        if (since_ns >= 0) {
            (void)printf("; it had waited %.1f ms", in_ms(line->at_ns - since_ns));
        }
    }
    print_weighed(json_object_get(json, "weighed"));
}

static void print_line(
    const struct job_story *story, const struct job_story_line *line, int64_t arrived_ns)
{
    const json_t *json = line->json;
    const char *task = job_story_text(json, "task");
    const int64_t worker = job_story_number(json, "worker", -1);
    (void)printf("%12.3f ms  ", in_ms(line->at_ns - arrived_ns));
    if (!line->is_own) {
        (void)printf("  meanwhile w%" PRId64 " has loaded ", worker);
        command_print_text(stdout, job_story_text(json, "model"));
        (void)printf(", which took %.1f ms\n", in_ms(line->at_ns - line->began_ns));
        return;
    }
    if (task[0] != '\0') {
        command_print_text(stdout, task);
        (void)printf(" ");
    }
    command_print_text(stdout, job_story_text(json, "kind"));
    if (worker >= 0) {
        const bool is_sent = strcmp(job_story_text(json, "kind"), "sent") == 0;
        (void)printf(" %s w%" PRId64, is_sent ? "to" : "on", worker);
    } else {
        (void)printf(" at n%" PRId64, job_story_number(json, "node", 0));
    }
    print_more(story, line);
    (void)printf("\n");
}

static void print_story(const struct job_story *story, const char *job)
{
    const enum style style = style_is_on(stdout) ? STYLE_BOLD : STYLE_PLAIN;
    const json_t *arrived = find(story, "arrived");
    const json_t *answered = find(story, "answered");
    const int64_t arrived_ns =
        arrived == NULL ? story->lines[0].at_ns : job_story_number(arrived, "at_ns", 0);
    (void)printf("%sjob %s of ", style_begin(style), job);
    command_print_text(stdout, job_story_text(story->lines[0].json, "workflow"));
    (void)printf(", arrived at %.3f ms: ", in_ms(arrived_ns));
    print_end(arrived, answered);
    (void)printf("%s\n", style_end(style));
    print_parts(answered);
    for (uint32_t i = 0; i < story->count; i++) {
        print_line(story, &story->lines[i], arrived_ns);
    }
}

static enum weft_status read_file(
    const char *path, const char *job, struct job_story *story_out, struct weft_error *error)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return error_set(error, WEFT_IO, "%s: %s", path, strerror(errno));
    }
    const enum weft_status status = job_story_read(file, path, job, story_out, error);
    (void)fclose(file);
    return status;
}

/* Ask one server for what it knows of @job. */
static enum weft_status ask(
    const struct infer_target *target, const char *job, struct job_story *story_out,
    struct weft_error *error)
{
    char path[NAME_BYTES_MAX + 16];
    struct http_reply reply;
    (void)snprintf(path, sizeof(path), "/v2/jobs/%s", job);
    enum weft_status status = infer_get(target, path, /* bytes_max */ 0, &reply, error);
    if (status != WEFT_OK) {
        return status;
    }
    FILE *file = reply.body_bytes > 0 ? fmemopen(reply.body, reply.body_bytes, "r") : NULL;
    if (file != NULL) {
        status = job_story_read(file, "the answer", job, story_out, error);
        (void)fclose(file);
    } else {
        status = infer_explain(&reply, error);
    }
    free(reply.body);
    return status;
}

/* Of several servers, the first that knows the job tells. */
static enum weft_status ask_servers(
    const struct values *values, const char *job, struct job_story *story_out,
    struct weft_error *error)
{
    struct infer_target target;
    if (strlen(job) >= NAME_BYTES_MAX || job[strspn(job, "0123456789.")] != '\0') {
        return error_set(
            error, WEFT_INVALID,
            "'%.64s' is not the name of a job, such as 0.14; for a trace, say 'TRACE JOB'", job);
    }
    enum weft_status status = infer_target_init(&target, &values->where, job, error);
    for (uint32_t i = 0, count = status == WEFT_OK ? target.url_count : 0; i < count; i++) {
        target.url = target.urls[i];
        status = ask(&target, job, story_out, error);
        if (status == WEFT_OK) {
            break;
        }
    }
    return status;
}

static int run(const struct command *command, void *given, const struct operands *operands)
{
    const struct values *values = given;
    struct weft_error error = {0};
    struct job_story story = {.count = 0};
    const bool is_file = operands->count > 1;
    const char *job = operands->items[is_file ? 1 : 0];
    const enum weft_status status = is_file ? read_file(operands->items[0], job, &story, &error)
                                            : ask_servers(values, job, &story, &error);
    if (status != WEFT_OK) {
        const bool is_wrong = is_file || status == WEFT_INVALID;
        return command_fail(command, &error, is_wrong ? COMMAND_WRONG : COMMAND_FAILED);
    }
    if (story.lines == NULL) {
        (void)error_set(&error, WEFT_INVALID, "the answer is empty");
        return command_fail(command, &error, COMMAND_FAILED);
    }
    print_story(&story, job);
    job_story_deinit(&story);
    return command_flush(command);
}

static const struct argument rows[] = {
    {"--url", "URL[,URL]", "address of the server; default http://127.0.0.1:8000", ARGUMENT_TEXT,
     offsetof(struct values, where.url)},
    {"--token-file", "FILE", "file with the administrator's bearer token", ARGUMENT_TEXT,
     offsetof(struct values, where.token_file)},
    {"--ca", "FILE", "certificates to trust, in PEM; default the system's", ARGUMENT_TEXT,
     offsetof(struct values, where.ca_file)},
    {.name = NULL},
};

const struct command command_explain = {
    .name = "explain",
    .summary = "tell what happened to one job of a trace or a server, and why",
    .usage = "[TRACE] JOB [options]",
    .description =
        "TRACE is a file of JSON lines, as 'weft sim SCENARIO --trace FILE.jsonl' and\n"
        "'weft serve ... --trace FILE.jsonl' write; with --why they also have what each choice\n"
        "of a worker was weighed against. JOB is a job's name in it, such as 0.14.\n"
        "\n"
        "Without TRACE a running server is asked, which keeps the last 65536 records. Answers\n"
        "name their job in the header 'weft-job', the screen names the last job that was late.\n"
        "\n"
        "Times are counted from the arrival of the job. The second line says where its time\n"
        "went: docs/SIMULATION.md.\n",
    .arguments = {.operand = "JOB", .operand_min = 1, .operand_max = 2, .rows = rows},
    .values_bytes = sizeof(struct values),
    .run = run,
};
