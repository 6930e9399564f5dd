/*
 * function_wire.h - what goes between this process and those in which functions run.
 *
 * A message is a head, its tensors, and their data, over a stream socket. What is larger than
 * a socket holds goes as a file in memory beside it, so that the sides take turns once a
 * message. Each thread writes into one such file again and again, since fresh pages cost more
 * than the copy: a side sends only after the other has answered, or is gone. The other side
 * may have lost its mind: whatever is read is checked before it is used.
 */
#ifndef ENGINE_FUNCTION_WIRE_H
#define ENGINE_FUNCTION_WIRE_H

#include "engine/function.h"

enum function_message_kind {
    FUNCTION_CALL,   /* To there: function `text`, with its inputs. */
    FUNCTION_RETURN, /* From there: how it ended, with its outputs. */
    FUNCTION_RUN,    /* From there: model `text`, with its inputs. */
    FUNCTION_RAN,    /* To there: how that ended, with its outputs. */
};

/* The head of a message. */
struct function_message {
    uint32_t kind;
    int32_t status;
    uint32_t items;
    uint32_t tensor_count;
    uint64_t bytes_max; /* CALL: of all outputs. */
    uint32_t has_file;  /* Data is in a file; set here. */
    char text[240];
};

/*
 * Send @message with @tensors. False if the other side is gone, or takes nothing until
 * @deadline_ns of CLOCK_MONOTONIC; 0: whenever.
 */
bool function_send(
    int socket, const struct function_message *message, const struct weft_tensor *tensors,
    int64_t deadline_ns);

enum function_receipt { FUNCTION_RECEIVED, FUNCTION_GONE, FUNCTION_LATE, FUNCTION_NONSENSE };

/*
 * Receive a message, and its tensors as a bundle of at most @bytes_max, which the caller owns;
 * waits until @deadline_ns, 0: forever.
 */
enum function_receipt function_receive(
    int socket, struct function_message *message_out, struct bundle **bundle_out,
    uint64_t bytes_max, int64_t deadline_ns);

/* This thread sends no more: close its file. */
void function_wire_end(void);

/* This process was forked: the file of the thread that did so is not its own. */
void function_wire_forked(void);

#endif /* ENGINE_FUNCTION_WIRE_H */
