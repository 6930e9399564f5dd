#include "document/trace_document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/units.h"
#include "document/bytes.h"
#include "document/trace_fields.h"

#define SPAN_TEXT "ten days" /* TRACE_SPAN_NS */

struct scan;

/* A way to write rows. */
struct form {
    const char *header;
    uint32_t field_count;
    bool has_workflows;
    enum weft_status (*read)(
        struct scan *scan, const struct trace_field *fields, struct arrival *row);
};

/* Where a reader stands in a trace. */
struct scan {
    const char *file;
    const char *at;
    const char *end;
    uint32_t line; /* From 1; 0 before the first. */
    const struct form *form;
    const struct trace_options *options;
    int64_t first_ns;         /* Of a public trace: its time 0. */
    uint32_t row_count;       /* Rows so far. */
    uint32_t last_found;      /* The workflow of the last row: often that of the next. */
    struct weft_error first;  /* Of the first bad row. */
    struct weft_error *error; /* Of the last. */
};

/* Fail in this line, whose @field is quoted after @what. */
static enum weft_status fail_field(
    const struct scan *scan, const char *what, const struct trace_field *field, const char *more)
{
    char text[TRACE_FIELD_BYTES_MAX];
    char quoted[READER_QUOTE_BYTES];

    trace_field_text(field, text);
    return error_set(
        scan->error, WEFT_INVALID, "%s:%u: %s%s%s", scan->file, scan->line, what,
        reader_quote_text(quoted, text), more);
}

static enum weft_status fail(const struct scan *scan, enum weft_status status, const char *what)
{
    return error_set(scan->error, status, "%s:%u: %s", scan->file, scan->line, what);
}

const char *trace_suggest_workflow(
    const struct catalogue *catalogue, const char *name, char out[READER_QUOTE_BYTES])
{
    const char *names[WORKFLOWS_MAX + 1] = {NULL};

    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        names[i] = catalogue->workflows[i]->name;
    }
    return reader_suggestion(name, names, out);
}

static enum weft_status find_workflow(
    struct scan *scan, const struct trace_field *field, uint32_t *workflow_out)
{
    const struct catalogue *catalogue = scan->options->catalogue;
    char name[TRACE_FIELD_BYTES_MAX];
    char suggestion[READER_QUOTE_BYTES];

    if (catalogue == NULL) {
        *workflow_out = ARRIVAL_WORKFLOW_ANY;
        return WEFT_OK;
    }
    trace_field_text(field, name);
    if (strcmp(catalogue->workflows[scan->last_found]->name, name) != 0) {
        const uint32_t found = catalogue_find_workflow(catalogue, name);
        if (found == UINT32_MAX) {
            char more[2 * READER_QUOTE_BYTES];
            (void)snprintf(
                more, sizeof(more), " is not one of the workflows%s",
                trace_suggest_workflow(catalogue, name, suggestion));
            return fail_field(scan, "", field, more);
        }
        scan->last_found = found;
    }
    *workflow_out = scan->last_found;
    return WEFT_OK;
}

static enum weft_status read_own(
    struct scan *scan, const struct trace_field *fields, struct arrival *row)
{
    if (!trace_field_ms(&fields[0], &row->at_ns)) {
        return fail_field(scan, "'t_ms' wants milliseconds such as '12.5', not ", &fields[0], "");
    }
    if (row->at_ns > TRACE_SPAN_NS) {
        return fail_field(scan, "'t_ms' must be at most " SPAN_TEXT ", not ", &fields[0], "");
    }
    const enum weft_status status = find_workflow(scan, &fields[1], &row->workflow);
    if (status != WEFT_OK) {
        return status;
    }
    uint64_t items = 1;
    if (scan->form->field_count > 2 &&
        (!trace_field_count(&fields[2], &items) || items == 0 || items > ITEMS_MAX)) {
        return fail_field(scan, "'items' must be between 1 and 1000000, not ", &fields[2], "");
    }
    row->items = (uint32_t)items;
    return WEFT_OK;
}

_Static_assert(ITEMS_MAX == 1000000, "as read_own() says");

/* Rounded up: what is begun is an item. */
static uint32_t items_of(const struct scan *scan, uint64_t tokens)
{
    const uint64_t per = scan->options->items_per;
    if (per == 0 || tokens == 0) {
        return 1;
    }
    const uint64_t items = (tokens - 1) / per + 1;
    return items < ITEMS_MAX ? (uint32_t)items : ITEMS_MAX;
}

static enum weft_status read_tokens(
    struct scan *scan, const struct trace_field *fields, struct arrival *row)
{
    int64_t at_ns = 0;
    uint64_t context = 0;
    uint64_t generated = 0;

    if (!trace_field_moment(&fields[0], &at_ns)) {
        return fail_field(
            scan, "'TIMESTAMP' wants a time such as '2023-11-16 18:15:46.68', not ", &fields[0],
            "");
    }
    if (!trace_field_count(&fields[1], &context)) {
        return fail_field(scan, "'ContextTokens' wants a whole number, not ", &fields[1], "");
    }
    if (!trace_field_count(&fields[2], &generated)) {
        return fail_field(scan, "'GeneratedTokens' wants a whole number, not ", &fields[2], "");
    }
    if (scan->row_count == 0) {
        scan->first_ns = at_ns;
    }
    row->at_ns = at_ns - scan->first_ns;
    if (row->at_ns > TRACE_SPAN_NS) {
        return fail(scan, WEFT_INVALID, "more than " SPAN_TEXT " after the first row");
    }
    row->workflow = ARRIVAL_WORKFLOW_ANY;
    row->items = items_of(scan, context + generated);
    return WEFT_OK;
}

static const struct form forms[] = {
    {"t_ms,workflow", 2, true, read_own},
    {"t_ms,workflow,items", 3, true, read_own},
    {"TIMESTAMP,ContextTokens,GeneratedTokens", 3, false, read_tokens},
};

enum { FORMS = ARRAY_COUNT(forms) };

/* The next line without its end, which may be that of any system. False after the last. */
static bool next_line(struct scan *scan, struct trace_field *line_out)
{
    if (scan->at == scan->end) {
        return false;
    }
    const char *start = scan->at;
    const char *stop = memchr(start, '\n', (size_t)(scan->end - start));
    scan->at = stop == NULL ? scan->end : stop + 1;
    stop = stop == NULL ? scan->end : stop;
    if (stop > start && stop[-1] == '\r') {
        stop--;
    }
    scan->line++;
    *line_out = (struct trace_field){.at = start, .length = (size_t)(stop - start)};
    return true;
}

static enum weft_status read_header(struct scan *scan)
{
    struct trace_field line = {.at = scan->at};
    (void)next_line(scan, &line); /* An empty file has an empty header. */
    scan->line = 1;

    for (uint32_t i = 0; i < FORMS; i++) {
        if (trace_field_is(&line, forms[i].header)) {
            scan->form = &forms[i];
            return WEFT_OK;
        }
    }
    return fail_field(
        scan,
        "the first line must be 't_ms,workflow', 't_ms,workflow,items' or "
        "'TIMESTAMP,ContextTokens,GeneratedTokens', not ",
        &line, "");
}

static enum weft_status read_row(
    struct scan *scan, const struct trace_field *line, struct arrival *row)
{
    struct trace_field fields[TRACE_FIELDS_MAX];
    const uint32_t count = trace_field_split(line, fields);

    if (count != scan->form->field_count) {
        return error_set(
            scan->error, WEFT_INVALID, "%s:%u: %s; a row is '%s'", scan->file, scan->line,
            line->length == 0                 ? "an empty line"
            : count < scan->form->field_count ? "too few fields"
                                              : "too many fields",
            scan->form->header);
    }
    return scan->form->read(scan, fields, row);
}

/* A row is bad: whether the next may be read, because the listener wants to know. */
static bool can_go_on(struct scan *scan, enum weft_status status)
{
    struct tree_listener *listener = scan->options->listener;

    scan->first = scan->first.status == WEFT_OK ? *scan->error : scan->first;
    tree_tell(listener, scan->error);
    return listener != NULL && listener->count < TREE_ERRORS_MAX && status == WEFT_INVALID;
}

/* The row on @line, behind the rows so far. */
static enum weft_status add_row(
    struct scan *scan, const struct trace_field *line, struct arrival *rows)
{
    struct arrival *row = &rows[scan->row_count];
    if (scan->row_count == ARRIVALS_ROWS_MAX) {
        return fail(scan, WEFT_LIMIT, "more than 16000000 rows");
    }
    const enum weft_status status = read_row(scan, line, row);
    if (status != WEFT_OK) {
        return status;
    }
    const int64_t before_ns = scan->row_count == 0 ? 0 : row[-1].at_ns;
    if (row->at_ns < before_ns) {
        return fail(scan, WEFT_INVALID, "the row goes back in time; rows are by time, ascending");
    }
    scan->row_count++;
    return WEFT_OK;
}

static enum weft_status read_rows(struct scan *scan, struct arrival *rows)
{
    struct trace_field line;

    while (next_line(scan, &line)) {
        const enum weft_status status = add_row(scan, &line, rows);
        if (status != WEFT_OK && !can_go_on(scan, status)) {
            return scan->first.status;
        }
    }
    if (scan->row_count == 0 && scan->first.status == WEFT_OK) {
        return fail(scan, WEFT_INVALID, "there are no rows");
    }
    return scan->first.status;
}

_Static_assert(ARRIVALS_ROWS_MAX == 16000000, "as add_row() says");

/* An upper bound of the rows that follow: as many as line ends, and one without. */
static size_t count_lines(const struct scan *scan)
{
    size_t count = 1;
    for (const char *at = scan->at; at < scan->end && count <= ARRIVALS_ROWS_MAX; count++) {
        at = memchr(at, '\n', (size_t)(scan->end - at));
        if (at == NULL) {
            break;
        }
        at++;
    }
    return count;
}

enum weft_status trace_parse(
    const struct trace_source *source, const struct trace_options *options, struct arena *arena,
    struct trace *trace_out, struct weft_error *error)
{
    struct weft_error last = {.status = WEFT_OK};
    struct scan scan = {
        .file = source->file,
        .at = source->bytes,
        .end = source->bytes + source->size,
        .options = options,
        .error = &last,
    };

    ASSERT(options->catalogue == NULL || options->catalogue->workflow_count > 0);
    enum weft_status status = read_header(&scan);
    if (status != WEFT_OK) {
        return error_set(error, status, "%s", last.message);
    }
    ASSERT(scan.form != NULL);
    struct arrival *rows = arena_alloc(arena, count_lines(&scan) * sizeof(*rows));
    status = read_rows(&scan, rows);
    if (status == WEFT_OK) {
        *trace_out = (struct trace){
            .has_workflows = scan.form->has_workflows,
            .count = scan.row_count,
            .rows = rows,
        };
        return WEFT_OK;
    }
    const struct weft_error *cause = scan.first.status == WEFT_OK ? &last : &scan.first;
    return error_set(error, status, "%s", cause->message);
}

enum weft_status trace_load(
    const char *path, const struct trace_options *options, struct arena *arena,
    struct trace *trace_out, struct weft_error *error)
{
    char *bytes = NULL;
    size_t size = 0;

    enum weft_status status = bytes_load_large(path, TRACE_BYTES_MAX, &bytes, &size, error);
    if (status != WEFT_OK) {
        return status;
    }
    const struct trace_source source = {.file = path, .bytes = bytes, .size = size};
    status = trace_parse(&source, options, arena, trace_out, error);
    free(bytes);
    return status;
}
