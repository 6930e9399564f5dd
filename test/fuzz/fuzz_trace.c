/* fuzz_trace.c - any bytes as a trace: our own form or that of tokens. */
#include "base/assert.h"
#include "document/trace_document.h"
#include "fuzz/fuzz.h"

/* One workflow, called "chat"; it is only looked up. */
static struct workflow chat = {.name = "chat", .sealed = true};
static struct workflow *workflows[] = {&chat};
static const struct catalogue catalogue = {.workflow_count = 1, .workflows = workflows};

static void check(const struct trace *trace)
{
    int64_t before_ns = 0;

    ASSERT(trace->count > 0 && trace->count <= ARRIVALS_ROWS_MAX);
    for (uint32_t i = 0; i < trace->count; i++) {
        const struct arrival *row = &trace->rows[i];
        ASSERT(row->at_ns >= before_ns && row->at_ns <= TRACE_SPAN_NS);
        ASSERT(row->items >= 1 && row->items <= ITEMS_MAX);
        ASSERT(row->workflow == (trace->has_workflows ? 0 : ARRIVAL_WORKFLOW_ANY));
        before_ns = row->at_ns;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct trace_source source = {.file = "f.csv", .bytes = (const char *)data, .size = size};
    const struct trace_options options = {
        .catalogue = &catalogue,
        .items_per = size % 2 == 0 ? 0 : 512,
    };
    struct trace trace = {0};
    struct weft_error error = {0};
    struct arena arena;

    arena_init(&arena);
    const enum weft_status status = trace_parse(&source, &options, &arena, &trace, &error);
    ASSERT((status == WEFT_OK) == (error.message[0] == '\0'));
    if (status == WEFT_OK) {
        check(&trace);
    }
    arena_deinit(&arena);
    return 0;
}
