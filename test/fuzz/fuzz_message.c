/* fuzz_message.c - what is read as a message is written as the same bytes. */
#include <string.h>

#include "base/assert.h"
#include "base/limits.h"
#include "fuzz/fuzz.h"
#include "wire/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint16_t placement[WORKFLOW_TASKS_MAX];
    uint8_t encoded[MESSAGE_BYTES_MAX];
    struct message message;

    if (message_decode(data, size, placement, &message) == WEFT_OK) {
        ASSERT(message_encode(&message, encoded, sizeof(encoded)) == size);
        ASSERT(memcmp(encoded, data, size) == 0);
    }
    return 0;
}
