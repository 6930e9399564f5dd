/*
 * keeper.h - a process that owns the weights on a GPU, so that they outlive engine processes.
 *
 * A kernel that goes wrong takes its whole process with it. The keeper runs no kernels: it holds on
 * to memory that engine processes have filled. The engine process that comes after a broken one
 * maps what is there, and copies nothing. The keeper has no context on the device, and costs next
 * to no memory there.
 *
 *     engine process ── GIVE, DROP, RETAIN ──► keeper
 *                    ── TAKE ────────► keeper ── descriptors, or none ──► engine process
 *
 * Weights are given once they are complete and their load has been reported, so that no load waits
 * for the keeper. Its successor is given all of them again.
 */
#ifndef CUDA_KEEPER_H
#define CUDA_KEEPER_H

#include "cuda/block.h"
#include "engine/artifact.h"
#include "engine/channel.h"

enum { KEEPER_PIECES_MAX = PACKET_FILES_MAX };

/* What weights are called: a model on a worker, and which version of it. */
struct keeper_name {
    uint32_t model;
    uint32_t version;
};

/* A keeper, as its engine process sees it. Of one thread. */
struct cuda_keeper {
    struct channel channel;
    struct packet packet;
    bool is_there;
};

/* @socket becomes the keeper's; -1: there is none. */
void cuda_keeper_open(struct cuda_keeper *keeper, int socket);
void cuda_keeper_close(struct cuda_keeper *keeper);

/*
 * What an earlier process has filled with the weights @name, of @bytes, whole grains: pieces with
 * their descriptors, which are the caller's and have no handles yet. That process has run the
 * model, too.
 *
 * Errors: WEFT_NOT_FOUND if there is none; WEFT_LOST if the keeper is gone.
 */
enum weft_status cuda_keeper_take(
    struct cuda_keeper *keeper, struct keeper_name name, uint64_t bytes,
    struct cuda_block *block_out, struct weft_error *error);

/*
 * Keep the weights @name, which are complete, and whose pieces have descriptors: these stay the
 * caller's. One of more than KEEPER_PIECES_MAX pieces is not kept.
 */
void cuda_keeper_give(
    struct cuda_keeper *keeper, struct keeper_name name, const struct cuda_block *block);

/* The weights @name are no longer needed. */
void cuda_keeper_drop(struct cuda_keeper *keeper, struct keeper_name name);

/* Of @model only @versions are: what an earlier process had beside them goes. */
void cuda_keeper_retain(
    struct cuda_keeper *keeper, uint32_t model, const struct artifact_versions *versions);

/*
 * Be the keeper of GPU @gpu, with the driver @path, until @socket is closed: over it come the
 * sockets of engine processes, one after the other. Does not return.
 */
_Noreturn void cuda_keeper_main(const char *path, uint32_t gpu, int socket);

/* Pass a keeper, over @channel, the socket of a new engine process. False if it is gone. */
bool cuda_keeper_attach(struct channel *channel, struct packet *packet, int socket);

#endif /* CUDA_KEEPER_H */
