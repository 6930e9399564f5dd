/* attributes.h - what we ask of the compiler beyond C17. GCC and Clang only. */
#ifndef BASE_ATTRIBUTES_H
#define BASE_ATTRIBUTES_H

/* Check the arguments against the format string. Positions count from 1. */
#define ATTR_PRINTF(format_position, arguments_position)                                           \
    __attribute__((format(printf, format_position, arguments_position)))

/* May stay unused without a warning: parameters that only a contract asks for. */
#define ATTR_UNUSED __attribute__((unused))

/* Rarely called: keep it, and the way to it, out of the straight path. */
#define ATTR_COLD __attribute__((cold))

/*
 * Called all the time. Across files compilers see that main() runs once, take what only it calls
 * for as rare, and make it small instead of fast.
 */
#define ATTR_HOT __attribute__((hot))

/* The start of a cache line, for arrays whose groups must not straddle two. */
#define CACHE_LINE_BYTES 64

#endif /* BASE_ATTRIBUTES_H */
