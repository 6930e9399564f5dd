/*
 * function_forker.h - the process that forks those in which functions run.
 *
 * It has one thread and little memory, and stays so: whatever its parent becomes, what it
 * forks has no lock that another thread held. Asked over its control socket, one question after
 * another, it forks a runner, ends one and says how it ended, or forks a twin of itself that
 * can take its place. In between it passes on what functions print.
 */
#ifndef ENGINE_FUNCTION_FORKER_H
#define ENGINE_FUNCTION_FORKER_H

#include <sys/types.h>

#include "engine/function_wire.h"

enum forker_question { FORKER_FORK, FORKER_END, FORKER_TWIN };

struct forker_request {
    enum forker_question question;
    pid_t process;                  /* END: which. */
    char path[FUNCTION_PATH_BYTES]; /* FORK: of the shared object. */
};

/* With FORK come the three descriptors of a channel, with TWIN a control socket. */
struct forker_reply {
    pid_t process; /* -1 if there is none. */
    int wait_status;
};

enum { FORKER_DESCRIPTORS_MAX = 3 };

/* Be the process behind @control, until its other end is closed. */
_Noreturn void function_forker_main(int control, const struct function_limits *limits);

#endif /* ENGINE_FUNCTION_FORKER_H */
