/*
 * table.h - text in columns, each as wide as its widest cell.
 *
 *     struct table table;
 *     table_init(&table, columns, 2);
 *     table_add(&table, "%s", name);        row by row, cell by cell
 *     table_add(&table, "%.1f", value);
 *     table_print(&table, stdout);
 *     table_deinit(&table);
 */
#ifndef CONSOLE_TABLE_H
#define CONSOLE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"
#include "console/style.h"

enum { TABLE_CELL_BYTES_MAX = 512 };

struct table_column {
    const char *title;
    bool right; /* Numbers end in the same column, text begins in it. */
};

struct table_cell {
    char *text; /* Owned. */
    enum style style;
};

struct table {
    const struct table_column *columns; /* Borrowed. */
    uint32_t column_count;
    uint32_t cell_count;
    struct table_cell *cells; /* By row; the first are the titles. */
    uint32_t spare_count;
    const uint8_t *spares; /* Borrowed. */
};

void table_init(struct table *table, const struct table_column *columns, uint32_t column_count);

/* The next cell of the row, or the first of the next. Cut at TABLE_CELL_BYTES_MAX. */
ATTR_PRINTF(2, 3)
void table_add(struct table *table, const char *format, ...);

/* The same for a number, or "-" if there is none: NAN. */
void table_add_number(struct table *table, int decimals, double value);

/* How the last cell looks on a terminal; and all cells of the last row, which is complete. */
void table_style(struct table *table, enum style style);
void table_style_row(struct table *table, enum style style);

/* Columns that may be left out where a terminal is too narrow for all, the first ones first. */
void table_spare(struct table *table, const uint8_t *columns, uint32_t count);

/*
 * Titles, then rows; two spaces between columns and none at the end of a line. On a terminal
 * titles are bold: see style.h; and if columns were left out, a last line names them.
 */
void table_print(const struct table *table, FILE *file);

void table_deinit(struct table *table);

#endif /* CONSOLE_TABLE_H */
