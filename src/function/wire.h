/*
 * wire.h - what goes between this process and those in which functions run.
 *
 * A message is a head, its tensors, and their data, over a stream socket. What is larger than
 * a socket holds lies in a file in memory, one for each direction, so that the sides take turns
 * once per message. A pair of sides keeps its two files to itself; they are
 * written again and again, since fresh pages cost more than the copy: a side sends only after
 * the other has answered, or is gone. No descriptor travels in a message, and no pointer.
 *
 * The function's side has the files mapped: inputs are read where they lie, and outputs are made
 * where they are sent from. Its host cannot trust it: what is read there is copied first, then
 * checked, then used. Only what lies on the shelf (shelf.h), which the host alone has
 * written, is used in place by both.
 */
#ifndef FUNCTION_WIRE_H
#define FUNCTION_WIRE_H

#include "engine/tensor_wire.h"
#include "function/shelf.h"

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
    uint64_t file_at;   /* Where in the file data begins, if there is any. */
    uint32_t has_file;  /* Data is in the file; set here. */
    uint32_t unused;    /* 0; no gap may tell what was in memory. */
    char text[240];
};

/* What a message says of each of its tensors. */
struct function_tensor {
    struct tensor_wire tensor;
    uint64_t place; /* On the shelf; 0: its data comes with the message. */
};

/* One end of the pair. A file of -1 is not there: all goes through the socket then. */
struct function_channel {
    int socket;
    int to_there;
    int from_there;
    struct function_room made;  /* The first file, mapped; of 0 bytes if it is not. */
    struct function_room given; /* The other. */
    struct function_shelf shelf;
};

/* Both ends of a pair, in memory of the kernel. The second is that of the function. */
struct function_channels {
    struct function_channel here;
    struct function_channel there;
};

/*
 * Make a pair. The function's end can read one file and write @bytes_max to the other, and
 * can make neither shorter. False if the system gives no descriptors.
 */
bool function_channels_open(struct function_channels *channels_out, uint64_t bytes_max);

/* Map the files of the function's end, as far as its limits allow. Closing undoes it for the shelf
 * alone. */
void function_channel_map(struct function_channel *channel);

void function_channel_close(struct function_channel *channel);

/* Give back the pages that a large message has left in the files. */
void function_channel_trim(const struct function_channel *channel);

/* The bytes of a file that @count tensors take from @at on. */
uint64_t function_file_bytes(uint64_t at, const struct weft_tensor *tensors, uint32_t count);

/*
 * Send @message with @tensors, unless they lie where they are to be already. False if the other
 * side is gone, or takes nothing until
 * @deadline_ns of CLOCK_MONOTONIC; 0: whenever.
 */
bool function_send(
    const struct function_channel *channel, const struct function_message *message,
    const struct weft_tensor *tensors, int64_t deadline_ns);

enum function_receipt { FUNCTION_RECEIVED, FUNCTION_GONE, FUNCTION_LATE, FUNCTION_NONSENSE };

/*
 * Receive a message, and its tensors as a bundle of at most @bytes_max, which the caller owns;
 * waits until @deadline_ns, 0: forever. Where the file is mapped, tensors of a call stay there,
 * and so do all on the shelf: they are not to be written, and good until the next call comes.
 */
enum function_receipt function_receive(
    const struct function_channel *channel, struct function_message *message_out,
    struct bundle **bundle_out, uint64_t bytes_max, int64_t deadline_ns);

#endif /* FUNCTION_WIRE_H */
