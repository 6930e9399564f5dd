#include "document/record.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "base/text.h"
#include "base/units.h"

enum { ONLY_BYTES = 160 };

static const char *const answers[] = {"false", "true", NULL};

/* Of the kinds that are numbers: how they are written, and what documentation calls them. */
static const struct {
    enum quantity_kind quantity;
    enum { UNSIGNED, SIGNED, DOUBLE } type; /* Of the member. */
    const char *text;
} numbers[] = {
    [FIELD_IS_COUNT] = {QUANTITY_COUNT, UNSIGNED, "number"},
    [FIELD_IS_DURATION] = {QUANTITY_DURATION, SIGNED, "duration"},
    [FIELD_IS_MS] = {QUANTITY_NUMBER, SIGNED, "milliseconds"},
    [FIELD_IS_BYTES] = {QUANTITY_BYTES, UNSIGNED, "size"},
    [FIELD_IS_BANDWIDTH] = {QUANTITY_BANDWIDTH, UNSIGNED, "bandwidth"},
    [FIELD_IS_RATE] = {QUANTITY_RATE, DOUBLE, "rate"},
    [FIELD_IS_FRACTION] = {QUANTITY_FRACTION, DOUBLE, "fraction"},
    [FIELD_IS_NUMBER] = {QUANTITY_NUMBER, DOUBLE, "number"},
};

static bool is_number(const struct field *field)
{
    return field->kind >= FIELD_IS_COUNT && field->kind <= FIELD_IS_NUMBER;
}

static const char *const *words_of(const struct field *field)
{
    return field->words == NULL ? answers : field->words;
}

static void *member(const struct field *field, void *record)
{
    return (char *)record + field->place;
}

static const void *const_member(const struct field *field, const void *record)
{
    return (const char *)record + field->place;
}

/* Whether @field goes with the kind of @record, which is its first field. */
static bool goes_with(const struct field *fields, const struct field *field, const void *record)
{
    if (field->only == 0) {
        return true;
    }
    ASSERT(fields[0].kind == FIELD_IS_WORD);
    const uint32_t *kind = const_member(&fields[0], record);
    return (field->only >> *kind & 1) != 0;
}

/* Refuse @field, which goes with other kinds of the record: names the fewer of both. */
static void fail_only(
    struct reader *reader, const struct tree_node *node, const struct field *fields,
    const struct field *field)
{
    char bytes[ONLY_BYTES];
    struct text text;
    uint32_t count = 0;
    uint32_t with = 0;

    for (; fields[0].words[count] != NULL; count++) {
        with += field->only >> count & 1;
    }
    const bool names_others = with > count / 2;
    const uint32_t named = names_others ? ~field->only : field->only;
    text_init(&text, bytes, sizeof(bytes));
    for (uint32_t i = 0; i < count; i++) {
        if ((named >> i & 1) != 0) {
            text_add(
                &text, "%s'%s: %s'", text.length == 0 ? "" : " or ", fields[0].key,
                fields[0].words[i]);
        }
    }
    reader_fail(
        reader, node, "'%s' %s %s", field->key, names_others ? "does not go with" : "goes with",
        bytes);
}

void record_check_keys(
    struct reader *reader, const struct tree_node *node, const struct field *fields)
{
    const char *keys[FIELDS_MAX + 1] = {NULL};

    for (uint32_t i = 0; fields[i].key != NULL; i++) {
        ASSERT(i < FIELDS_MAX);
        keys[i] = fields[i].key;
    }
    reader_mapping(reader, node, keys);
}

static void store_number(const struct field *field, double value, void *record)
{
    void *to = member(field, record);

    if (numbers[field->kind].type == DOUBLE) {
        *(double *)to = value;
    } else if (numbers[field->kind].type == SIGNED) {
        *(int64_t *)to =
            (int64_t)floor(field->kind == FIELD_IS_MS ? value * (double)NS_PER_MS + 0.5 : value);
    } else if (field->size == sizeof(uint64_t)) {
        *(uint64_t *)to = (uint64_t)value;
    } else {
        *(uint32_t *)to = (uint32_t)value;
    }
}

static void read_text(
    struct reader *reader, const struct tree_node *node, const struct field *field, void *record)
{
    const char *text = reader_text(reader, node);

    if (strlen(text) >= field->size) {
        reader_fail(reader, node, "'%s' is longer than %zu letters", field->key, field->size - 1);
    } else if (reader_is_good(reader)) {
        memcpy(member(field, record), text, strlen(text) + 1);
    }
}

static void read_value(
    struct reader *reader, const struct tree_node *node, const struct field *field, void *record)
{
    if (field->read != NULL) {
        field->read(reader, node, field->kind == FIELD_OWN ? member(field, record) : record);
    } else if (is_number(field)) {
        ASSERT(field->range != NULL);
        const double value =
            reader_quantity(reader, node, numbers[field->kind].quantity, field->range);
        if (reader_is_good(reader)) {
            store_number(field, value, record);
        }
    } else if (field->kind == FIELD_IS_WORD) {
        *(uint32_t *)member(field, record) = reader_word(reader, node, words_of(field));
    } else if (field->kind == FIELD_IS_FLAG) {
        *(bool *)member(field, record) = reader_word(reader, node, words_of(field)) == 1;
    } else if (field->kind == FIELD_IS_NAME) {
        reader_name(reader, node, member(field, record));
    } else if (field->kind == FIELD_IS_TEXT) {
        read_text(reader, node, field, record);
    } else if (field->kind == FIELD_IS_RECORD) {
        record_read(reader, node, field->fields, member(field, record));
    }
}

static void read_field(
    struct reader *reader, const struct tree_node *node, const struct field *fields,
    const struct field *field, void *record)
{
    const struct tree_node *value = tree_find(node, field->key);
    const struct tree_node meant = {
        .kind = TREE_SCALAR, .key = field->key, .text = field->fallback};

    if (!goes_with(fields, field, record)) {
        if (value != NULL) {
            fail_only(reader, value, fields, field);
        }
    } else if (value != NULL) {
        read_value(reader, value, field, record);
    } else if (field->needed) {
        (void)reader_need(reader, node, field->key);
    } else if (field->fallback != NULL) {
        read_value(reader, &meant, field, record);
    } else if (field->kind == FIELD_IS_RECORD && field->read == NULL) {
        record_read(reader, NULL, field->fields, member(field, record));
    }
}

void record_read(
    struct reader *reader, const struct tree_node *node, const struct field *fields, void *record)
{
    const uint32_t mark = reader_mark(reader, node);

    record_check_keys(reader, node, fields);
    const bool has_unknown = reader->failures != mark;
    if (has_unknown && node != NULL && node->kind == TREE_MAPPING) {
        reader_go_on(reader);
    }
    for (const struct field *field = fields; field->key != NULL && reader_is_good(reader);
         field++) {
        if (field->relies && reader->failures != mark) {
            continue;
        }
        if (has_unknown && tree_find(node, field->key) == NULL) {
            continue; /* What looks missing may be what was misspelt. */
        }
        read_field(reader, node, fields, field, record);
        if (field != fields || field->kind != FIELD_IS_WORD) { /* Others go with its kind. */
            reader_go_on(reader);
        }
    }
    reader_settle(reader, mark);
}

static double load_number(const struct field *field, const void *record)
{
    const void *from = const_member(field, record);

    return numbers[field->kind].type == DOUBLE   ? *(const double *)from
           : numbers[field->kind].type == SIGNED ? (double)*(const int64_t *)from
           : field->size == sizeof(uint64_t)     ? (double)*(const uint64_t *)from
                                                 : *(const uint32_t *)from;
}

static uint32_t load_word(const struct field *field, const void *record)
{
    return field->kind == FIELD_IS_FLAG ? *(const bool *)const_member(field, record)
                                        : *(const uint32_t *)const_member(field, record);
}

/* Whether @record says what is meant if @field is left out. */
static bool can_be_left_out(const struct field *field, const void *record)
{
    if (field->needed || field->always) {
        return false;
    }
    if (is_number(field)) {
        double meant = 0;
        if (field->fallback != NULL) {
            (void)quantity_parse(numbers[field->kind].quantity, field->fallback, &meant);
        }
        return load_number(field, record) == meant;
    }
    if (field->kind == FIELD_IS_WORD || field->kind == FIELD_IS_FLAG) {
        const char *word = words_of(field)[load_word(field, record)];
        return strcmp(word, field->fallback == NULL ? words_of(field)[0] : field->fallback) == 0;
    }
    if (field->kind == FIELD_IS_NAME || field->kind == FIELD_IS_TEXT) {
        return ((const char *)const_member(field, record))[0] == '\0';
    }
    const struct field *inner = field->fields;
    bool all = true; /* One level down, and no further: tables do not hold each other. */
    for (; inner->key != NULL; inner++) {
        struct field optional = *inner;
        optional.always = false;
        all = all && can_be_left_out(&optional, const_member(field, record));
    }
    return all;
}

static void write_value(struct writer *writer, const struct field *field, const void *record)
{
    if (field->kind == FIELD_IS_MS) {
        writer_ms(writer, *(const int64_t *)const_member(field, record));
    } else if (is_number(field)) {
        const enum quantity_kind kind = numbers[field->kind].quantity;
        writer_quantity(
            writer, kind == QUANTITY_FRACTION ? QUANTITY_NUMBER : kind, load_number(field, record));
    } else if (field->kind == FIELD_IS_WORD || field->kind == FIELD_IS_FLAG) {
        writer_word(writer, words_of(field)[load_word(field, record)]);
    } else if (field->kind == FIELD_IS_RECORD) {
        record_write_inline(writer, field->fields, const_member(field, record));
    } else {
        writer_text(writer, const_member(field, record));
    }
}

void record_write(struct writer *writer, const struct field *fields, const void *record)
{
    for (const struct field *field = fields; field->key != NULL; field++) {
        if (!goes_with(fields, field, record)) {
            continue;
        }
        if (field->write != NULL) {
            field->write(writer, field->kind == FIELD_OWN ? const_member(field, record) : record);
        } else if (field->kind != FIELD_OWN && !can_be_left_out(field, record)) {
            writer_key(writer, field->key);
            write_value(writer, field, record);
        }
    }
}

void record_write_inline(struct writer *writer, const struct field *fields, const void *record)
{
    writer_open_mapping(writer, WRITER_INLINE);
    record_write(writer, fields, record);
    writer_close(writer);
}

/* "`burst` or `mmpp`": the kinds that @field goes with. */
static void print_only(const struct field *fields, const struct field *field, FILE *file)
{
    const char *between = "";

    for (uint32_t i = 0; fields[0].words[i] != NULL; i++) {
        if ((field->only >> i & 1) != 0) {
            (void)fprintf(file, "%s`%s`", between, fields[0].words[i]);
            between = " or ";
        }
    }
}

/* What is written there: "duration, between 1us and 1h", "`star` or `two-tier`". */
static void print_form(const struct field *field, FILE *file)
{
    if (field->form != NULL) {
        (void)fputs(field->form, file);
    } else if (is_number(field)) {
        (void)fprintf(file, "%s, %s", numbers[field->kind].text, field->range->text);
    } else if (field->kind == FIELD_IS_WORD || field->kind == FIELD_IS_FLAG) {
        const char *const *words = words_of(field);
        for (uint32_t i = 0; words[i] != NULL; i++) {
            (void)fprintf(
                file, "%s`%s`",
                i == 0                 ? ""
                : words[i + 1] == NULL ? " or "
                                       : ", ",
                words[i]);
        }
    } else {
        (void)fputs(
            field->kind == FIELD_IS_NAME   ? "name"
            : field->kind == FIELD_IS_TEXT ? "text"
                                           : "mapping",
            file);
    }
}

static void print_left_out(const struct field *field, FILE *file)
{
    if (field->left_out != NULL || field->needed) {
        (void)fputs(field->left_out != NULL ? field->left_out : "needed", file);
    } else if (field->fallback != NULL) {
        (void)fprintf(file, "`%s`", field->fallback);
    } else if (field->kind == FIELD_IS_WORD || field->kind == FIELD_IS_FLAG) {
        (void)fprintf(file, "`%s`", words_of(field)[0]);
    } else if (is_number(field)) {
        (void)fputc('0', file);
    }
}

void record_print(const struct field *fields, FILE *file)
{
    (void)fputs("| key | value | means | default |\n|---|---|---|---|\n", file);
    for (const struct field *field = fields; field->key != NULL; field++) {
        (void)fprintf(file, "| `%s` | ", field->key);
        print_form(field, file);
        (void)fputs(" | ", file);
        if (field->only != 0 && field->only >> 31 == 0) { /* Not all but some. */
            (void)fputs("with ", file);
            print_only(fields, field, file);
            (void)fputs(": ", file);
        }
        (void)fprintf(file, "%s | ", field->help);
        print_left_out(field, file);
        (void)fputs(" |\n", file);
    }
}
