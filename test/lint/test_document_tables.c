/*
 * The tables of keys in docs/DOCUMENTS.md are those of the fields that documents are read by.
 *
 *     test_document_tables             fails if the page says something else
 *     test_document_tables --write     puts them into the page
 *
 * A table stands between "<!-- table: NAME -->" and "<!-- end -->".
 *
 * Covers: src/document/tables.c
 */
#include "document/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

#define PAGE "docs/DOCUMENTS.md"

enum { PAGE_BYTES_MAX = 256 * 1024, MARKER_BYTES = 80 };

static const char end_marker[] = "<!-- end -->";

static void read_page(char page[PAGE_BYTES_MAX])
{
    FILE *file = fopen(PAGE, "rb");
    if (file == NULL) {
        perror(PAGE);
        exit(2);
    }
    page[fread(page, 1, PAGE_BYTES_MAX - 1, file)] = '\0';
    (void)fclose(file); /* Opened for reading: nothing can be lost. */
}

/* Print @page to @out with the table called @name in place of what stands there. */
static bool put(const char *page, const struct document_table *table, FILE *out)
{
    char marker[MARKER_BYTES];

    (void)snprintf(marker, sizeof(marker), "<!-- table: %s -->\n", table->name);
    const char *begin = strstr(page, marker);
    const char *end = begin == NULL ? NULL : strstr(begin, end_marker);
    if (end == NULL) {
        (void)fprintf(stderr, PAGE ": has no place for the table '%s'\n", table->name);
        return false;
    }
    (void)fprintf(out, "%.*s%s", (int)(begin - page), page, marker);
    record_print(table->fields, out);
    (void)fputs(end, out);
    return true;
}

int main(int argc, char **argv)
{
    static char before[PAGE_BYTES_MAX];
    static char after[PAGE_BYTES_MAX];
    int failures = 0;

    read_page(before);
    memcpy(after, before, sizeof(after));
    for (const struct document_table *table = document_tables; table->name != NULL; table++) {
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        const bool is_put = file != NULL && put(after, table, file);
        if (file == NULL || fclose(file) != 0 || size >= sizeof(after)) {
            return 2;
        }
        if (is_put) {
            memcpy(after, text, size + 1);
        }
        failures += is_put ? 0 : 1;
        free(text);
    }
    const bool is_same = strcmp(before, after) == 0;
    if (argc == 2 && strcmp(argv[1], "--write") == 0 && !is_same) {
        FILE *file = fopen(PAGE, "wb");
        return file == NULL || fputs(after, file) < 0 || fclose(file) != 0 ? 2 : failures;
    }
    if (!is_same) {
        (void)fprintf(
            stderr, PAGE ": its tables are not those of the fields; use %s --write\n", argv[0]);
    }
    return failures + (is_same ? 0 : 1);
}
