/*
 * fuzz_function_wire.c - whatever the process of a function sends, it is refused or fits.
 *
 * The first byte says whether the rest goes to the socket alone, or its second half to the file.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "function/wire.h"
#include "fuzz/fuzz.h"

enum { SENT_MAX = 60000, BYTES_MAX = 1 << 20 };

static void check(const struct bundle *bundle)
{
    uint64_t bytes = 0;
    ASSERT(bundle->count <= BUNDLE_TENSORS_MAX);
    for (uint32_t i = 0; i < bundle->count; i++) {
        const struct weft_tensor *tensor = &bundle->tensors[i];
        ASSERT(bundle_check_tensor(tensor, BYTES_MAX, NULL) == WEFT_OK);
        bytes += tensor->bytes;
    }
    ASSERT(bytes == bundle->bytes);
    ASSERT(bytes <= BYTES_MAX);
    (void)bundle_check_texts(bundle, NULL); /* It may say what it likes, within bounds. */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct function_channels pair;
    struct function_message message;
    struct bundle *bundle = NULL;
    if (size < 1 || size > SENT_MAX || !function_channels_open(&pair, BYTES_MAX)) {
        return 0;
    }
    const size_t sent = data[0] % 2 == 0 ? size - 1 : (size - 1) / 2;
    ASSERT(send(pair.there.socket, data + 1, sent, 0) == (ssize_t)sent);
    if (sent < size - 1) {
        ASSERT(pwrite(pair.there.to_there, data + 1 + sent, size - 1 - sent, 0) > 0);
    }
    function_channel_close(&pair.there);
    while (function_receive(&pair.here, &message, &bundle, BYTES_MAX, 0) == FUNCTION_RECEIVED) {
        ASSERT(memchr(message.text, '\0', sizeof(message.text)) != NULL);
        check(bundle);
        bundle_destroy(bundle);
        bundle = NULL;
    }
    ASSERT(bundle == NULL);
    function_channel_close(&pair.here);
    return 0;
}
