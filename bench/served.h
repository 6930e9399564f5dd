/*
 * served.h - real models, served: what the benchmarks of the runtime have in common.
 *
 * A folder is made for the run, with models of layers of random weights; ONNX Runtime runs
 * them on the processors of this machine. Requests are made up and come as arrivals say.
 */
#ifndef SERVED_H
#define SERVED_H

#include "lab/run.h"
#include "service/local_repository.h"
#include "service/service.h"

enum { SERVED_FOLDER_BYTES = 64 };

struct served {
    char folder[SERVED_FOLDER_BYTES];
    struct repository *repository;
    struct local_repository local;
    struct scenario scenario; /* Its parts are those above. */
};

/*
 * Make a folder with @count models, called a, b, c and so on, of 8 layers @widths wide, and
 * with @documents, which end with NULL: a name, then the text, in turn. Says so and exits
 * with 0 if there is no ONNX Runtime.
 */
void served_make(
    struct served *served, const uint32_t *widths, uint32_t count, const char *const *documents);

/* Read the folder and measure the models that have no profile there. */
void served_open(struct served *served);

/* What was learnt is kept in the folder, until it is forgotten. */
void served_close(struct served *served);
void served_forget(const struct served *served);

/* Remove the folder. */
void served_remove(const struct served *served);

/* Serve the scenario's arrivals for @seconds under @policy. */
struct report served_run(struct served *served, const char *policy, uint64_t seed, double seconds);

/* What the simulator makes of the same requests. */
struct report served_predict(
    struct served *served, const char *policy, uint64_t seed, uint64_t jobs);

#endif /* SERVED_H */
