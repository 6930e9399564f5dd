#include "document/record.h"

#include <stdlib.h>

#include "document/tables.h"
#include "document_fixture.h"

enum sample_kind { SAMPLE_PLAIN, SAMPLE_RICH, SAMPLE_ODD };

struct inner {
    double share;
    bool on;
};

struct sample {
    enum sample_kind kind;
    char name[NAME_BYTES_MAX];
    uint32_t count;
    uint64_t bytes;
    int64_t wait_ns;
    int64_t run_ns;
    double rate_per_s;
    struct inner inner;
    char note[8];
    uint32_t doubled;
};

static const char *const kinds[] = {"plain", "rich", "odd", NULL};

static void read_doubled(struct reader *reader, const struct tree_node *node, void *record)
{
    uint32_t *doubled = record;
    *doubled = 2 * (uint32_t)reader_quantity(reader, node, QUANTITY_COUNT, &reader_items);
}

static void write_doubled(struct writer *writer, const void *record)
{
    const uint32_t *doubled = record;
    writer_key(writer, "half");
    writer_quantity(writer, QUANTITY_COUNT, *doubled / 2);
}

static const struct field inner_fields[] = {
    {"share", FIELD_FRACTION(struct inner, share), .range = FIELD_RANGE(0, 1, "a part"),
     .always = true, .help = "a share"},
    {"on", FIELD_FLAG(struct inner, on), .help = "on or off"},
    {0},
};

static const struct field sample_fields[] = {
    {"kind", FIELD_WORD(struct sample, kind), .words = kinds, .help = "what it is"},
    {"name", FIELD_NAME(struct sample, name), .needed = true, .help = "its name"},
    {"count", FIELD_COUNT(struct sample, count), .range = &reader_items, .fallback = "3",
     .help = "how many"},
    {"bytes", FIELD_BYTES(struct sample, bytes), .range = &reader_any_bytes,
     .only = 1U << SAMPLE_RICH, .needed = true, .help = "how much"},
    {"wait", FIELD_DURATION(struct sample, wait_ns), .range = &reader_any_duration,
     .only = ~(1U << SAMPLE_PLAIN), .help = "how long", .left_out = "not at all"},
    {"run_ms", FIELD_MS(struct sample, run_ns), .range = FIELD_RANGE(0, 10, "at most 10"),
     .help = "how long it runs"},
    {"rate", FIELD_RATE(struct sample, rate_per_s), .range = FIELD_RANGE(0, 9, "at most 9/s"),
     .help = "how often"},
    {"inner", FIELD_RECORD(struct sample, inner, inner_fields), .help = "inside"},
    {"note", FIELD_TEXT(struct sample, note), .help = "words"},
    {"half", FIELD_PART(struct sample, doubled), .read = read_doubled, .write = write_doubled,
     .fallback = "1", .form = "half a number", .help = "is doubled"},
    {0},
};

static enum weft_status read_text(
    const char *text, struct sample *sample_out, struct weft_error *error)
{
    struct tree *tree = parsed(text);
    struct reader reader = {.error = error};

    *sample_out = (struct sample){.count = 0};
    record_read(&reader, tree->root, sample_fields, sample_out);
    tree_destroy(tree);
    return reader.status;
}

static char *written(const struct sample *sample, enum writer_style style)
{
    char *text = NULL;
    size_t size = 0;
    struct writer writer;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    writer_init(&writer, file, style);
    writer_open_mapping(&writer, WRITER_LINES);
    record_write(&writer, sample_fields, sample);
    writer_close(&writer);
    assert_int_equal(fclose(file), 0);
    return text;
}

static const char full[] = "kind: rich\nname: n\ncount: 7\nbytes: 3MB\nwait: 1500ms\nrun_ms: 0.25\n"
                           "rate: 2.5/s\ninner: {share: 0.5, on: true}\nnote: hello\nhalf: 4\n";

static void values_go_where_the_table_says(ATTR_UNUSED void **state)
{
    struct sample sample;
    struct weft_error error = {0};

    assert_good(read_text(full, &sample, &error), &error);
    assert_int_equal(sample.kind, SAMPLE_RICH);
    assert_string_equal(sample.name, "n");
    assert_int_equal(sample.count, 7);
    assert_int_equal(sample.bytes, 3000000);
    assert_int_equal(sample.wait_ns, 1500000000);
    assert_int_equal(sample.run_ns, 250000);
    assert_true(sample.rate_per_s == 2.5);
    assert_true(sample.inner.share == 0.5);
    assert_true(sample.inner.on);
    assert_string_equal(sample.note, "hello");
    assert_int_equal(sample.doubled, 8);
}

static void what_is_written_reads_the_same(ATTR_UNUSED void **state)
{
    struct sample sample;
    struct weft_error error = {0};

    assert_good(read_text(full, &sample, &error), &error);
    char *yaml = written(&sample, WRITER_YAML);
    assert_string_equal(yaml, full);
    free(yaml);
    char *json = written(&sample, WRITER_JSON);
    assert_string_equal(
        json,
        "{\n  \"kind\": \"rich\",\n  \"name\": \"n\",\n  \"count\": 7,\n  \"bytes\": 3000000,\n"
        "  \"wait\": \"1500ms\",\n  \"run_ms\": 0.25,\n  \"rate\": \"2.5/s\",\n"
        "  \"inner\": {\"share\": 0.5, \"on\": true},\n  \"note\": \"hello\",\n"
        "  \"half\": 4\n}\n");
    assert_good(read_text(json, &sample, &error), &error);
    yaml = written(&sample, WRITER_YAML);
    assert_string_equal(yaml, full);
    free(yaml);
    free(json);
}

static void what_is_left_out_has_a_meaning(ATTR_UNUSED void **state)
{
    struct sample sample;
    struct weft_error error = {0};

    assert_good(read_text("name: n\n", &sample, &error), &error);
    assert_int_equal(sample.kind, SAMPLE_PLAIN);
    assert_int_equal(sample.count, 3);
    assert_int_equal(sample.doubled, 2);
    char *text = written(&sample, WRITER_YAML);
    assert_string_equal(text, "name: n\nhalf: 1\n"); /* A mapping of which nothing is said, too. */
    free(text);
    sample.inner.on = true;
    sample.count = 0;
    text = written(&sample, WRITER_YAML);
    assert_string_equal(text, "name: n\ncount: 0\ninner: {share: 0, on: true}\nhalf: 1\n");
    free(text);
}

static void what_is_wrong_has_its_line(ATTR_UNUSED void **state)
{
    static const char *const wrong[][2] = {
        {"name: n\nnmae: m\n", "t.yaml:2: unknown key 'nmae'; did you mean 'name'?"},
        {"count: 3\n", "t.yaml:1: 'name' is missing"},
        {"name: n\ncount: 0\n", "t.yaml:2: 'count' must be between 1 and 1000000, not '0'"},
        {"name: n\nkind: poor\n", "t.yaml:2: kind 'poor' is not known; use plain, rich or odd"},
        {"name: n\nkind: rich\n", "t.yaml:1: 'bytes' is missing"},
        {"name: n\nbytes: 3\n", "t.yaml:2: 'bytes' goes with 'kind: rich'"},
        {"name: n\nwait: 3s\n", "t.yaml:2: 'wait' does not go with 'kind: plain'"},
        {"name: n\nnote: hello you\n", "t.yaml:2: 'note' is longer than 7 letters"},
        {"name: n\ninner: {share: 2}\n", "t.yaml:2: 'share' must be a part, not '2'"},
        {"name: n\ninner: 2\n", "t.yaml:2: 'inner' wants a mapping, not '2'"},
        {"name: n\nhalf: x\n", "t.yaml:2: 'half' wants a whole number such as '8', not 'x'"},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sample sample;
        struct weft_error error = {0};
        assert_int_equal(read_text(wrong[i][0], &sample, &error), WEFT_INVALID);
        assert_string_equal(error.message, wrong[i][1]);
    }
}

static void a_table_is_printed_for_people(ATTR_UNUSED void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    record_print(sample_fields, file);
    assert_int_equal(fclose(file), 0);
    assert_non_null(strstr(text, "| `kind` | `plain`, `rich` or `odd` | what it is | `plain` |\n"));
    assert_non_null(strstr(text, "| `name` | name | its name | needed |\n"));
    assert_non_null(strstr(text, "| `count` | number, between 1 and 1000000 | how many | `3` |\n"));
    assert_non_null(
        strstr(text, "| `wait` | duration, between 0 and 240h | how long | not at all |"));
    assert_non_null(strstr(text, "| `half` | half a number | is doubled | `1` |\n"));
    free(text);
}

/* What every table needs, so that what is left out reads as something. */
static void assert_complete(const struct field *fields, const struct field *field)
{
    const bool is_number = field->kind >= FIELD_IS_COUNT && field->kind <= FIELD_IS_NUMBER;

    assert_non_null(field->help);
    assert_true(field->kind != FIELD_OWN || field->form != NULL);
    assert_true(!is_number || (field->range != NULL && field->range->text != NULL));
    assert_true(field->kind != FIELD_IS_WORD || field->words != NULL);
    assert_true(field->only == 0 || fields[0].kind == FIELD_IS_WORD);
    assert_false(field->needed && field->fallback != NULL);
    for (const struct field *other = fields; other < field; other++) {
        assert_string_not_equal(other->key, field->key);
    }
    if (is_number && field->fallback != NULL) {
        struct reader reader = {.error = NULL};
        uint64_t value[64] = {0};
        struct field alone[2] = {*field};
        alone[0].place = 0;
        alone[0].only = 0;
        alone[0].read = NULL;
        record_read(&reader, /* node */ NULL, alone, value);
        assert_true(reader_is_good(&reader));
    }
}

static void every_table_is_complete(ATTR_UNUSED void **state)
{
    for (const struct document_table *table = document_tables; table->name != NULL; table++) {
        for (const struct field *field = table->fields; field->key != NULL; field++) {
            assert_complete(table->fields, field);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_go_where_the_table_says),
        cmocka_unit_test(what_is_written_reads_the_same),
        cmocka_unit_test(what_is_left_out_has_a_meaning),
        cmocka_unit_test(what_is_wrong_has_its_line),
        cmocka_unit_test(a_table_is_printed_for_people),
        cmocka_unit_test(every_table_is_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
