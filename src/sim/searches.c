/*
 * searches.c - searches of policies: their results are known at once, and told later.
 *
 * A search is a function of its question and of what was known before the first job, so
 * nodes that ask the same get the same result. All results stay until the end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "sim/inside.h"

#define SOLVE_NS_DEFAULT (10 * NS_PER_MS)

struct search {
    struct search *next;
    uint64_t problem;
    void *result; /* Owned: malloc(). */
    unsigned char question[];
};

static struct search *find(struct sim *sim, uint64_t problem, const void *question, size_t bytes)
{
    for (struct search *search = sim->searches; search != NULL; search = search->next) {
        if (search->problem == problem && memcmp(search->question, question, bytes) == 0) {
            return search;
        }
    }
    struct search *search = memory_zeroed(1, sizeof(*search) + bytes);
    search->next = sim->searches;
    search->problem = problem;
    memcpy(search->question, question, bytes);
    search->result = policy_set_solve(&sim->policies, &sim->known, problem, question);
    sim->searches = search;
    return search;
}

void searches_start(struct sim *sim, uint32_t node, uint64_t problem, const void *question)
{
    const int64_t solve_ns = sim->options.solve_ns > 0 ? sim->options.solve_ns : SOLVE_NS_DEFAULT;
    struct event event = {.at_ns = sim->now_ns + solve_ns, .kind = EVENT_SOLVED};
    event.solved.problem = problem;
    event.solved.result =
        find(sim, problem, question, policy_set_question_bytes(&sim->policies))->result;
    sim_event(sim, node, &event);
}

void searches_deinit(struct sim *sim)
{
    while (sim->searches != NULL) {
        struct search *search = sim->searches;
        sim->searches = search->next;
        free(search->result);
        free(search);
    }
}
