#include "cuda/share.h"

#include "base/assert.h"

enum {
    REST_UNITS_LEAST = 4,
    FREE_UNITS_MOST = 3, /* Of so few units all combinations can be shares. */
};

static uint32_t mask_of(uint32_t count)
{
    return count >= 32 ? UINT32_MAX : (UINT32_C(1) << count) - 1;
}

static uint32_t count_of(uint32_t units)
{
    uint32_t count = 0;
    for (; units != 0; units &= units - 1) {
        count++;
    }
    return count;
}

/* The lowest of @units. */
static uint32_t first_of(uint32_t units)
{
    uint32_t first = 0;
    while (first < CUDA_UNITS_MAX - 1 && (units >> first & 1) == 0) {
        first++;
    }
    return first;
}

enum weft_status cuda_shares_open(
    const struct cuda_device *device, struct cuda_shares *shares_out, struct weft_error *error)
{
    const struct cuda_driver *driver = device->driver;
    struct cuda_resource whole = {.type = 0};
    struct cuda_resource rest = {.type = 0};
    unsigned count = CUDA_UNITS_MAX - 1;
    int least = 0;
    int greatest = 0;
    *shares_out = (struct cuda_shares){.device = device};
    if (driver->priority_range(&least, &greatest) == CUDA_SUCCESS && least > greatest) {
        shares_out->priorities = least - greatest; /* Smaller numbers come first. */
    }
    int result = driver->resource_of(device->number, &whole, CUDA_RESOURCE_SM);
    if (result == CUDA_SUCCESS && whole.sm.count >= 2 * CUDA_UNIT_PROCESSORS) {
        const unsigned most = whole.sm.count / CUDA_UNIT_PROCESSORS;
        count = most < count ? most : count;
        result = driver->resource_split(
            shares_out->parts, &count, &whole, &rest, /* flags */ 0, CUDA_UNIT_PROCESSORS);
        shares_out->unit_count = count;
        if (result == CUDA_SUCCESS && rest.sm.count >= CUDA_UNIT_PROCESSORS) {
            shares_out->rest = UINT32_C(1) << shares_out->unit_count;
            shares_out->parts[shares_out->unit_count++] = rest;
        }
    }
    if (result != CUDA_SUCCESS || shares_out->unit_count == 0) {
        shares_out->unit_count = 1; /* It cannot be split. */
    }
    return cuda_is_fatal(result) ? cuda_check(driver, result, "split the GPU", error) : WEFT_OK;
}

void cuda_shares_close(struct cuda_shares *shares)
{
    const struct cuda_driver *driver = shares->device->driver;
    for (uint32_t i = 0; i < shares->share_count; i++) {
        (void)driver->stream_destroy(shares->shares[i].stream);
        for (uint32_t k = 0; k < CUDA_LEVELS_MAX; k++) {
            if (shares->shares[i].sooner[k] != NULL) {
                (void)driver->stream_destroy(shares->shares[i].sooner[k]);
            }
        }
        if (shares->shares[i].green != NULL) {
            (void)driver->green_destroy(shares->shares[i].green);
        }
    }
    shares->share_count = 0;
}

/* Make @share, of its units. */
static int make(const struct cuda_shares *shares, struct cuda_share *share)
{
    const struct cuda_driver *driver = shares->device->driver;
    struct cuda_resource parts[CUDA_UNITS_MAX];
    struct CUdevResourceDesc_st *description;
    unsigned count = 0;
    if (shares->are_streams || share->units == mask_of(shares->unit_count)) {
        return driver->stream_create(&share->stream, CUDA_STREAM_APART);
    }
    for (uint32_t i = 0; i < shares->unit_count; i++) {
        if ((share->units >> i & 1) != 0) {
            parts[count++] = shares->parts[i];
        }
    }
    int result = driver->resource_describe(&description, parts, count);
    if (result == CUDA_SUCCESS) {
        result = driver->green_create(
            &share->green, description, shares->device->number, CUDA_GREEN_DEFAULT_STREAM);
    }
    if (result != CUDA_SUCCESS) {
        return result;
    }
    result = driver->green_stream(&share->stream, share->green, CUDA_STREAM_APART, 0);
    if (result != CUDA_SUCCESS) {
        (void)driver->green_destroy(share->green);
    }
    return result;
}

/* The free neighbours around @units, all of them aligned: as many as could have been taken instead.
 */
static uint32_t room_around(uint32_t free, uint32_t at, uint32_t count)
{
    uint32_t room = count;
    while (room < CUDA_UNITS_MAX) {
        const uint32_t first = at / (2 * room) * (2 * room);
        const uint32_t units = mask_of(2 * room) << first;
        if ((units & free) != units) {
            break;
        }
        room *= 2;
    }
    return room;
}

/*
 * Which of the free units to take, of neighbours @within; 0 if they cannot be had now. Of 1, 2, 4
 * ... units, those from a multiple of their number on, where the least room is lost for larger
 * ones: few shares are made, and come again and again. Of other numbers neighbours, or else any;
 * any also in parts of a few units, where all that is free must be of use.
 */
static uint32_t choose(const struct cuda_shares *shares, uint32_t within, uint32_t count)
{
    const uint32_t kept = count < REST_UNITS_LEAST ? shares->rest : 0;
    const uint32_t first = first_of(within);
    const uint32_t free = (~shares->busy & ~kept & within) >> first;
    const uint32_t room_units = count_of(within);
    const bool is_aligned = (count & (count - 1)) == 0;
    const bool may_be_any = !is_aligned || room_units <= FREE_UNITS_MOST;
    const uint32_t step = is_aligned ? count : 1;
    uint32_t best = 0;
    uint32_t best_room = UINT32_MAX;
    if (count_of(free) < count) {
        return 0;
    }
    for (uint32_t at = 0; at + count <= room_units; at += step) {
        const uint32_t units = mask_of(count) << at;
        const uint32_t room = is_aligned ? room_around(free, at, count) : 0;
        if ((units & free) == units && room < best_room) {
            best = units;
            best_room = room;
        }
    }
    for (uint32_t i = 0; i < room_units && may_be_any && count_of(best) < count; i++) {
        best |= free & UINT32_C(1) << i;
    }
    return best << first;
}

/* The largest share that is there, is free, lies @within, and has at most @count units. */
static struct cuda_share *find_smaller(struct cuda_shares *shares, uint32_t within, uint32_t count)
{
    struct cuda_share *best = NULL;
    for (uint32_t i = 0; i < shares->share_count; i++) {
        struct cuda_share *share = &shares->shares[i];
        if ((share->units & (shares->busy | ~within)) == 0 && count_of(share->units) <= count &&
            (best == NULL || count_of(share->units) > count_of(best->units))) {
            best = share;
        }
    }
    return best;
}

struct cuda_parts cuda_cut(uint32_t units, bool has_rest, uint32_t wanted)
{
    const uint32_t whole = has_rest ? units - 1 : units; /* Units that are alike. */
    if (wanted <= 1 || whole < 2) {
        return (struct cuda_parts){.count = 1, .units = units};
    }
    const uint32_t count = wanted < whole ? wanted : whole;
    const uint32_t most = units / count;
    return (struct cuda_parts){
        .count = count, .units = most < REST_UNITS_LEAST ? whole / count : most};
}

uint32_t cuda_shares_part(const struct cuda_shares *shares, uint32_t part, uint32_t wanted)
{
    const struct cuda_parts parts = cuda_cut(shares->unit_count, shares->rest != 0, wanted);
    ASSERT(part < parts.count);
    return mask_of(parts.units) << (part * parts.units);
}

/* Make one more share, of @units. */
static int add(struct cuda_shares *shares, uint32_t units, struct cuda_share **share_out)
{
    struct cuda_share *share = &shares->shares[shares->share_count];
    *share = (struct cuda_share){.number = shares->share_count, .units = units};
    const int result = make(shares, share);
    if (result == CUDA_SUCCESS) {
        shares->share_count++;
        *share_out = share;
    }
    return result;
}

/* The first @count of @units. */
static uint32_t first_so_many(uint32_t units, uint32_t count)
{
    uint32_t first = 0;
    for (; count > 0; count--) {
        first |= units & ~(units - 1);
        units &= units - 1;
    }
    return first;
}

/* The first stream that is free, of those that are there and @known; NULL if there is none. */
static struct cuda_share *find_stream(struct cuda_shares *shares, uint64_t known)
{
    for (uint32_t i = 0; i < shares->share_count; i++) {
        if (!shares->shares[i].is_taken && (known >> i & 1) != 0) {
            return &shares->shares[i];
        }
    }
    return NULL;
}

/* The first stream that is free, with the first @count units @within that are. */
static int take_stream(
    struct cuda_shares *shares, uint32_t within, uint32_t count, struct cuda_share **share_out)
{
    const uint32_t free = ~shares->busy & within;
    int result = CUDA_SUCCESS;
    if (count_of(free) < count) {
        return CUDA_SUCCESS;
    }
    *share_out = find_stream(shares, /* known: all */ UINT64_MAX);
    if (*share_out == NULL && shares->share_count < CUDA_SHARES_MAX) {
        result = add(shares, /* units */ 0, share_out);
    }
    if (*share_out != NULL) {
        (*share_out)->units = first_so_many(free, count);
    }
    return result;
}

/* Processors for @count units @within. */
static int take_units(
    struct cuda_shares *shares, uint32_t within, uint32_t count, struct cuda_share **share_out)
{
    const uint32_t chosen = choose(shares, within, count);
    if (chosen == 0) {
        return CUDA_SUCCESS;
    }
    for (uint32_t i = 0; i < shares->share_count; i++) {
        if (shares->shares[i].units == chosen) {
            *share_out = &shares->shares[i];
            return CUDA_SUCCESS;
        }
    }
    if (shares->share_count < CUDA_SHARES_MAX) {
        return add(shares, chosen, share_out);
    }
    *share_out = find_smaller(shares, within, count);
    return CUDA_SUCCESS;
}

/* How many units of @there a batch gets that wants @units. */
static uint32_t count_wanted(const struct cuda_shares *shares, uint32_t there, uint32_t units)
{
    const uint32_t most = count_of(there);
    const uint32_t least = shares->are_streams ? 0 : 1;
    return units < least ? least : units > most ? most : units;
}

static void mark_taken(struct cuda_shares *shares, struct cuda_share *share)
{
    share->is_taken = true;
    shares->busy |= share->units;
}

enum weft_status cuda_shares_take(
    struct cuda_shares *shares, uint32_t within, uint32_t units, struct cuda_share **share_out,
    struct weft_error *error)
{
    const uint32_t there = within & mask_of(shares->unit_count);
    const uint32_t count = count_wanted(shares, there, units);
    *share_out = NULL;
    const int result = shares->are_streams ? take_stream(shares, there, count, share_out)
                                           : take_units(shares, there, count, share_out);
    if (result == CUDA_SUCCESS && *share_out != NULL) {
        mark_taken(shares, *share_out);
    }
    return cuda_check(shares->device->driver, result, "make a share of the GPU", error);
}

/* Whether @share, of so many units, is better for @count than @best is. */
static bool is_nearer(uint32_t share, uint32_t best, uint32_t count)
{
    return best < count ? share > best : share >= count && share < best;
}

struct cuda_share *cuda_shares_take_known(
    struct cuda_shares *shares, uint32_t within, uint32_t units, uint32_t least, uint64_t known)
{
    const uint32_t there = within & mask_of(shares->unit_count);
    const uint32_t count = count_wanted(shares, there, units);
    struct cuda_share *best = NULL;
    if (shares->are_streams) {
        const uint32_t free = ~shares->busy & there;
        best = count_of(free) < count ? NULL : find_stream(shares, known);
        if (best != NULL) {
            best->units = first_so_many(free, count);
        }
    }
    for (uint32_t i = 0; i < shares->share_count && !shares->are_streams; i++) {
        struct cuda_share *share = &shares->shares[i];
        const uint32_t has = count_of(share->units);
        if ((known >> i & 1) != 0 && (share->units & (shares->busy | ~there)) == 0 &&
            has >= (least < count ? least : count) &&
            (best == NULL || is_nearer(has, count_of(best->units), count))) {
            best = share;
        }
    }
    if (best != NULL) {
        mark_taken(shares, best);
    }
    return best;
}

bool cuda_shares_is_free(const struct cuda_shares *shares, const struct cuda_share *share)
{
    return !share->is_taken && (shares->are_streams || (shares->busy & share->units) == 0);
}

void cuda_shares_hold(struct cuda_shares *shares, struct cuda_share *share)
{
    ASSERT(cuda_shares_is_free(shares, share));
    share->units = shares->are_streams ? 0 : share->units;
    mark_taken(shares, share);
}

void cuda_shares_give(struct cuda_shares *shares, struct cuda_share *share)
{
    ASSERT(share->is_taken && (shares->busy & share->units) == share->units);
    shares->busy &= ~share->units;
    share->is_taken = false;
}

struct CUstream_st *cuda_shares_stream(
    const struct cuda_shares *shares, struct cuda_share *share, uint32_t level)
{
    const uint32_t there =
        shares->priorities < CUDA_LEVELS_MAX ? (uint32_t)shares->priorities : CUDA_LEVELS_MAX;
    const uint32_t most = level < there ? level : there;
    if (most == 0 || share->green != NULL) {
        return share->stream;
    }
    struct CUstream_st **stream = &share->sooner[most - 1];
    if (*stream == NULL && shares->device->driver->stream_create_first(
                               stream, CUDA_STREAM_APART, -(int)most) != CUDA_SUCCESS) {
        *stream = NULL;
    }
    return *stream == NULL ? share->stream : *stream;
}
