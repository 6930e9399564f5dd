#include "cuda/turns.h"

#include <stdlib.h>

#include "engine/monotonic.h"

static int compare_times(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* See which of @others have ended, and start what is next there; not if this @ends. */
static enum weft_status keep_running(
    struct turns *others, uint32_t count, bool ends, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        struct turns *turns = &others[i];
        if (turns->is_running) {
            status = cuda_graph_poll(&turns->graphs[turns->at], error);
            turns->is_running = status == WEFT_BUSY;
            turns->at = turns->is_running ? turns->at : (turns->at + 1) % turns->count;
            status = status == WEFT_BUSY ? WEFT_OK : status;
        }
        if (status == WEFT_OK && !turns->is_running && !ends) {
            turns->is_running = true;
            status = cuda_graph_launch(&turns->graphs[turns->at], error);
        }
    }
    return status;
}

static enum weft_status end_all(struct turns *others, uint32_t count, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < count; i++) {
        while (others[i].is_running && status == WEFT_OK) {
            status = keep_running(others, count, /* ends */ true, error);
        }
    }
    return status;
}

static enum weft_status run(
    struct cuda_graph *graph, struct turns *others, uint32_t count, int64_t *ns_out,
    struct weft_error *error)
{
    const int64_t started_ns = monotonic_ns();
    enum weft_status status = cuda_graph_launch(graph, error);
    while (status == WEFT_OK && (status = cuda_graph_poll(graph, error)) == WEFT_BUSY) {
        status = keep_running(others, count, /* ends */ false, error);
    }
    *ns_out = monotonic_ns() - started_ns;
    return status;
}

enum weft_status turns_time(
    struct turns *own, struct turns *others, uint32_t count, const struct turns_enough *enough,
    struct turns_times *times_out, struct weft_error *error)
{
    int64_t all_ns[TURNS_RUNS_MAX];
    uint32_t timed = 0;
    int64_t spent_ns = 0;
    struct estimate_times times = {.count = 0};
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i <= TURNS_RUNS_MAX && status == WEFT_OK; i++) {
        int64_t run_ns = 0;
        int64_t next_ns;
        status = run(&own->graphs[0], others, count, &run_ns, error);
        if (i > 0) { /* The first is beside nothing, or not warm. */
            all_ns[timed++] = run_ns;
            estimate_add(&times, run_ns);
            spent_ns += run_ns;
        }
        if (i >= enough->runs && spent_ns > enough->ns) {
            break;
        }
        for (uint32_t k = 1; k < own->count && status == WEFT_OK; k++) {
            status = run(&own->graphs[k], others, count, &next_ns, error);
        }
    }
    if (status == WEFT_OK) {
        status = end_all(others, count, error);
    }
    if (status == WEFT_OK) {
        qsort(all_ns, timed, sizeof(all_ns[0]), compare_times);
        *times_out = (struct turns_times){.all = times, .median_ns = all_ns[timed / 2]};
    }
    return status;
}

void turns_close(struct turns *turns)
{
    for (uint32_t i = 0; i < turns->count; i++) {
        cuda_graph_close(&turns->graphs[i]);
    }
    turns->count = 0;
}
