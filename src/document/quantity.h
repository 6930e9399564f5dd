/*
 * quantity.h - numbers with units, as people write them.
 *
 *   duration   300ms  2us  1.5s  10m  1h        whole nanoseconds
 *   bytes      60KB  14GB  14GiB  4096          whole bytes; KB is 1000, KiB is 1024
 *   bandwidth  10.2GB/s  100Gb/s                whole bytes per second; b is a bit
 *   rate       2/s  120/m  2                    per second
 *   share      10%  0.1                         a fraction
 *
 * Only the form is judged here; whether the value makes sense depends on its use.
 * Values up to 2^53 are exact.
 */
#ifndef DOCUMENT_QUANTITY_H
#define DOCUMENT_QUANTITY_H

#include <stdbool.h>

enum { QUANTITY_TEXT_BYTES = 40 };

enum quantity_kind {
    QUANTITY_NUMBER,
    QUANTITY_COUNT,
    QUANTITY_DURATION,
    QUANTITY_BYTES,
    QUANTITY_BANDWIDTH,
    QUANTITY_RATE,
    QUANTITY_FRACTION,
};

/* Read all of @text. False if it has another form. Too large a number is infinite. */
bool quantity_parse(enum quantity_kind kind, const char *text, double *value_out);

/*
 * The shortest text that reads as exactly @value, which is finite: a whole number of the largest
 * unit that leaves it whole, where the kind has such: "3MB", "1500ms", "0.25".
 */
void quantity_text(enum quantity_kind kind, double value, char out[QUANTITY_TEXT_BYTES]);

/* What a message asks for instead of another text: "a rate such as '2/s'". */
const char *quantity_example(enum quantity_kind kind);

#endif /* DOCUMENT_QUANTITY_H */
