/* scalar_save.h - numbers and texts as documents write them: what is written reads the same. */
#ifndef DOCUMENT_SCALAR_SAVE_H
#define DOCUMENT_SCALAR_SAVE_H

#include <stdint.h>
#include <stdio.h>

/* Whole numbers in the largest unit that leaves them whole: "3MB", "1500ms", "25GB/s". */
void scalar_write_bytes(uint64_t bytes, FILE *file);
void scalar_write_bandwidth(uint64_t bytes_per_s, FILE *file);
void scalar_write_duration(int64_t ns, FILE *file);

/* @ns as a plain number of milliseconds: "0.25". */
void scalar_write_ms(int64_t ns, FILE *file);

/* The shortest text that reads as exactly @number, which is finite. */
void scalar_write_number(double number, FILE *file);

/* @text, in quotes unless it is a plain name. It is UTF-8. */
void scalar_write_text(const char *text, FILE *file);

#endif /* DOCUMENT_SCALAR_SAVE_H */
