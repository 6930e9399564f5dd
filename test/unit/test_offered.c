#include "lab/offered.h"

#include <stdio.h>

#include "document_fixture.h"

/* A join has as many items as the input that has most, and its run time follows. */
static const char joined[] = "scenario: joined\n"
                             "cluster: {machines: {count: 4, device: {kind: t4, memory: 16GB, "
                             "h2d: 12GB/s}}}\n"
                             "workflows:\n"
                             "  - workflow: notes\n"
                             "    tasks:\n"
                             "      speech: {model: s}\n"
                             "      slides: {model: v, gives: [1, 6]}\n"
                             "      write: {model: w, after: [speech, slides]}\n"
                             "profile:\n"
                             "  weft_profile: 1\n"
                             "  models:\n"
                             "    s: {load: 1GB, devices: {t4: {ms: 200}}}\n"
                             "    v: {load: 1GB, devices: {t4: {ms: 20}}}\n"
                             "    w: {load: 1GB, devices: {t4: {ms: 400}}}\n"
                             "arrivals: {rate: 3/s}\n";

static void a_join_is_as_heavy_as_its_largest_input(ATTR_UNUSED void **state)
{
    struct tree *tree = parsed(joined);
    struct scenario *scenario = NULL;
    struct offered offered;
    struct weft_error error = {0};
    assert_good(scenario_read(tree->root, &scenario, &error), &error);
    offered_init(&offered, scenario);
    assert_true(offered.rate_per_s == 3 && offered.worker_count == 4);
    assert_true(offered.tasks[0].items == 1 && offered.tasks[1].items == 1);
    assert_true(offered.tasks[2].items > 3.3 && offered.tasks[2].items < 3.7);
    /* One time for one item: as often as there are items. */
    assert_true(offered.tasks[2].run_s > 0.399 * offered.tasks[2].items);
    assert_true(offered.tasks[2].run_s < 0.401 * offered.tasks[2].items);
    const double expected = 3 * (0.2 + 0.02 + offered.tasks[2].run_s);
    assert_true(offered.busy > 0.999 * expected && offered.busy < 1.001 * expected);
    offered_deinit(&offered);
    scenario_destroy(scenario);
    tree_destroy(tree);
}

/* Requests of a list have items of their own, and come as often as the list says. */
static void a_list_brings_its_items(ATTR_UNUSED void **state)
{
    char text[2048];
    struct scenario *scenario = NULL;
    struct offered offered;
    struct weft_error error = {0};
    (void)snprintf(
        text, sizeof(text), "%.*sarrivals: {list: [{at: 0s, workflow: notes, items: 8}]}\n",
        (int)(strstr(joined, "arrivals") - joined), joined);
    struct tree *tree = parsed(text);
    assert_good(scenario_read(tree->root, &scenario, &error), &error);
    offered_init(&offered, scenario);
    assert_true(offered.rate_per_s == 0 && offered.busy == 0);
    assert_true(offered.tasks[0].items == 8 && offered.tasks[2].items == 8);
    offered_deinit(&offered);
    scenario_destroy(scenario);
    tree_destroy(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_is_as_heavy_as_its_largest_input),
        cmocka_unit_test(a_list_brings_its_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
