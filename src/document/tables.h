/* tables.h - the tables of fields of all documents: for docs/DOCUMENTS.md, and for tests. */
#ifndef DOCUMENT_TABLES_H
#define DOCUMENT_TABLES_H

#include "document/record.h"

struct document_table {
    const char *name; /* As the page names it; NULL ends the list. */
    const struct field *fields;
};

extern const struct document_table document_tables[];

#endif /* DOCUMENT_TABLES_H */
