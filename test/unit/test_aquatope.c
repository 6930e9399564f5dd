/* Configs found by Bayesian optimisation: near the best there is, and fixed. */
#include "configs/configs.h"
#include "home_fixture.h"

static struct cluster cluster;

enum { TASKS = 3 };

static int setup(void **state)
{
    *state = &cluster;
    home_init(&cluster, /* node_count */ 2, /* model_count */ TASKS);
    for (uint32_t model = 0; model < TASKS; model++) {
        for (uint32_t batch = 1; batch <= 8; batch++) {
            for (uint32_t cpu = 1; cpu <= 2; cpu++) {
                for (uint32_t gpu = 1; gpu <= 7; gpu++) {
                    const int64_t ms = (100 + 50 * model) * (3 + batch) / 4 * 3 / (2 + gpu);
                    home_point(&cluster, model, batch, cpu, gpu, ms + 4 / cpu);
                }
            }
        }
        (void)cluster_task(&cluster, model);
        if (model > 0) {
            cluster_edge(&cluster, model - 1, model, 0);
        }
    }
    cluster.graph->slo_ns = 450 * MS;
    cluster_seal(&cluster);
    return 0;
}

/* What a job takes and costs with the configs that are answered for full queues. */
static void measure(int64_t *run_ns_out, int64_t *cost_out)
{
    *run_ns_out = 0;
    *cost_out = 0;
    for (uint32_t task = 0; task < TASKS; task++) {
        const struct queue_facts queue = home_queue(&cluster, task, 8, 0, 450);
        const struct config config = home_ask(&cluster, &queue).configs[0];
        const int64_t run_ns = profile_run(cluster.profile, task, 0, config.batch, config).run_ns;
        *run_ns_out += run_ns;
        *cost_out += configs_cost(configs_prices(cluster.fleet), config, run_ns);
    }
}

static void its_configs_are_in_time_and_cheap(void **state)
{
    (void)state;
    int64_t run_ns;
    int64_t cost;
    int64_t random_ns;
    int64_t random_cost;
    cluster_seat(&cluster, "aquatope");
    measure(&run_ns, &cost);
    assert_true(run_ns <= 480 * MS); /* Noise of five per cent is in every trial. */
    cluster_seat(&cluster, "aquatope:random=3:rounds=0");
    measure(&random_ns, &random_cost);
    assert_true(cost < random_cost || random_ns > 480 * MS);
    /* One item after another on the smallest config: 3 units-times of the base. */
    const struct config alone = {.batch = 1, .cpu = 1, .gpu = 1};
    const int64_t plain =
        configs_cost(configs_prices(cluster.fleet), alone, (104 + 154 + 204) * MS);
    assert_true(cost < plain * 9 / 10);
}

static void they_do_not_change_with_the_queue_or_the_time(void **state)
{
    (void)state;
    cluster_seat(&cluster, "aquatope:rounds=2");
    struct queue_facts queue = home_queue(&cluster, 0, 8, 0, 450);
    const struct config first = home_ask(&cluster, &queue).configs[0];
    queue = home_queue(&cluster, 0, 8, 440, 450);
    const struct config late = home_ask(&cluster, &queue).configs[0];
    assert_memory_equal(&first, &late, sizeof(first));
    queue = home_queue(&cluster, 0, 1, 0, 450);
    const struct dispatch_answer few = home_ask(&cluster, &queue);
    assert_int_equal(few.configs[0].batch, 1);
    assert_int_equal(few.configs[0].gpu, first.gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_CASE(its_configs_are_in_time_and_cheap),
        CLUSTER_CASE(they_do_not_change_with_the_queue_or_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
