/*
 * local_notes.h - what is said while a repository is opened: on a terminal as a bar, otherwise as
 * lines of the log.
 */
#ifndef SERVICE_LOCAL_NOTES_H
#define SERVICE_LOCAL_NOTES_H

#include "base/log.h"
#include "console/progress.h"
#include "service/measure_repository.h"

struct local_notes {
    struct progress progress;
    struct log *log; /* Borrowed. NULL: nothing is logged. */
    bool is_silent;  /* No bar is shown. */
};

/* Start the bar, and let @request tell of itself; @notes must live as long as it. */
void local_notes_start(struct local_notes *notes, struct measure_request *request);

/* The file of a model is about to be read; @notes is a struct local_notes. */
void local_notes_read(void *notes, const char *name, uint32_t index, uint32_t count);

/* Remove the bar. */
void local_notes_end(struct local_notes *notes);

/* Models are kept optimised, in a folder of the user: say if that cannot be. */
void local_notes_cache(struct log *log);

/* Workflows that do not fit their models: their requests will fail. */
void local_notes_workflows(struct log *log, const struct measured *measured);

/* The profile could not be saved. */
void local_notes_unsaved(struct log *log, const char *cause);

#endif /* SERVICE_LOCAL_NOTES_H */
