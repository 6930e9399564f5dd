#include "process/still.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/fleet.h"
#include "process/inside.h"

enum { LOOKS = 3, TEXT_BYTES = 512, FIELD_USER = 14 };

/* What the system says at @path, of a process or a thread: from its state on. NULL: it is gone. */
static const char *read_state(const char *path, char *text, size_t room)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t count = file < 0 ? -1 : read(file, text, room - 1);
    if (file >= 0) {
        (void)close(file);
    }
    text[count < 0 ? 0 : count] = '\0';
    const char *name_end = strrchr(text, ')'); /* A name may have anything in it. */
    return name_end == NULL || name_end[1] == '\0' ? NULL : name_end + 2;
}

/* How many ticks of processors @process has used. False if that is not known. */
static bool count_ticks(pid_t process, uint64_t *ticks_out)
{
    char path[64];
    char text[TEXT_BYTES];
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)process);
    const char *at = read_state(path, text, sizeof(text));
    for (uint32_t i = 3; i < FIELD_USER && at != NULL; i++) { /* The state is the third. */
        at = strchr(at, ' ');
        at = at == NULL ? NULL : at + 1;
    }
    if (at == NULL) {
        return false;
    }
    char *end;
    const uint64_t user = strtoull(at, &end, 10);
    *ticks_out = user + strtoull(end, NULL, 10);
    return true;
}

/* Whether a thread of @process runs, or waits for a processor. */
static bool wants_processor(pid_t process)
{
    char path[64];
    char text[TEXT_BYTES];
    bool is_wanted = false;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    const struct dirent *entry;
    while (threads != NULL && !is_wanted && (entry = readdir(threads)) != NULL) {
        char stat[sizeof(path) + sizeof(entry->d_name) + 8];
        (void)snprintf(stat, sizeof(stat), "%s/%s/stat", path, entry->d_name);
        const char *state = read_state(stat, text, sizeof(text));
        is_wanted = state != NULL && state[0] == 'R';
    }
    if (threads != NULL) {
        (void)closedir(threads);
    }
    return is_wanted;
}

static bool has_batches(const struct process_worker *worker)
{
    const struct process_batch *batch = worker->batches;
    while (batch != NULL && batch->state == BATCH_WAITING) {
        batch = batch->next;
    }
    return batch != NULL;
}

void process_still_heard(struct process_worker *worker, uint32_t kind)
{
    worker->use.is_proven = worker->use.is_proven || kind != REPORT_HELLO;
    worker->use.still = 0;
}

bool process_is_still(struct process_worker *worker)
{
    struct process_use *use = &worker->use;
    if (worker->engine->fleet->workers[worker->number].sharing != SHARES_SM || !use->is_proven ||
        !has_batches(worker)) {
        use->still = 0;
        return false;
    }
    uint64_t ticks = 0;
    if (!count_ticks(worker->child.process, &ticks) || ticks != use->ticks ||
        wants_processor(worker->child.process)) {
        use->ticks = ticks;
        use->still = 0;
        return false;
    }
    return ++use->still >= LOOKS;
}
