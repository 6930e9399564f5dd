#include "client/timing.h"

#include <string.h>

/* The value of "@name=" in the list @value, in ns; it is written in us. */
static int64_t read_part(struct http_span value, const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i + length < value.length; i++) {
        if (memcmp(value.bytes + i, name, length) != 0) {
            continue;
        }
        int64_t us = 0;
        for (size_t k = i + length; k < value.length; k++) {
            const char c = value.bytes[k];
            if (c < '0' || c > '9' || us > INT64_MAX / 100000) {
                break;
            }
            us = us * 10 + (c - '0');
        }
        return us * 1000;
    }
    return 0;
}

void timing_read(const struct http_head *head, struct timing *timing_out)
{
    const struct http_span *timing = http_head_find(head, "weft-timing");
    *timing_out = (struct timing){.total_ns = 0};
    if (timing != NULL) {
        *timing_out = (struct timing){
            .total_ns = read_part(*timing, "total_us="),
            .queue_ns = read_part(*timing, "queue_us="),
            .run_ns = read_part(*timing, "run_us="),
            .other_ns = read_part(*timing, "other_us="),
        };
    }
}
