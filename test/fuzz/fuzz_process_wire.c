/*
 * fuzz_process_wire.c - whatever an engine process sends, what is taken of it can be used.
 *
 * Each packet has two files: a segment, and a file of its own that could still be written to.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "engine/lender.h"
#include "engine/segment.h"
#include "fuzz/fuzz.h"
#include "process/wire.h"

enum { FILE_BYTES = 1 << 17 };

static struct lender *lender;
static int files[2];

static void prepare(void)
{
    const struct segment *segment = segment_take(FILE_BYTES);
    ASSERT(segment != NULL);
    files[0] = segment->file;
    files[1] = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT(ftruncate(files[1], FILE_BYTES) == 0);
    ASSERT(fcntl(files[1], F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    lender = lender_create(segment_ledger_file());
    ASSERT(lender != NULL);
}

/* Read every byte. */
static uint64_t sum(const struct bundle *bundle)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < bundle->count; i++) {
        const uint8_t *bytes = bundle->tensors[i].data;
        for (uint64_t k = 0; k < bundle->tensors[i].bytes; k++) {
            total += bytes[k];
        }
        ASSERT(bundle->tensors[i].dtype != WEFT_BYTES || tensor_texts_fit(&bundle->tensors[i]));
    }
    return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct process_ran ran;
    if (lender == NULL) {
        prepare();
    }
    struct received received = {
        .kind = REPORT_RAN,
        .bytes = data,
        .count = size,
        .file_count = 2,
        .files = {dup(files[0]), dup(files[1])},
    };
    if (process_take_report(&received, lender, &ran)) {
        for (uint32_t i = 0; i < ran.report.output_count; i++) {
            ASSERT((ran.outputs[i].status == WEFT_OK) == (ran.outputs[i].contents != NULL));
            if (ran.outputs[i].contents != NULL) {
                ASSERT(sum(ran.outputs[i].contents) < UINT64_MAX);
            }
            bundle_destroy(ran.outputs[i].contents);
        }
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (received.files[i] >= 0) {
            (void)close(received.files[i]);
        }
    }
    return 0;
}
