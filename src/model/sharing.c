#include "model/sharing.h"

#include "base/assert.h"

/*
 *   bits 0 … 23    by slice: units of the instance that starts there, 0 for none
 *   bits 24 … 31   by slice: whether that instance is in use
 */
enum { SIZE_BITS = 3, BUSY_SHIFT = SIZE_BITS * MIG_SLICES };

_Static_assert(MIG_UNITS < 1 << SIZE_BITS, "the units of an instance fit their bits");
_Static_assert(BUSY_SHIFT + MIG_SLICES <= 32, "a layout is one word");

/* A100, H100 and H200, as `nvidia-smi mig -lgipp` lists them: 8 slices of memory for 7 units. */
static const struct {
    uint8_t slices; /* How many it occupies. */
    uint8_t starts; /* Where it may start, as bits. */
} instances[MIG_UNITS + 1] = {
    [1] = {1, 0x7f}, [2] = {2, 0x15}, [3] = {4, 0x11}, [4] = {4, 0x01}, [7] = {8, 0x01},
};

uint32_t sharing_slices(uint32_t gpu, uint32_t slice)
{
    if (gpu > MIG_UNITS || slice >= MIG_SLICES || (instances[gpu].starts >> slice & 1) == 0) {
        return 0;
    }
    return ((UINT32_C(1) << instances[gpu].slices) - 1) << slice;
}

static uint32_t size_at(uint32_t layout, uint32_t slice)
{
    return layout >> (SIZE_BITS * slice) & ((1 << SIZE_BITS) - 1);
}

static bool is_busy(uint32_t layout, uint32_t slice)
{
    return (layout >> (BUSY_SHIFT + slice) & 1) != 0;
}

static void set_instance(uint32_t *layout, uint32_t slice, uint32_t gpu, bool busy)
{
    const uint32_t size_mask = (UINT32_C(1) << SIZE_BITS) - 1;
    *layout &= ~(size_mask << (SIZE_BITS * slice) | UINT32_C(1) << (BUSY_SHIFT + slice));
    *layout |= gpu << (SIZE_BITS * slice) | (busy ? UINT32_C(1) : 0) << (BUSY_SHIFT + slice);
}

/* Slices of instances: of those in use, or of the others. */
static uint32_t occupied(uint32_t layout, bool busy)
{
    uint32_t slices = 0;
    for (uint32_t i = 0; i < MIG_SLICES; i++) {
        if (is_busy(layout, i) == busy) {
            slices |= sharing_slices(size_at(layout, i), i);
        }
    }
    return slices;
}

uint32_t sharing_round(const struct fleet_worker *device, uint32_t gpu)
{
    if (gpu == 0 || gpu > device->gpu_units) {
        return device->gpu_units;
    }
    while (device->sharing == SHARES_MIG && instances[gpu].slices == 0) {
        gpu++;
    }
    return gpu;
}

struct shares sharing_idle(const struct fleet_worker *device)
{
    struct shares shares = {.free = device->gpu_units};
    if (device->sharing == SHARES_MIG) {
        set_instance(&shares.layout, /* slice */ 0, MIG_UNITS, /* busy */ false);
    }
    return shares;
}

bool sharing_fits(const struct fleet_worker *device, const struct shares *shares, uint32_t gpu)
{
    if (device->sharing != SHARES_MIG) {
        return gpu <= shares->free;
    }
    const uint32_t busy = occupied(shares->layout, /* busy */ true);
    for (uint32_t slice = 0; slice < MIG_SLICES && gpu <= shares->free; slice++) {
        const uint32_t wanted = sharing_slices(gpu, slice);
        if (wanted != 0 && (wanted & busy) == 0) {
            return true;
        }
    }
    return false;
}

/* How many idle instances would have to go for one of @gpu units at @slice. */
static uint32_t in_the_way(uint32_t layout, uint32_t gpu, uint32_t slice)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < MIG_SLICES; i++) {
        const uint32_t other = sharing_slices(size_at(layout, i), i);
        count += (other & sharing_slices(gpu, slice)) != 0 ? 1 : 0;
    }
    return count;
}

/* Where to have an instance of @gpu units: the highest slice of those with least in the way. */
static uint32_t find_slice(uint32_t layout, uint32_t gpu)
{
    const uint32_t busy = occupied(layout, /* busy */ true);
    uint32_t best = MIG_SLICES;
    uint32_t best_count = UINT32_MAX;
    for (uint32_t i = MIG_SLICES; i > 0; i--) {
        const uint32_t slice = i - 1;
        const uint32_t wanted = sharing_slices(gpu, slice);
        if (wanted == 0 || (wanted & busy) != 0) {
            continue;
        }
        if (size_at(layout, slice) == gpu) {
            return slice; /* It is there. */
        }
        const uint32_t count = in_the_way(layout, gpu, slice);
        if (count < best_count) {
            best = slice;
            best_count = count;
        }
    }
    return best;
}

struct share sharing_take(const struct fleet_worker *device, struct shares *shares, uint32_t gpu)
{
    struct share share = {.gpu = gpu};
    ASSERT(sharing_fits(device, shares, gpu));
    shares->free -= gpu;
    if (device->sharing != SHARES_MIG) {
        return share;
    }
    share.slice = find_slice(shares->layout, gpu);
    share.is_new = size_at(shares->layout, share.slice) != gpu;
    const uint32_t slices = sharing_slices(gpu, share.slice);
    for (uint32_t i = 0; i < MIG_SLICES; i++) {
        if ((sharing_slices(size_at(shares->layout, i), i) & slices) != 0) {
            set_instance(&shares->layout, i, /* gpu */ 0, /* busy */ false);
        }
    }
    set_instance(&shares->layout, share.slice, gpu, /* busy */ true);
    return share;
}

void sharing_give(
    const struct fleet_worker *device, struct shares *shares, const struct share *share,
    bool was_ready)
{
    shares->free += share->gpu;
    ASSERT(shares->free <= device->gpu_units);
    if (device->sharing == SHARES_MIG) {
        ASSERT(is_busy(shares->layout, share->slice));
        set_instance(&shares->layout, share->slice, was_ready ? share->gpu : 0, /* busy */ false);
    }
}

double sharing_interference(const struct fleet_worker *device, double interference)
{
    return interference > 0 && device->interference > 0 ? interference : device->interference;
}

double sharing_stretch(
    const struct fleet_worker *device, uint32_t others, uint32_t units, double interference)
{
    switch (device->sharing) {
    case SHARES_COUNTED:
        return 1 + (double)others * device->interference;
    case SHARES_SM:
        return 1 + (double)units / ((double)device->gpu_units * fleet_partitions(device)) *
                       sharing_interference(device, interference);
    case SHARES_MIG:
        break;
    }
    return 1;
}
