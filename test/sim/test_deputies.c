/*
 * Requests that survive their owners, with the whole trace as the expectation; see test_golden.c.
 *
 * Covers: src/node/keys.c src/node/keys_peers.c src/sim/retries.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "stage.h"

/* Of the first request: it comes to its owner, and its hash names the deputy. */
enum { OWNER = 0, DEPUTY = 1 };

/* A request whose only task runs for @run_ns, and that comes to its owner. */
static void open_one(struct stage *stage, uint32_t node_count, int64_t run_ns)
{
    stage_open(stage, node_count, MB(200));
    (void)stage_model(stage, "a", 0, run_ns);
    (void)stage_chain(stage, "chain", "a");
    stage->options.has_deputies = true;
}

static void play_at(struct stage *stage, const char *name, uint32_t owner)
{
    stage_start(stage, "least-work");
    stage_request(stage, 0, owner, /* workflow */ 0);
    stage_expect(stage, name);
    stage_close(stage);
}

static void play(struct stage *stage, const char *name)
{
    play_at(stage, name, OWNER);
}

static void fault(struct stage *stage, enum fault_kind kind, uint32_t victim, int64_t at_ns)
{
    stage->faults[stage->options.fault_count] =
        (struct fault){.at_ns = at_ns, .kind = kind, .victim = victim};
    stage->options.fault_count++;
}

static void an_owner_tells_a_deputy(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_one(&stage, 4, MS(50));
    play(&stage, "deputy-told");
}

static void the_deputy_of_a_lost_owner_takes_over(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_one(&stage, 4, MS(50));
    fault(&stage, FAULT_CRASH, OWNER, MS(20));
    play(&stage, "deputy-takes-over");
}

/* A message takes 1 ms: the task has ended before the deputy can have said that it knows. */
static void an_answer_waits_until_the_deputy_knows(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_one(&stage, 4, MS(1));
    play(&stage, "deputy-waited-for");
}

/* The deputy knows, its owner has the outputs but not heard so: the client has seen nothing. */
static void a_job_whose_owner_dies_before_it_hears_that_it_is_safe_is_not_lost(
    ATTR_UNUSED void **state)
{
    struct stage stage;
    open_one(&stage, 4, MS(1));
    fault(&stage, FAULT_CRASH, OWNER, 3 * MS(1) / 2);
    play(&stage, "deputy-window");
}

static void an_owner_that_loses_its_deputy_finds_another(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_one(&stage, 4, MS(3000));
    fault(&stage, FAULT_CRASH, DEPUTY, MS(20));
    play(&stage, "deputy-lost");
}

/* The client comes to it, and it asks the first in rank. */
static void a_node_that_comes_back_does_not_run_what_was_taken_over(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_one(&stage, 4, MS(3000));
    fault(&stage, FAULT_CRASH, OWNER, MS(20));
    fault(&stage, FAULT_NO_DIRECTORY, DEPUTY, MS(15)); /* The client asks in vain for a while. */
    stage.faults[1].for_ns = MS(1500);
    fault(&stage, FAULT_RESTART, OWNER, MS(1515));
    play(&stage, "deputy-restart");
}

static void an_owner_that_comes_back_drops_what_was_taken_over(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_one(&stage, 3, MS(2500));
    fault(&stage, FAULT_PARTITION, DEPUTY, MS(20)); /* Node 0 keeps the directory. */
    stage.faults[0].for_ns = MS(1500);
    play_at(&stage, "deputy-partition", DEPUTY);
}

/* The directory is away for a minute: no verdict comes. */
static void a_client_does_not_wait_for_the_verdict_on_a_silent_owner(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_one(&stage, 4, MS(50));
    fault(&stage, FAULT_NO_DIRECTORY, 0, MS(15));
    stage.faults[0].for_ns = MS(60000);
    fault(&stage, FAULT_CRASH, OWNER, MS(20));
    play(&stage, "deputy-silent");
}

/* Nodes from the deputy on cannot reach the owner, and all of them keep their names. */
static void an_owner_whose_deputy_was_out_of_reach_tells_it_again(ATTR_UNUSED void **state)
{
    struct stage stage;
    open_one(&stage, 3, MS(6000));
    fault(&stage, FAULT_NO_DIRECTORY, 0, MS(15));
    stage.faults[0].for_ns = MS(60000);
    fault(&stage, FAULT_PARTITION, DEPUTY, MS(20));
    stage.faults[1].for_ns = MS(4000);
    play(&stage, "deputy-unreachable");
}

/* Whoever has it dies a second later, until it has been tried often enough. */
static void a_request_that_kills_its_owners_is_given_up(ATTR_UNUSED void **state)
{
    struct stage stage;
    static const uint32_t victims[] = {OWNER, DEPUTY, 6, 4, 3};
    open_one(&stage, 8, MS(9000));
    for (uint32_t i = 0; i < sizeof(victims) / sizeof(victims[0]); i++) {
        fault(&stage, FAULT_CRASH, victims[i], MS(20) + i * MS(1500));
    }
    play(&stage, "deputy-poison");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_tells_a_deputy),
        cmocka_unit_test(the_deputy_of_a_lost_owner_takes_over),
        cmocka_unit_test(an_answer_waits_until_the_deputy_knows),
        cmocka_unit_test(a_job_whose_owner_dies_before_it_hears_that_it_is_safe_is_not_lost),
        cmocka_unit_test(an_owner_that_loses_its_deputy_finds_another),
        cmocka_unit_test(a_node_that_comes_back_does_not_run_what_was_taken_over),
        cmocka_unit_test(an_owner_that_comes_back_drops_what_was_taken_over),
        cmocka_unit_test(a_client_does_not_wait_for_the_verdict_on_a_silent_owner),
        cmocka_unit_test(an_owner_whose_deputy_was_out_of_reach_tells_it_again),
        cmocka_unit_test(a_request_that_kills_its_owners_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
