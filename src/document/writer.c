#include "document/writer.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"

enum { MS_DECIMALS = 6, INDENT = 2 };

void writer_init(struct writer *writer, FILE *file, enum writer_style style)
{
    *writer = (struct writer){.file = file, .style = style};
}

static bool is_json(const struct writer *writer)
{
    return writer->style != WRITER_YAML;
}

static void new_line(const struct writer *writer, uint32_t level)
{
    (void)fprintf(writer->file, "\n%*s", (int)(INDENT * level), "");
}

/* What stands between an entry of the innermost level and the one before. */
static void separate(struct writer *writer)
{
    struct writer_level *level = &writer->levels[writer->depth - 1];
    const bool is_first = level->count == 0;

    level->count++;
    if (level->layout == WRITER_INLINE) {
        (void)fputs(is_first ? "" : ", ", writer->file);
    } else if (is_json(writer)) {
        (void)fputs(is_first ? "" : ",", writer->file);
        new_line(writer, writer->depth);
    } else if (!is_first || (writer->depth > 1 && !level->hangs)) {
        new_line(writer, writer->depth - 1);
    }
}

/* Before a value; @breaks: it begins on the next line. True behind the dash of a list. */
static bool begin(struct writer *writer, bool breaks)
{
    if (writer->depth == 0) {
        return false;
    }
    const struct writer_level *level = &writer->levels[writer->depth - 1];
    if (!level->is_list) {
        (void)fputs(breaks ? "" : " ", writer->file);
        return false;
    }
    separate(writer);
    const bool has_dash = level->layout == WRITER_LINES && !is_json(writer);
    (void)fputs(has_dash ? "- " : "", writer->file);
    return has_dash;
}

static void open_level(struct writer *writer, enum writer_layout layout, bool is_list)
{
    const enum writer_layout actual = writer->style == WRITER_JSON_SPREAD ? WRITER_LINES : layout;
    const bool has_brackets = is_json(writer) || actual == WRITER_INLINE;
    const bool hangs = begin(writer, /* breaks */ !has_brackets);

    ASSERT(writer->depth < WRITER_DEPTH_MAX);
    (void)fputs(!has_brackets ? "" : is_list ? "[" : "{", writer->file);
    writer->levels[writer->depth++] = (struct writer_level){
        .outside = writer->style, .layout = actual, .is_list = is_list, .hangs = hangs};
}

void writer_open_mapping(struct writer *writer, enum writer_layout layout)
{
    open_level(writer, layout, /* is_list */ false);
}

void writer_open_list(struct writer *writer, enum writer_layout layout)
{
    open_level(writer, layout, /* is_list */ true);
}

void writer_open_json(struct writer *writer)
{
    const enum writer_style outside = writer->style;

    writer->style = WRITER_JSON;
    open_level(writer, WRITER_LINES, /* is_list */ false);
    writer->levels[writer->depth - 1].outside = outside;
}

void writer_close(struct writer *writer)
{
    ASSERT(writer->depth > 0);
    const struct writer_level *level = &writer->levels[--writer->depth];
    if (is_json(writer) && level->layout == WRITER_LINES && level->count > 0) {
        new_line(writer, writer->depth);
    }
    if (is_json(writer) || level->layout == WRITER_INLINE) {
        (void)fputc(level->is_list ? ']' : '}', writer->file);
    }
    writer->style = level->outside;
    if (writer->depth == 0) {
        (void)fputc('\n', writer->file);
    }
}

static bool is_plain(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const size_t length = strlen(text);
    return length > 0 && strspn(text, letters) > 0 &&
           strspn(text + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
               length - 1;
}

static void put_text(const struct writer *writer, const char *text)
{
    if (!is_json(writer) && is_plain(text)) {
        (void)fputs(text, writer->file);
        return;
    }
    (void)fputc('"', writer->file);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '"' || *at == '\\') {
            (void)fprintf(writer->file, "\\%c", *at);
        } else if ((unsigned char)*at < ' ') {
            (void)fprintf(
                writer->file, is_json(writer) ? "\\u00%02x" : "\\x%02x",
                (unsigned)(unsigned char)*at);
        } else {
            (void)fputc(*at, writer->file);
        }
    }
    (void)fputc('"', writer->file);
}

void writer_key(struct writer *writer, const char *key)
{
    ASSERT(writer->depth > 0);
    ASSERT(!writer->levels[writer->depth - 1].is_list);
    separate(writer);
    put_text(writer, key);
    (void)fputc(':', writer->file);
}

void writer_key_below(struct writer *writer, const char *key)
{
    struct writer_level *level = &writer->levels[writer->depth - 1];

    ASSERT(level->layout == WRITER_INLINE);
    (void)fputs(level->count == 0 ? "" : ",", writer->file);
    new_line(writer, writer->depth);
    level->count = 0;
    writer_key(writer, key);
}

void writer_text(struct writer *writer, const char *text)
{
    (void)begin(writer, /* breaks */ false);
    put_text(writer, text);
}

void writer_word(struct writer *writer, const char *word)
{
    const bool is_bare =
        !is_json(writer) || strcmp(word, "true") == 0 || strcmp(word, "false") == 0;

    (void)begin(writer, /* breaks */ false);
    (void)fprintf(writer->file, is_bare ? "%s" : "\"%s\"", word);
}

void writer_quantity(struct writer *writer, enum quantity_kind kind, double value)
{
    char text[QUANTITY_TEXT_BYTES];

    quantity_text(kind == QUANTITY_BYTES && is_json(writer) ? QUANTITY_COUNT : kind, value, text);
    const bool is_bare = !is_json(writer) || text[strspn(text, "-+.e0123456789")] == '\0';
    (void)begin(writer, /* breaks */ false);
    (void)fprintf(writer->file, is_bare ? "%s" : "\"%s\"", text);
}

void writer_ms(struct writer *writer, int64_t ns)
{
    ASSERT(ns >= 0);
    int64_t fraction = ns % NS_PER_MS;
    const int64_t whole = ns / NS_PER_MS;
    int decimals = MS_DECIMALS;
    while (decimals > 0 && fraction % 10 == 0) {
        fraction /= 10;
        decimals--;
    }
    writer_quantity(writer, QUANTITY_COUNT, (double)whole);
    if (decimals > 0) {
        (void)fprintf(writer->file, ".%0*" PRId64, decimals, fraction);
    }
}

void writer_numbers(struct writer *writer, const char *key, const double *numbers, uint32_t count)
{
    writer_key(writer, key);
    writer_open_list(writer, WRITER_INLINE);
    for (uint32_t i = 0; i < count; i++) {
        writer_quantity(writer, QUANTITY_NUMBER, numbers[i]);
    }
    writer_close(writer);
}
