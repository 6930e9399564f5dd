/*
 * Every option of every policy at both ends of its range: whatever a policy takes, it runs.
 *
 * Covers: src/policy/parse.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "stage.h"

enum { JOBS = 30, EVENTS_MAX = 200000 };

static void open_jobs(struct stage *stage)
{
    static const char *const models[4] = {"a", "b", "b", "c"};
    stage_open(stage, 3, MB(100));
    (void)stage_model(stage, "a", 0, MS(2));
    (void)stage_model(stage, "b", MB(40), MS(10));
    (void)stage_model(stage, "c", MB(50), MS(5));
    const uint32_t workflow = stage_diamond(stage, "diamond", models);
    stage->catalogue->workflows[workflow]->slo_ns = MS(200);
    stage->arrivals = (struct arrivals){.kind = ARRIVALS_POISSON, .rate_per_s = 50, .mix = {1}};
    stage->options.jobs = JOBS;
}

/* Run with @text, all invariants checked. */
static void run(const char *text)
{
    struct stage stage;
    struct report report;
    struct weft_error error;
    open_jobs(&stage);
    if (policy_set_parse(text, &stage.policies, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    if (stage.policies.roles[ROLE_PLACE].policy == NULL &&
        stage.policies.roles[ROLE_DISPATCH].policy == NULL) {
        stage_close(&stage);
        return; /* It has nothing to say of where tasks run. */
    }
    stage.sim = sim_create(&stage.options); /* The trace is not read. */
    if (sim_run_some(stage.sim, EVENTS_MAX)) {
        fail_msg("%s: no end", text);
    }
    sim_report(stage.sim, &report);
    assert_int_equal(report.completed, JOBS);
    stage_close(&stage);
}

/* What has to be said besides for @policy to take the most of @option. */
static const char *besides(const struct policy *policy, const struct policy_option *option)
{
    if (strcmp(policy->name, "aquatope") != 0) {
        return "";
    }
    if (strcmp(option->name, "random") == 0) {
        return ":rounds=0";
    }
    return strcmp(option->name, "rounds") == 0 ? ":random=1:batch=1" : ":rounds=10";
}

static void every_option_can_be_turned_to_both_ends(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        const struct policy *policy = policy_registry[i];
        const struct policy_option *option = policy->options;
        for (; option != NULL && option->name != NULL; option++) {
            char text[POLICY_TEXT_BYTES_MAX];
            (void)snprintf(
                text, sizeof(text), "%s:%s=%.17g", policy->name, option->name, option->minimum);
            run(text);
            (void)snprintf(
                text, sizeof(text), "%s:%s=%.17g%s", policy->name, option->name, option->maximum,
                besides(policy, option));
            run(text);
        }
    }
}

/* The least and the most that a search of aquatope may be asked for, in every way. */
static void searches_of_all_sizes_end(ATTR_UNUSED void **state)
{
    static const char *const texts[] = {
        "aquatope:random=1:rounds=0",
        "aquatope:random=1:rounds=0:batch=1:noise=0",
        "aquatope:random=1:rounds=1:batch=8:noise=1",
        "aquatope:random=10:rounds=10:batch=8:noise=1",
        "aquatope:random=2:rounds=11:batch=8",
        "aquatope:random=1:rounds=89:batch=1:noise=1",
        "aquatope:random=90:rounds=0:batch=8:noise=1",
    };
    for (uint32_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        run(texts[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_can_be_turned_to_both_ends),
        cmocka_unit_test(searches_of_all_sizes_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
