/*
 * The memory of nodes: made ahead, grown between steps, never within one.
 *
 * Covers: src/node/pools.c src/node/end.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lone_node.h"
#include "node/inside.h"

static void a_full_pool_of_jobs_refuses_until_one_ends(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.jobs_max = 3});
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(lone_request(&lone, FLOW_A).number, i + 1);
    }
    assert_int_equal(lone_request(&lone, FLOW_A).number, 0);
    const struct effect *refusal = lone_find(&lone, EFFECT_REFUSE);
    assert_int_equal(refusal->answer.status, WEFT_REFUSED);
    assert_int_equal(refusal->answer.reason, REASON_FULL);
    assert_int_equal(refusal->answer.client, 4);
    assert_int_equal(lone_count(&lone, EFFECT_RELEASE), 1); /* What it brought goes back. */
    lone_load_done(&lone, WEFT_OK);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_request(&lone, FLOW_A).number, 4);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 5);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_full_node_still_works_for_others(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.jobs_max = 1});
    (void)lone_request(&lone, FLOW_F);
    lone_deliver_tasks(&lone, 100, FLOW_F);
    assert_int_equal(node_counts(lone.node).visits, 101);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void pools_grow_without_limit_when_none_is_set(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    for (uint32_t i = 0; i < 3000; i++) {
        assert_int_equal(lone_request(&lone, FLOW_DIAMOND).number, i + 1);
    }
    assert_int_equal(node_counts(lone.node).jobs, 3000);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 3000);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* Where everything is: a pool that grew would have moved it. */
static void note_places(const struct node_pools *pools, const void *places_out[12])
{
    const struct pool *const all[12] = {
        &pools->jobs,    &pools->visits,       &pools->tasks,   &pools->inputs,
        &pools->tensors, &pools->batches,      &pools->tickets, &pools->claims,
        &pools->grants,  &pools->reservations, &pools->notices, &pools->parked,
    };
    for (uint32_t i = 0; i < 12; i++) {
        places_out[i] = all[i]->slots;
    }
}

static void a_step_moves_nothing(void **state)
{
    (void)state;
    struct lone lone;
    const void *before[12];
    const void *after[12];
    lone_open(&lone, &(struct lone_options){0});
    for (uint32_t i = 0; i < 500; i++) {
        struct event event = {.kind = EVENT_REQUEST};
        event.request.workflow = FLOW_DIAMOND;
        node_prepare(lone.node);
        note_places(&lone.pools, before);
        node_step(lone.node, &event, &lone.effects);
        note_places(&lone.pools, after);
        assert_memory_equal(before, after, sizeof(before));
    }
    lone_close(&lone);
}

static void preparing_makes_room_for_the_largest_step(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    for (uint32_t i = 0; i < 200; i++) {
        (void)lone_request(&lone, FLOW_PAIR);
        node_prepare(lone.node);
        const struct node_pools *pools = &lone.pools;
        /* A full batch may fork in two, or send both inputs of its jobs again. */
        assert_true(pools->tasks.capacity - pools->tasks.used >= 2 * BATCH_TASKS_MAX);
        assert_true(pools->inputs.capacity - pools->inputs.used >= 2 * BATCH_TASKS_MAX);
        assert_true(pools->tensors.capacity - pools->tensors.used >= BATCH_TASKS_MAX);
        assert_true(pools->visits.capacity - pools->visits.used >= REPAIRS_PER_STEP);
        assert_true(pools->jobs.capacity - pools->jobs.used >= 1);
    }
    lone_close(&lone);
}

static void preparing_makes_room_to_park_once_a_peer_is_blocked(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_hint(&lone, 1, PEER_BLOCKED);
    node_prepare(lone.node);
    assert_true(lone.pools.parked.capacity >= PARKED_MAX);
    lone_close(&lone);
}

static void effects_have_room_for_the_widest_workflow(void **state)
{
    (void)state;
    enum { LEAVES = 200 };
    struct arena arena;
    struct effects effects;
    struct catalogue *catalogue = catalogue_create();
    struct workflow *workflow = workflow_create("wide");
    struct workflow_task task = {.name = "root", .run = catalogue_model(catalogue, "f")};
    uint32_t number;
    assert_int_equal(workflow_add_task(workflow, &task, &number), WEFT_OK);
    for (uint32_t i = 0; i < LEAVES; i++) {
        task.name[0] = (char)('a' + i % 26);
        task.name[1] = (char)('a' + i / 26);
        assert_int_equal(workflow_add_task(workflow, &task, &number), WEFT_OK);
        const struct workflow_edge edge = {.from = 0, .to = number};
        assert_int_equal(workflow_add_edge(workflow, &edge), WEFT_OK);
    }
    assert_int_equal(workflow_seal(workflow, NULL), WEFT_OK);
    assert_int_equal(catalogue_add_workflow(catalogue, workflow), WEFT_OK);
    arena_init(&arena);
    node_effects_init(&effects, &arena, catalogue);
    /* For each leaf: placed, moved, unreserved, sent, and the tensor itself. */
    assert_true(effects.capacity >= BATCH_TASKS_MAX * LEAVES * 5);
    assert_true(effects.placement_capacity >= BATCH_TASKS_MAX * LEAVES * (LEAVES + 1));
    arena_deinit(&arena);
    catalogue_destroy(catalogue);
}

static void two_nodes_may_share_their_pools(void **state)
{
    (void)state;
    struct lone lone;
    struct effects effects;
    lone_open(&lone, &(struct lone_options){0});
    node_effects_init(&effects, &lone.arena, lone.catalogue);
    const struct node_options options = {
        .node = 1,
        .fleet = lone.fleet,
        .catalogue = lone.catalogue,
        .profile = lone.profile,
        .policies = &lone.policies,
        .members = &lone.members[0],
        .board = &lone.board,
        .pools = &lone.pools,
        .meter = &lone.meter,
    };
    struct node *second = node_create(&lone.arena, &options);
    for (uint32_t i = 0; i < 50; i++) {
        (void)lone_request(&lone, FLOW_DIAMOND);
        struct event event = {.kind = EVENT_REQUEST};
        event.request.workflow = FLOW_CHAIN;
        node_prepare(second);
        node_step(second, &event, &effects);
    }
    assert_int_equal(lone.pools.jobs.used, 100);
    node_destroy(second); /* Takes nothing of the first with it. */
    assert_int_equal(lone.pools.jobs.used, 50);
    lone_settle(&lone);
    assert_int_equal(lone.answers, 50);
    lone_close(&lone);
}

static void take_all(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)input;
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = queue->items}}};
}

static void a_node_may_end_while_half_a_batch_is_cancelled(void **state)
{
    (void)state;
    static const struct policy batching = {.name = "batching", .dispatch = take_all};
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &batching});
    lone_plan(0, 1, 1, 1);
    lone_deliver_tasks(&lone, 4, FLOW_SPLIT);
    lone_batch_done(&lone, WEFT_OK);
    for (uint32_t i = 2; i <= 3; i++) { /* Of three that run. */
        const struct message cancel = lone_message(
            &lone, MESSAGE_CANCEL, (struct job_id){.node = 1, .number = i}, FLOW_SPLIT, 0);
        lone_deliver(&lone, &cancel);
    }
    assert_int_equal(lone.pools.visits.used, 3);
    assert_int_equal(node_counts(lone.node).visits, 1);
    lone_close(&lone);
}

static void a_node_may_end_before_it_has_acknowledged(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    for (uint32_t i = 1; i <= 2; i++) {
        struct message plan = lone_message(
            &lone, MESSAGE_RESERVE, (struct job_id){.node = i, .number = 1}, FLOW_CHAIN, 1);
        plan.sequence = 1;
        lone_deliver(&lone, &plan);
    }
    assert_int_equal(lone.pools.notices.used, 2);
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_CHAIN);
    assert_true(lone.pools.reservations.used > 0);
    lone_close(&lone);
}

static void a_node_may_end_while_messages_wait(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_hint(&lone, 1, PEER_BLOCKED);
    lone_plan(1, 1, 1, 1);
    (void)lone_request(&lone, FLOW_CHAIN);
    assert_int_equal(lone.pools.parked.used, 2);
    lone_close(&lone);
}

static void nothing_may_be_destroyed(void **state)
{
    (void)state;
    node_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_pool_of_jobs_refuses_until_one_ends),
        cmocka_unit_test(a_full_node_still_works_for_others),
        cmocka_unit_test(pools_grow_without_limit_when_none_is_set),
        cmocka_unit_test(a_step_moves_nothing),
        cmocka_unit_test(preparing_makes_room_for_the_largest_step),
        cmocka_unit_test(preparing_makes_room_to_park_once_a_peer_is_blocked),
        cmocka_unit_test(effects_have_room_for_the_widest_workflow),
        cmocka_unit_test(two_nodes_may_share_their_pools),
        cmocka_unit_test(a_node_may_end_while_half_a_batch_is_cancelled),
        cmocka_unit_test(a_node_may_end_before_it_has_acknowledged),
        cmocka_unit_test(a_node_may_end_while_messages_wait),
        cmocka_unit_test(nothing_may_be_destroyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
