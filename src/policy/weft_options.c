/* weft_options.c - what can be left out of weft, and what its terms weigh. */
#include "policy/weft_options.h"

const struct policy_option weft_options[] = {
    [WEFT_PATH] =
        {"path", 8, 0, 100, false, "when a job without deadline is due, in critical paths"},
    [WEFT_LINKS] = {"links", 1, 0, 1, true, "0: ignore what waits on the own link"},
    [WEFT_TOLL] = {"toll", 1, 0, 100, false, "weight of what transfers cost others"},
    [WEFT_RETURN] = {"return", 1, 0, 1, true, "0: ignore where outputs are gathered"},
    [WEFT_ONWARD] =
        {"onward", 8, 0, 100, false,
         "most weight of what tasks lose that come after one of shares"},
    [WEFT_DOUBT] =
        {"doubt", 3, 0, 100, false, "work that may arrive first, as a multiple of the transfer"},
    [WEFT_FADE] = {"fade", 1, 0, 1, true, "0: believe rows however old they are"},
    [WEFT_CHANCE] = {"chance", 1, 0, 1, true, "0: rows that have faded decide all the same"},
    [WEFT_SAMPLE] =
        {"sample", 8, 1, 4096, true,
         "workers drawn from the rack and from others, with the models and without"},
    [WEFT_SPREAD] = {"spread", 0.5, 0, 1, false, "how much of a load into free memory is forgiven"},
    [WEFT_GATHER] = {"gather", 1, 0, 1, true, "0: no home queues; every task is placed"},
    [WEFT_HOLD] = {"hold", 1, 0, 1, true, "0: never wait for a worker that is full"},
    [WEFT_COPY] =
        {"copy", 1, 0, 2, true, "0: no copies of models in free memory; 2: whatever the rack"},
    [WEFT_LEARN] = {"learn", 1, 0, 1, true, "0: believe the profile"},
    [WEFT_STEAL] = {"steal", 1, 0, 1, true, "0: idle workers ask for no work"},
    [WEFT_HASTE] =
        {"haste", 1, 0, 1, false, "share of the time not used while all is idle and plans fail"},
    [WEFT_TROUBLE] =
        {"trouble", 128, 0, 4096, true, "that part of the time lost: haste in full; 0: always"},
    [WEFT_FORK] = {"fork", 1, 0, 1, true, "0: branches do not look at those that come after them"},
    [WEFT_POOL] = {"pool", 1, 0, 1, true, "0: workers of a node do not share what waits"},
    [WEFT_GIVE_UP] = {"give_up", 1, 0, 1, true, "0: jobs that will be late run as all others"},
    [WEFT_STRICT] =
        {"strict", 0, 0, 1, true, "1: an SLO is a deadline; a later answer is worthless"},
    [WEFT_RESERVE] =
        {"reserve", 0.75, 0, 1, false,
         "share of the time to wait that must be left to a job while nothing is idle"},
    [WEFT_BEGIN] =
        {"begin", 0.9, 0, 1, false, "of the jobs that will be late, the share put off at once"},
    [WEFT_STAY] = {"stay", 1, 0, 1, true, "0: tasks move also while there are more than workers"},
    [WEFT_AHEAD] = {"ahead", 1, 0, 1, true, "0: tasks are taken to wait behind all that waits"},
    [WEFT_ROUND] = {"round", 1, 0, 1, true, "0: among equals the lowest index wins on every node"},
    [WEFT_KEEP] =
        {"keep", 16, 0, 100, false,
         "cost of an eviction, in what is lost with the model that leaves"},
    [WEFT_PARTS] =
        {"parts", 4, 1, 255, true,
         "batches that share a device where units have no price, while no more than half are idle"},
    [WEFT_PAYING] = {"paying", 1, 0, 1, true, "0: tasks in the queue of a worker run one by one"},
    [WEFT_TOGETHER] =
        {"together", 1, 0, 1, true, "0: tasks that ran together are not kept together"},
    {.name = NULL},
};
