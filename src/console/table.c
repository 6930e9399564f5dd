#include "console/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "model/grow.h"

enum { COLUMN_GAP = 2 };

void table_add(struct table *table, const char *format, ...)
{
    char text[TABLE_CELL_BYTES_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);

    const size_t bytes = strlen(text) + 1;
    char *cell = memory_zeroed(bytes, 1);
    memcpy(cell, text, bytes);
    table->cells = grow(table->cells, table->cell_count, sizeof(*table->cells));
    table->cells[table->cell_count] = (struct table_cell){.text = cell};
    table->cell_count++;
}

void table_style(struct table *table, enum style style)
{
    ASSERT(table->cell_count > 0);
    table->cells[table->cell_count - 1].style = style;
}

void table_style_row(struct table *table, enum style style)
{
    ASSERT(table->cell_count >= table->column_count);
    for (uint32_t i = 1; i <= table->column_count; i++) {
        table->cells[table->cell_count - i].style = style;
    }
}

void table_init(struct table *table, const struct table_column *columns, uint32_t column_count)
{
    ASSERT(column_count > 0);
    *table = (struct table){.columns = columns, .column_count = column_count};
    for (uint32_t i = 0; i < column_count; i++) {
        table_add(table, "%s", columns[i].title);
    }
    table_style_row(table, STYLE_BOLD);
}

void table_add_number(struct table *table, int decimals, double value)
{
    if (isnan(value)) {
        table_add(table, "-");
    } else {
        table_add(table, "%.*f", decimals, value);
    }
}

/* Characters, not bytes: those that continue a character of UTF-8 do not count. */
static uint32_t width_of(const char *text)
{
    uint32_t width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xc0U) == 0x80U ? 0 : 1;
    }
    return width;
}

static uint32_t column_width(const struct table *table, uint32_t column)
{
    uint32_t width = 0;
    for (uint32_t i = column; i < table->cell_count; i += table->column_count) {
        width = max_u32(width, width_of(table->cells[i].text));
    }
    return width;
}

void table_spare(struct table *table, const uint8_t *columns, uint32_t count)
{
    table->spares = columns;
    table->spare_count = count;
}

/* How many of the spare columns are to be left out, for the rest to fit @columns. */
static uint32_t count_left_out(const struct table *table, uint32_t columns)
{
    uint32_t width = 0;
    uint32_t left_out = 0;
    for (uint32_t i = 0; i < table->column_count; i++) {
        width += column_width(table, i) + (i == 0 ? 0 : COLUMN_GAP);
    }
    for (; width > columns && left_out < table->spare_count; left_out++) {
        width -= column_width(table, table->spares[left_out]) + COLUMN_GAP;
    }
    return left_out;
}

static bool is_left_out(const struct table *table, uint32_t left_out, uint32_t column)
{
    for (uint32_t i = 0; i < left_out; i++) {
        if (table->spares[i] == column) {
            return true;
        }
    }
    return false;
}

/* Print one row. Spaces are held back until text follows, so that none end a line. */
static void print_row(
    const struct table *table, const struct table_cell *cells, uint32_t left_out, FILE *file)
{
    const bool is_styled = style_is_on(file);
    uint32_t spaces = 0;
    for (uint32_t i = 0; i < table->column_count; i++) {
        if (is_left_out(table, left_out, i)) {
            continue;
        }
        const char *text = cells[i].text;
        const enum style style = is_styled ? cells[i].style : STYLE_PLAIN;
        const uint32_t gap = column_width(table, i) - width_of(text);
        const bool right = table->columns[i].right;
        spaces += right ? gap : 0;
        if (text[0] != '\0') {
            (void)fprintf(
                file, "%*s%s%s%s", (int)spaces, "", style_begin(style), text, style_end(style));
            spaces = 0;
        }
        spaces += (right ? 0 : gap) + COLUMN_GAP;
    }
    (void)fputc('\n', file);
}

void table_print(const struct table *table, FILE *file)
{
    ASSERT(table->cell_count % table->column_count == 0);
    const uint32_t left_out = count_left_out(table, style_columns(file));
    for (uint32_t i = 0; i < table->cell_count; i += table->column_count) {
        print_row(table, &table->cells[i], left_out, file);
    }
    for (uint32_t i = 0; i < left_out; i++) {
        (void)fprintf(
            file, "%s%s%s", i == 0 ? "no room for " : ", ", table->columns[table->spares[i]].title,
            i + 1 == left_out ? "\n" : "");
    }
}

void table_deinit(struct table *table)
{
    for (uint32_t i = 0; i < table->cell_count; i++) {
        free(table->cells[i].text);
    }
    free(table->cells);
    *table = (struct table){0};
}
