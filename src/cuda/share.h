/*
 * share.h - parts of a GPU that run at the same time: units of processors, freely combined.
 *
 * The device is split once into units of eight processors (SMs); what is left over is one unit
 * more, a larger one. A share is any set of units with a stream: what runs on it runs on those
 * processors alone. All units together are the whole device. Shares are made when they are first
 * needed, and stay: graphs are recorded for one of them. Those of 1, 2, 4 ... units begin at a
 * multiple of their number, so that there are few: one may have to wait although enough units are
 * free. What is left over is only part of shares of at least four units: its processors are not a
 * whole group that kernels in clusters could use.
 *
 * Shares may also be streams, which use whatever processors are idle: units then only say how many
 * run at a time. The first stream that is free is taken, whatever the units: a GPU runs every graph
 * more slowly once work has come from several streams.
 */
#ifndef CUDA_SHARE_H
#define CUDA_SHARE_H

#include "cuda/driver.h"

enum { CUDA_UNITS_MAX = 32, CUDA_SHARES_MAX = 64, CUDA_UNIT_PROCESSORS = 8, CUDA_LEVELS_MAX = 8 };

struct cuda_share {
    uint32_t number; /* Its place, below CUDA_SHARES_MAX. */
    uint32_t units;  /* As bits. Of a stream, those that it was taken with. */
    bool is_taken;
    uint32_t uses;               /* Batches that its owner ran there. */
    struct CUgreenCtx_st *green; /* NULL: the whole device. */
    struct CUstream_st *stream;
    struct CUstream_st *sooner[CUDA_LEVELS_MAX]; /* By priority; NULL: not made yet. */
};

struct cuda_shares {
    const struct cuda_device *device;
    uint32_t unit_count;
    struct cuda_resource parts[CUDA_UNITS_MAX];
    uint32_t rest;    /* The unit that is left over, as a bit. 0: there is none. */
    uint32_t busy;    /* Units in use, as bits. */
    bool are_streams; /* Otherwise they have processors. */
    int priorities;   /* How many there are above that of a stream without one. */
    uint32_t share_count;
    struct cuda_share shares[CUDA_SHARES_MAX];
};

/*
 * Split @device. Only the whole can be had of one that cannot be split. On success
 * cuda_shares_close() releases it.
 *
 * Errors: those of cuda_check().
 */
enum weft_status cuda_shares_open(
    const struct cuda_device *device, struct cuda_shares *shares_out, struct weft_error *error);
void cuda_shares_close(struct cuda_shares *shares);

/* Equal parts of a device. */
struct cuda_parts {
    uint32_t count;
    uint32_t units; /* Of each. */
};

/*
 * Cut @units units, of which the last may be what is left over, into @wanted parts, or as many as
 * can be made. Of parts that are too small for what is left over, none has it.
 */
struct cuda_parts cuda_cut(uint32_t units, bool has_rest, uint32_t wanted);

/* The units, as bits, of part @part of @wanted, as they are cut: neighbours. */
uint32_t cuda_shares_part(const struct cuda_shares *shares, uint32_t part, uint32_t wanted);

/*
 * Take @units units of @within, which are neighbours, at least 1, or as many as these are: until
 * cuda_shares_give(). Where no further share can be made, one with fewer units. NULL with WEFT_OK
 * if they cannot be had now. Streams can be had with 0 units, beside all others.
 *
 * Errors: those of cuda_check().
 */
enum weft_status cuda_shares_take(
    struct cuda_shares *shares, uint32_t within, uint32_t units, struct cuda_share **share_out,
    struct weft_error *error);
void cuda_shares_give(struct cuda_shares *shares, struct cuda_share *share);

/*
 * Take one of the shares @known, which are bits by number, for @units units of @within: the first
 * stream; or the one that has at least @least units, of these the fewest that are enough, or else
 * the most. NULL if none can be had now.
 */
struct cuda_share *cuda_shares_take_known(
    struct cuda_shares *shares, uint32_t within, uint32_t units, uint32_t least, uint64_t known);

/* Whether @share itself can be had now, a stream with no units; and take it, if it can. */
bool cuda_shares_is_free(const struct cuda_shares *shares, const struct cuda_share *share);
void cuda_shares_hold(struct cuda_shares *shares, struct cuda_share *share);

/*
 * The stream of @share whose kernels start before those of streams with a smaller @level; 0: the
 * share's own. A device without as many levels has the highest that there is.
 */
struct CUstream_st *cuda_shares_stream(
    const struct cuda_shares *shares, struct cuda_share *share, uint32_t level);

#endif /* CUDA_SHARE_H */
