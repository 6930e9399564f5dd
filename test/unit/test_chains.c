/*
 * Models of a chain come together where it begins, once being apart has cost as much as a load.
 *
 * Covers: src/node/chains.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lone_node.h"

/* Loading b takes 30 ms; to hand it over is two thirds of that, and more than to run it. */
enum { HANDOFF_MS = 20, RUN_MS = 10 };

static struct lone lone;

/* A machine of two processors; the chain's first task runs on the first, the other on the second.
 */
static void open_apart(int64_t handoff_ns)
{
    const struct lone_options options = {.worker_count = 2};
    lone_open(&lone, &options);
    for (uint32_t i = 0; i < lone.fleet->worker_count; i++) {
        lone.fleet->workers[i].splits = true;
    }
    const uint32_t device = lone.fleet->workers[0].device;
    const struct profile_point point = {.items = 1, .run_ns = MS(RUN_MS)};
    profile_forget(lone.profile, MODEL_B, device);
    profile_put_point(lone.profile, MODEL_B, device, &point);
    profile_set_handoff(lone.profile, MODEL_B, device, handoff_ns);
    lone_plan(0, 1, 0, 0);
}

/* The loads that the steps of a request to the chain ask for. */
struct loads {
    uint32_t count;
    uint32_t model; /* Of the last one. */
    uint32_t worker;
};

static struct loads ask(enum lone_workflow workflow)
{
    struct loads loads = {.count = 0};
    (void)lone_request(&lone, workflow);
    for (;;) {
        uint32_t next = lone.asked_count;
        for (uint32_t i = 0; i < lone.asked_count && next == lone.asked_count; i++) {
            next = lone.asked[i].kind == EFFECT_WAKE_AT ? next : i;
        }
        if (next == lone.asked_count) {
            return loads;
        }
        if (lone.asked[next].kind == EFFECT_LOAD) {
            loads.count++;
            loads.model = lone.asked[next].load.model;
            loads.worker = lone.asked[next].load.worker;
        }
        lone_fulfil(&lone, next, WEFT_OK);
    }
}

static void a_model_follows_its_chain_when_it_has_paid(void **state)
{
    (void)state;
    open_apart(MS(HANDOFF_MS));
    assert_int_equal(ask(FLOW_CHAIN).count, 2); /* a on the first, b on the second: 20 ms lost. */
    const struct loads loads = ask(FLOW_CHAIN); /* 40 ms. */
    assert_int_equal(loads.count, 1);
    assert_int_equal(loads.model, MODEL_B);
    assert_int_equal(loads.worker, 0);
    assert_int_equal(ask(FLOW_CHAIN).count, 0);
    lone_close(&lone);
}

static void what_runs_longer_than_its_way_stays(void **state)
{
    (void)state;
    open_apart(MS(RUN_MS) / 2);
    assert_int_equal(ask(FLOW_CHAIN).count, 2);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(ask(FLOW_CHAIN).count, 0);
    }
    lone_close(&lone);
}

static void without_free_memory_nothing_comes(void **state)
{
    (void)state;
    open_apart(MS(HANDOFF_MS));
    assert_int_equal(ask(FLOW_CHAIN).count, 2); /* 50 MB on the first worker, */
    assert_int_equal(ask(FLOW_WORK).count, 1);  /* and 60, */
    lone.fleet->workers[0].memory_bytes = MB(130);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(ask(FLOW_CHAIN).count, 0); /* and 30 more are not there. */
    }
    lone_close(&lone);
}

/* A task that has several producers is no part of a chain; nor is one of several consumers. */
static void forks_and_joins_are_left_alone(void **state)
{
    (void)state;
    open_apart(MS(HANDOFF_MS));
    lone_plan(0, 0, 1, 0);
    assert_int_equal(ask(FLOW_DIAMOND).count, 2);
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(ask(FLOW_DIAMOND).count, 0);
    }
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_follows_its_chain_when_it_has_paid),
        cmocka_unit_test(what_runs_longer_than_its_way_stays),
        cmocka_unit_test(without_free_memory_nothing_comes),
        cmocka_unit_test(forks_and_joins_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
