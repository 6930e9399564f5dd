/*
 * status.h - how every fallible call reports its outcome.
 *
 * Zero is success, negative is failure. A status says what kind of failure it
 * was, so that a program can choose what to do next; a weft_error says what
 * happened, so that a person can. Programmer errors are not statuses: they stop
 * the program at the ASSERT that found them.
 */
#ifndef WEFT_STATUS_H
#define WEFT_STATUS_H

/* Everything between these two is exported, and callable from C++. */
#ifdef __cplusplus
#define WEFT_API_BEGIN                                                                             \
    _Pragma("GCC visibility push(default)") extern "C"                                             \
    {
#define WEFT_API_END                                                                               \
    }                                                                                              \
    _Pragma("GCC visibility pop")
#else
#define WEFT_API_BEGIN _Pragma("GCC visibility push(default)")
#define WEFT_API_END   _Pragma("GCC visibility pop")
#endif

/* Clang warns when a value of a checked type is dropped; GCC has no such attribute for types. */
#ifdef __clang__
#define WEFT_CHECKED __attribute__((warn_unused_result))
#else
#define WEFT_CHECKED
#endif

/* One table: the enum, the names and the descriptions cannot drift apart. */
#define WEFT_STATUS_MAP(X)                                                                         \
    X(WEFT_OK, 0, "success")                                                                       \
    X(WEFT_NO_MEMORY, -1, "out of memory")                                                         \
    X(WEFT_INVALID, -2, "invalid argument or document")                                            \
    X(WEFT_NOT_FOUND, -3, "no such object")                                                        \
    X(WEFT_EXISTS, -4, "object already exists")                                                    \
    X(WEFT_LIMIT, -5, "a configured limit was reached")                                            \
    X(WEFT_IO, -6, "input or output failed")                                                       \
    X(WEFT_REFUSED, -7, "refused")                                                                 \
    X(WEFT_CANCELLED, -8, "cancelled")                                                             \
    X(WEFT_BUSY, -9, "busy, try again later")                                                      \
    X(WEFT_FAILED, -10, "the work could not be done")                                              \
    X(WEFT_LOST, -11, "the device is lost")                                                        \
    X(WEFT_CRASHED, -12, "the process that did the work crashed")

enum WEFT_CHECKED weft_status {
#define X(name, value, text) name = (value),
    WEFT_STATUS_MAP(X)
#undef X
};

/* Filled by the function that first decides that the operation has failed. */
struct weft_error {
    enum weft_status status;
    char message[240];
};

WEFT_API_BEGIN

/* The description of @status. Never NULL; the text is static. */
const char *weft_status_text(enum weft_status status);

WEFT_API_END

#endif /* WEFT_STATUS_H */
