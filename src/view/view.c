#include "view/view.h"

#include "base/assert.h"
#include "model/sharing.h"

/*
 * The oldest of the cuts that have kept the two apart without a pause until now: what was
 * seen when it began is all that has been seen since. Cuts are in the order of their
 * beginnings, so each is asked whether it still held when the next later one began.
 */
const struct board_cut *view_cut(const struct view *view, uint32_t worker)
{
    const uint32_t other = view->fleet->workers[worker].node;
    const struct board_cut *oldest = NULL;
    int64_t at_ns = view->now_ns;
    for (uint32_t i = view->board->cut_count; i > 0; i--) {
        const struct board_cut *cut = &view->board->cuts[i - 1];
        const bool is_between = (view->node < cut->node_first) != (other < cut->node_first);
        if (is_between && cut->until_ns > at_ns) {
            oldest = cut;
            at_ns = cut->from_ns;
        }
    }
    return oldest;
}

const struct row_load *view_load_cut(const struct view *view, uint32_t worker)
{
    const struct board_cut *cut = view_cut(view, worker);
    return cut != NULL ? &cut->load[worker] : board_load(view->board, worker, view->now_ns);
}

const struct row_cache *view_cache_cut(const struct view *view, uint32_t worker)
{
    const struct board_cut *cut = view_cut(view, worker);
    return cut != NULL ? &cut->cache[worker] : board_cache(view->board, worker, view->now_ns);
}

int64_t view_age_ns(const struct view *view, uint32_t worker)
{
    ASSERT(worker < view->board->worker_count);

    if (view_is_own(view, worker)) {
        return 0;
    }
    const int64_t received_ns = view_load(view, worker)->at_ns + view->board->delay_ns;
    return received_ns < view->now_ns ? view->now_ns - received_ns : 0;
}

static uint32_t part_left(uint32_t all, int64_t free)
{
    if (free < 0) {
        return 0;
    }
    return free < all ? (uint32_t)free : all;
}

/* The last word on the units of a worker: its row, or what it has said since. */
struct word {
    int64_t at_ns;     /* When it came. */
    uint64_t sequence; /* Reservations that this row counts are in it, */
    uint64_t counted;  /* and those up to this number. */
    uint32_t layout;
    uint32_t cpu;
    uint32_t gpu;
};

static struct word last_word(const struct view *view, uint32_t worker)
{
    const struct row_load *load = view_load(view, worker);
    const struct news_entry *said = news_since(&view->news, worker, load->sequence);
    if (said == NULL) {
        return (struct word){
            .at_ns = load->at_ns + view->board->delay_ns,
            .sequence = load->sequence,
            .layout = load->layout,
            .cpu = load->cpu_free,
            .gpu = load->gpu_free,
        };
    }
    return (struct word){
        .at_ns = said->at_ns,
        .sequence = said->row_sequence - 1,
        .counted = said->counted,
        .layout = said->layout,
        .cpu = said->cpu,
        .gpu = said->gpu,
    };
}

struct units view_corrected_units(const struct view *view, uint32_t worker)
{
    const struct fleet_worker *device = &view->fleet->workers[worker];
    const struct fleet_node *machine = &view->fleet->nodes[device->node];
    const struct word own = last_word(view, worker);
    int64_t at_ns = own.at_ns;
    int64_t gpu = own.gpu;
    int64_t cpu = own.cpu;
    int64_t cpu_claimed = 0;
    for (uint32_t i = 0; i < machine->worker_count && !view_is_own(view, worker); i++) {
        const uint32_t other = machine->worker_first + i;
        const struct word word = last_word(view, other);
        const struct units claimed =
            reservations_units(&view->reservations, other, word.sequence, word.counted);
        gpu -= other == worker ? claimed.gpu : 0;
        cpu_claimed += claimed.cpu;
        cpu = word.at_ns > at_ns ? word.cpu : cpu; /* All speak of the same processors. */
        at_ns = max_i64(word.at_ns, at_ns);
    }
    return (struct units){
        .gpu = part_left(device->gpu_units, gpu),
        .cpu = part_left(machine->cpu_units, cpu - cpu_claimed),
    };
}

/* Instances as the worker last showed them, and where those that were claimed since will be. */
static bool fits_layout(const struct view *view, uint32_t worker, uint32_t gpu)
{
    const struct fleet_worker *device = &view->fleet->workers[worker];
    const struct word word = last_word(view, worker);
    struct shares shares = {.free = word.gpu, .layout = word.layout};
    const struct reservations *reservations = &view->reservations;
    uint32_t slot = reservations->buckets[worker % RESERVATION_BUCKETS];
    for (; slot != POOL_NONE && !view_is_own(view, worker);) {
        const struct reservation *noted = pool_at(reservations->pool, slot);
        slot = noted->next;
        if (noted->worker != worker || noted->units.gpu == 0 ||
            reservation_is_counted(noted, word.sequence, word.counted)) {
            continue;
        }
        if (!sharing_fits(device, &shares, noted->units.gpu)) {
            return false;
        }
        (void)sharing_take(device, &shares, noted->units.gpu);
    }
    return sharing_fits(device, &shares, gpu);
}

bool view_fits(const struct view *view, uint32_t worker, uint32_t cpu, uint32_t gpu)
{
    const struct fleet_worker *device = &view->fleet->workers[worker];
    const uint32_t wanted = sharing_round(device, gpu);
    if (wanted > view_gpu_at_most(view, worker)) {
        return false;
    }
    const struct units free = view_free_units(view, worker);
    return wanted <= free.gpu && cpu <= free.cpu &&
           (device->sharing != SHARES_MIG || fits_layout(view, worker, wanted));
}
