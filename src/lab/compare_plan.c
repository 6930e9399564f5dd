#include "lab/compare_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "lab/option_list.h"

enum { RUNS_MAX = 1 << 20, RATE_DECIMALS = 9 };

/* The scenario's own policy first, then every built-in one that places, but none twice. */
static void default_policies(const struct scenario *scenario, struct option_list *names)
{
    *names = (struct option_list){.count = 1};
    names->parts[0] = scenario->policy;
    for (uint32_t i = 0; policy_registry[i] != NULL && names->count < OPTION_LIST_PARTS_MAX; i++) {
        const struct policy *policy = policy_registry[i];
        if (policy_fills(policy, ROLE_PLACE) && strcmp(policy->name, scenario->policy) != 0) {
            names->parts[names->count] = policy->name;
            names->count++;
        }
    }
}

static enum weft_status read_policies(
    struct compare_group *group, const struct compare_options *options, struct weft_error *error)
{
    struct option_list names = {0};
    enum weft_status status = WEFT_OK;
    if (options->policies == NULL) {
        default_policies(group->scenario, &names);
    } else {
        status = option_list_policies(options->policies, &names, error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    group->policies = memory_zeroed(names.count, sizeof(*group->policies));
    group->policy_count = names.count;
    for (uint32_t i = 0; i < names.count && status == WEFT_OK; i++) {
        status = policy_set_parse(names.parts[i], &group->policies[i], error);
    }
    option_list_deinit(&names);
    return status;
}

/* The scenario's seeds; if more are wanted, the numbers after the largest of them. */
static enum weft_status choose_seeds(
    struct compare_group *group, const struct argument_count *wanted, struct weft_error *error)
{
    const struct scenario *scenario = group->scenario;
    const uint64_t count = wanted->given ? wanted->value : scenario->seed_count;
    if (count < 1 || count > SCENARIO_SEEDS_MAX) {
        return error_set(
            error, WEFT_INVALID, "'--seeds' is %" PRIu64 "; it must be between 1 and %d", count,
            SCENARIO_SEEDS_MAX);
    }
    group->seeds = memory_zeroed(count, sizeof(*group->seeds));
    group->seed_count = (uint32_t)count;
    uint64_t largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        group->seeds[i] = i < scenario->seed_count ? scenario->seeds[i] : largest + 1;
        largest = group->seeds[i] > largest ? group->seeds[i] : largest;
    }
    return WEFT_OK;
}

static enum weft_status read_group(
    struct compare_plan *plan, const char *path, const char *rate, struct weft_error *error)
{
    struct compare_group *group = &plan->groups[plan->group_count];
    *group = (struct compare_group){.path = path, .rate = rate, .run_first = plan->run_count};
    plan->group_count++;
    const struct run_settings settings = {
        .rate = rate,
        .jobs = plan->options->jobs,
        .warmup = plan->options->warmup,
        .sets = &plan->options->sets,
    };
    enum weft_status status = run_load(path, &settings, &group->scenario, error);
    if (status == WEFT_OK) {
        status = choose_seeds(group, &plan->options->seeds, error);
    }
    if (status == WEFT_OK) {
        status = read_policies(group, plan->options, error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    plan->run_count += group->policy_count * group->seed_count;
    if (plan->run_count > RUNS_MAX) {
        return error_set(error, WEFT_LIMIT, "more than %d runs", RUNS_MAX);
    }
    return WEFT_OK;
}

static void list_runs(struct compare_plan *plan)
{
    plan->runs = memory_zeroed(plan->run_count, sizeof(*plan->runs));
    struct compare_run *run = plan->runs;
    for (uint32_t g = 0; g < plan->group_count; g++) {
        for (uint32_t p = 0; p < plan->groups[g].policy_count; p++) {
            for (uint32_t s = 0; s < plan->groups[g].seed_count; s++) {
                run->group = g;
                run->policy = p;
                run->seed = s;
                run++;
            }
        }
    }
}

enum weft_status compare_plan_init(
    struct compare_plan *plan_out, char *const *paths, uint32_t path_count,
    const struct compare_options *options, struct weft_error *error)
{
    ASSERT(path_count > 0);
    struct option_list rates = {.count = 1}; /* One NULL: the scenario's own. */
    enum weft_status status =
        options->rates == NULL ? WEFT_OK : option_list_rates(options->rates, &rates, error);
    if (status != WEFT_OK) {
        return status;
    }
    struct compare_plan plan = {.options = options, .rate_bytes = rates.bytes};
    plan.groups = memory_zeroed((size_t)path_count * rates.count, sizeof(*plan.groups));
    for (uint32_t i = 0; i < path_count && status == WEFT_OK; i++) {
        for (uint32_t r = 0; r < rates.count && status == WEFT_OK; r++) {
            status = read_group(&plan, paths[i], rates.parts[r], error);
        }
    }
    if (status != WEFT_OK) {
        compare_plan_deinit(&plan);
        return status;
    }
    list_runs(&plan);
    *plan_out = plan;
    return WEFT_OK;
}

void compare_plan_deinit(struct compare_plan *plan)
{
    for (uint32_t i = 0; i < plan->group_count; i++) {
        scenario_destroy(plan->groups[i].scenario);
        free(plan->groups[i].policies);
        free(plan->groups[i].seeds);
    }
    free(plan->groups);
    free(plan->runs);
    free(plan->rate_bytes);
    *plan = (struct compare_plan){0};
}

const struct compare_run *compare_plan_run(
    const struct compare_plan *plan, const struct compare_group *group, uint32_t policy,
    uint32_t seed)
{
    ASSERT(policy < group->policy_count);
    ASSERT(seed < group->seed_count);
    return &plan->runs[group->run_first + policy * group->seed_count + seed];
}

/* As a shell reads it: in single quotes unless it is plain. */
static void add_word(struct text *text, const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./%@";
    if (*word != '\0' && word[strspn(word, plain)] == '\0') {
        text_add(text, " %s", word);
        return;
    }
    text_add(text, " '");
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            text_add(text, "'\\''");
        } else {
            text_add(text, "%c", *word);
        }
    }
    text_add(text, "'");
}

static void add_option(struct text *text, const char *name, const char *value)
{
    if (value != NULL) {
        text_add(text, " %s", name);
        add_word(text, value);
    }
}

void compare_plan_command(
    const struct compare_plan *plan, const struct compare_run *run, char *text, size_t text_bytes)
{
    ASSERT(run->group < plan->group_count);
    ASSERT(run->policy < plan->groups[run->group].policy_count);
    ASSERT(run->seed < plan->groups[run->group].seed_count);
    const struct compare_group *group = &plan->groups[run->group];
    struct text line;
    text_init(&line, text, text_bytes);
    text_add(&line, "weft sim");
    add_word(&line, group->path);
    add_option(&line, "--policy", group->policies[run->policy].text);
    if (run->rate_per_s > 0) {
        text_add(&line, " --rate %.*f", RATE_DECIMALS, run->rate_per_s);
    } else {
        add_option(&line, "--rate", group->rate);
    }
    text_add(&line, " --seed %" PRIu64, group->seeds[run->seed]);
    add_option(&line, "--jobs", plan->options->jobs);
    add_option(&line, "--warmup", plan->options->warmup);
    for (uint32_t i = 0; i < plan->options->sets.count; i++) {
        add_option(&line, "--set", plan->options->sets.items[i]);
    }
}
