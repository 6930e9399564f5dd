/* forked.c - how engine processes and keepers are forked. */
#include "process/child.h"
#include "process/process.h"

static void run(const void *context, const void *argument)
{
    process_child_be(context, argument);
}

/* libtorch takes a third of a second to open: once, in the server. */
static void prepare(const void *context)
{
    const struct process_child_options *options = context;
    if (options->cuda != NULL) {
        engine_cuda_warm(options->cuda->torch);
    }
}

struct fork_options process_fork_options(const struct process_child_options *options)
{
    return (struct fork_options){
        .run = run,
        .prepare = prepare,
        .context = options,
        .name = "weft-engine",
        .printed = "engine printed",
        .key = "process",
    };
}
