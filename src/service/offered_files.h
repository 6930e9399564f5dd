/*
 * offered_files.h - the files of a repository as other nodes of a cluster may fetch them.
 *
 * A list of all of them, each with the sum of its contents, and pieces of a file by that sum: what
 * is not in the list cannot be asked for. Both sides prove that they are of the cluster
 * (file_proof.h): the one who asks, by an answer to a challenge that it got before, for its own
 * name and each path; the one who is asked, by the last line of its list. Who asks must also be
 * in the directory at that time. Files are read on other threads.
 */
#ifndef SERVICE_OFFERED_FILES_H
#define SERVICE_OFFERED_FILES_H

#include <stdbool.h>

#include <weft/status.h>

#include "server/server.h"

struct offered_files;
struct runtime;
struct trust;

enum {
    OFFERED_FILES_MAX = 4096,
    OFFERED_PIECE_BYTES = 1 << 20,
    OFFERED_LIST_BYTES_MAX = 2 << 20,
    OFFERED_PATH_BYTES = 512,
    OFFERED_DEPTH_MAX = 4, /* "MODEL/VERSION/model.cuda/FILE" */
};

#define OFFERED_ROUTE      "/v2/repository/files" /* And "/SUM/OFFSET" for a piece. */
#define OFFERED_CHALLENGE  "/challenge"
#define OFFERED_PROOF_LINE "proof " /* Begins the last line of a list. */
#define OFFERED_ASK        "ask"    /* What proofs are for: to ask; */
#define OFFERED_LIST       "list"   /* to be what was asked for. */

/* What is answered to who may not have what it asks for. */
enum {
    OFFERED_UNPROVEN = 403, /* It does not have the secret, or a certificate in its name. */
    OFFERED_STRANGER = 409, /* No member can be called so. */
    OFFERED_EARLY = 425,    /* The directory has not said yet that this node is there. */
};

/* Who may fetch, as far as proofs do not say. */
struct offered_guard {
    void *context;
    bool (*is_member)(void *context, const char *name); /* A member may be called so. */
    bool (*is_there)(void *context, const char *name);  /* It is in the directory now. */
};

/* What the one called @name proves to ask for @path. */
void offered_statement(const char *name, const char *path, char out[static OFFERED_PATH_BYTES]);

/* Of the repository at @folder; both are borrowed. The caller owns the result. */
struct offered_files *offered_files_create(
    const char *folder, const struct trust *trust, const struct offered_guard *guard);

/* NULL is allowed. */
void offered_files_destroy(struct offered_files *files);

/* What a server is given; its pieces are read by @runtime, which is borrowed as long. */
struct server_files offered_files_parts(struct offered_files *files, struct runtime *runtime);

#endif /* SERVICE_OFFERED_FILES_H */
