/*
 * local_index.h - a served repository as clients see and change it.
 *
 * A model is available, or it is not: because it could not be read, or because a client has
 * unloaded it. The cluster is told of every change; requests for workflows that need what is
 * not there are refused. All of it belongs to the thread of the runtime; files are read on
 * another.
 */
#ifndef SERVICE_LOCAL_INDEX_H
#define SERVICE_LOCAL_INDEX_H

#include "server/server.h"
#include "service/measure_repository.h"

struct gpu_watch;
struct log;
struct rollout;
struct runtime;
struct runtime_answer;

/* Which file stood behind a model when it was last looked at. */
struct file_mark {
    uint64_t bytes;
    uint64_t inode;
    int64_t changed_ns;
};

struct local_index {
    struct measured *measured; /* Borrowed. */
    struct runtime *runtime;   /* While there is one. */
    struct log *log;           /* Borrowed. NULL: nothing is logged. */
    struct gpu_watch *gpus;    /* Borrowed. NULL: there is nothing to say about GPUs. */
    struct rollout *rollout;   /* Borrowed: where changes go. */
    struct model_set unloaded; /* Models, by a client; as the edition says that is served. */
    struct model_set looking;  /* Their files are being read. */
    bool *closed;              /* By workflow of a document: unloaded by a client. */
    uint32_t *versions;        /* By model; the same. 0: as the repository says. */
    struct file_mark *marks;   /* By model. */
    struct weft_tensor **seen; /* By workflow and result, as samples gave it; no contents. */
};

/* Over the models of @measured, as they have just been looked at. */
void local_index_init(struct local_index *index, struct measured *measured);
void local_index_deinit(struct local_index *index);

/* What could not be read is kept from @runtime, which is borrowed until local_index_leave(). */
void local_index_join(struct local_index *index, struct runtime *runtime);
void local_index_leave(struct local_index *index);

/* Take note of what the results of workflow @number look like in @answer, which is good. */
void local_index_learn(
    struct local_index *index, const struct runtime *runtime, uint32_t number,
    const struct runtime_answer *answer);

/* Whether nothing but an answer can say what some result of workflow @number looks like. */
bool local_index_is_unknown(const struct local_index *index, uint32_t number);

/* What clients are told, and may do; @index is borrowed. */
struct server_repository local_index_parts(struct local_index *index);

/* local_change.c: operations of struct server_repository. */
void local_change_load(void *context, const char *name, server_changed changed, void *asker);
enum weft_status local_change_unload(void *context, const char *name, struct weft_error *error);

/*
 * local_change.c: load every model whose newest file is another than when it was last looked at, or
 * could not be used then, as a client would. What a client has unloaded stays so. The log says what
 * came of each.
 */
void local_change_reload(struct local_index *index);

/* local_change.c: what stands behind @version of @model now; all zero if nothing does. */
struct file_mark local_change_mark(
    const struct repository *repository, uint32_t model, uint32_t version);

#endif /* SERVICE_LOCAL_INDEX_H */
