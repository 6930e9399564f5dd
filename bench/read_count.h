/*
 * read_count.h - a number on the command line of a benchmark.
 */
#ifndef READ_COUNT_H
#define READ_COUNT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* @text as a number from 1 to @most; prints @usage and ends if it is none. */
static inline uint64_t read_count(const char *text, uint64_t most, const char *usage)
{
    char *end;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*end != '\0' || value == 0 || value > most) {
        (void)fprintf(stderr, "usage: %s\n", usage);
        exit(EXIT_FAILURE);
    }
    return value;
}

#endif /* READ_COUNT_H */
