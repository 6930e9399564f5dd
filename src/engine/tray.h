/*
 * tray.h - memory in which one process leaves a message for another that is about to look.
 *
 * A message over a socket wakes whoever waits there, and takes a call to send and one to read. A
 * receiver that looks anyway before it waits needs none of them. So it opens the tray when it
 * expects a message, and closes it before it waits; the sender leaves a message in a tray that is
 * open, once, and sends all others over the socket. So none waits unseen, and which way a message
 * goes is decided in one word of memory.
 *
 * The receiver makes the tray and trusts nothing in it: what it takes is a copy. Each side is of
 * one thread at a time.
 */
#ifndef ENGINE_TRAY_H
#define ENGINE_TRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRAY_BYTES_MAX = 16000 }; /* Of a message; with its head, four pages. */

enum tray_state {
    TRAY_CLOSED,
    TRAY_OPEN,
    TRAY_FULL, /* A message is in it; it is closed for others. */
};

struct tray;

/* A closed tray, and the file in which the other side finds it, which is the caller's. NULL if the
 * system gives no memory. */
struct tray *tray_create(int *file_out);

/* The sender's view of the tray in @file, which is closed. NULL if it is none. */
struct tray *tray_attach(int file);

/* NULL is nothing. */
void tray_destroy(struct tray *tray);

/* The receiver is going to look. What is in it stays there. */
void tray_open(struct tray *tray);

/* The receiver does not look again before it waits, unless there is a message: then the tray stays
 * FULL. Returns what it was; CLOSED: whatever was expected has come over the socket. */
enum tray_state tray_close(struct tray *tray);

/* The receiver takes the message: at most @room bytes, and none if there is none. */
size_t tray_take(struct tray *tray, void *bytes, size_t room);

/* The sender leaves a message of @count bytes. False if it has to be sent. */
bool tray_put(struct tray *tray, const void *bytes, size_t count);

#endif /* ENGINE_TRAY_H */
