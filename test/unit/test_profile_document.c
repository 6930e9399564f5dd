#include "document/profile_document.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "document_fixture.h"

/* A profile with the names that its numbers stand for. */
struct named {
    struct catalogue *catalogue;
    struct fleet *fleet;
    struct profile_document document;
};

static struct named nothing(void)
{
    return (struct named){.catalogue = catalogue_create(), .fleet = fleet_create()};
}

static void forget(struct named *named)
{
    profile_destroy(named->document.profile);
    fleet_destroy(named->fleet);
    catalogue_destroy(named->catalogue);
}

static void read_good(const char *text, enum profile_scope scope, struct named *named)
{
    struct tree *tree = parsed(text);
    struct weft_error error = {0};

    assert_good(
        profile_read(tree->root, scope, named->catalogue, named->fleet, &named->document, &error),
        &error);
    tree_destroy(tree);
}

static const char example[] =
    "weft_profile: 1\n"
    "figures: published\n"
    "source: a book\n"
    "models:\n"
    "  llm:\n"
    "    load: 4GB\n"
    "    resident: 4200000000\n"
    "    workspace: 100MB\n"
    "    workspace_per_item: 3MiB\n"
    "    load_fixed_ms: 0.25\n"
    "    pinned: true\n"
    "    alone: true\n"
    "    devices:\n"
    "      t4: {points: [{items: 4, ms: 20}, {ms: 10, sd_ms: 0.5}, "
    "{items: 4, cpu: 2, gpu: 3, ms: 33, interference: 75%}]}\n"
    "      a30: {ms: 7.5, sd_ms: 1, distribution: gamma}\n"
    "      l4: {points: [{ms: 8, beside: 50%, crowded: 12.5%}], distribution: exponential, "
    "load_ms: 1.5, handoff_ms: 0.06, first_run_ms: 0.4, interference: 25%, "
    "quantiles: [0.5, 0.6, 0.7, 0.8, 0.9, 1, 1, 1, 1.1, 1.2, 1.3, 2, "
    "4.5], load_quantiles: [0.2, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.4, 0.5, 1, 4, 8, 60]}\n"
    "  weights: {resident: 1GB}\n"
    "  decode: {devices: {t4: {ms: 0.2}}}\n";

static void sizes_and_points_are_read(ATTR_UNUSED void **state)
{
    struct named named = nothing();
    read_good(example, PROFILE_ALL, &named);

    assert_int_equal(named.document.origin.figures, FIGURES_PUBLISHED);
    assert_string_equal(named.document.origin.source, "a book");
    assert_int_equal(named.catalogue->model_count, 3);
    assert_int_equal(named.fleet->device_count, 3);
    assert_int_equal(model_set_count(&named.document.listed), 3);
    const struct profile_model *llm = &named.document.profile->models[0];
    assert_int_equal(llm->load_bytes, 4000000000);
    assert_int_equal(llm->resident_bytes, 4200000000);
    assert_int_equal(llm->workspace_bytes, 100000000);
    assert_int_equal(llm->workspace_bytes_per_item, 3 * 1048576);
    assert_int_equal(llm->load_fixed_ns, 250000);
    assert_true(llm->pinned && llm->alone);
    assert_int_equal(llm->curves[0].point_count, 3);
    assert_int_equal(llm->curves[0].points[0].items, 1);
    assert_int_equal(llm->curves[0].points[0].run_ns, 10000000);
    assert_int_equal(llm->curves[0].points[0].sd_ns, 500000);
    assert_int_equal(llm->curves[0].points[2].cpu, 2);
    assert_int_equal(llm->curves[0].points[2].gpu, 3);
    assert_true(llm->curves[0].points[2].interference == 0.75);
    assert_true(llm->curves[0].points[1].interference == 0);
    assert_int_equal(llm->curves[1].points[0].run_ns, 7500000);
    assert_int_equal(llm->curves[0].distribution, DISTRIBUTION_NORMAL);
    assert_int_equal(llm->curves[1].distribution, DISTRIBUTION_GAMMA);
    assert_int_equal(llm->curves[2].distribution, DISTRIBUTION_EXPONENTIAL);
    assert_int_equal(llm->curves[1].load_ns, 0);
    assert_int_equal(llm->curves[2].load_ns, 1500000);
    assert_int_equal(llm->curves[2].handoff_ns, 60 * 1000);
    assert_int_equal(llm->curves[2].first_run_ns, 400 * 1000);
    assert_true(llm->curves[2].interference > 0.249 && llm->curves[2].interference < 0.251);
    assert_true(llm->curves[2].points[0].slowing.beside == 0.5);
    assert_true(llm->curves[2].points[0].slowing.crowded == 0.125);
    assert_true(llm->curves[2].quantiles[0] == 0.5);
    assert_true(llm->curves[2].quantiles[PROFILE_QUANTILES - 1] == 4.5);
    assert_true(llm->curves[2].load_quantiles[PROFILE_QUANTILES - 1] == 60);
    const struct config whole = {.batch = 1};
    assert_int_equal(
        profile_run(named.document.profile, 0, 2, 1, whole).distribution, DISTRIBUTION_EXPONENTIAL);
    /* What is left out of load and resident equals the other. */
    assert_int_equal(named.document.profile->models[1].load_bytes, 1000000000);
    assert_false(profile_is_measured(named.document.profile, 1, 0));
    assert_int_equal(named.document.profile->models[2].resident_bytes, 0);
    assert_int_equal(profile_run_one_ns(named.document.profile, 2, 0), 200000);
    forget(&named);
}

static void strangers_are_checked_and_left_out(ATTR_UNUSED void **state)
{
    struct named named = nothing();
    const uint32_t decode = catalogue_model(named.catalogue, "decode");
    const uint32_t absent = catalogue_model(named.catalogue, "absent");
    (void)fleet_device(named.fleet, "t4");

    read_good(example, PROFILE_KNOWN, &named);
    assert_int_equal(named.catalogue->model_count, 2);
    assert_int_equal(named.fleet->device_count, 1);
    assert_true(profile_is_measured(named.document.profile, decode, 0));
    assert_true(model_set_has(&named.document.listed, decode));
    assert_false(model_set_has(&named.document.listed, absent));
    forget(&named);

    struct tree *tree = parsed("weft_profile: 1\nmodels: {llm: {devices: {t4: {ms: -1}}}}\n");
    struct weft_error error = {0};
    struct named none = nothing();
    assert_int_equal(
        profile_read(tree->root, PROFILE_KNOWN, none.catalogue, none.fleet, &none.document, &error),
        WEFT_INVALID);
    assert_null(none.document.profile);
    tree_destroy(tree);
    forget(&none);
}

static void assert_same_curve(const struct profile_curve *a, const struct profile_curve *b)
{
    assert_int_equal(a->point_count, b->point_count);
    assert_int_equal(a->distribution, b->distribution);
    assert_int_equal(a->load_ns, b->load_ns);
    assert_int_equal(a->handoff_ns, b->handoff_ns);
    assert_int_equal(a->first_run_ns, b->first_run_ns);
    assert_true(a->interference - b->interference < 1e-9);
    assert_true(b->interference - a->interference < 1e-9);
    assert_memory_equal(a->quantiles, b->quantiles, sizeof(a->quantiles));
    assert_memory_equal(a->load_quantiles, b->load_quantiles, sizeof(a->load_quantiles));
    for (uint32_t i = 0; i < a->point_count; i++) {
        assert_int_equal(a->points[i].items, b->points[i].items);
        assert_int_equal(a->points[i].cpu, b->points[i].cpu);
        assert_int_equal(a->points[i].gpu, b->points[i].gpu);
        assert_true(a->points[i].interference == b->points[i].interference);
        assert_int_equal(a->points[i].run_ns, b->points[i].run_ns);
        assert_int_equal(a->points[i].sd_ns, b->points[i].sd_ns);
        assert_true(a->points[i].slowing.beside == b->points[i].slowing.beside);
        assert_true(a->points[i].slowing.crowded == b->points[i].slowing.crowded);
    }
}

static void assert_same(const struct named *a, const struct named *b)
{
    assert_string_equal(a->document.origin.source, b->document.origin.source);
    assert_int_equal(a->document.origin.figures, b->document.origin.figures);
    assert_int_equal(a->document.profile->model_count, b->document.profile->model_count);
    assert_int_equal(a->fleet->device_count, b->fleet->device_count);
    for (uint32_t i = 0; i < a->document.profile->model_count; i++) {
        const struct profile_model *left = &a->document.profile->models[i];
        const struct profile_model *right = &b->document.profile->models[i];
        assert_string_equal(a->catalogue->models[i], b->catalogue->models[i]);
        assert_int_equal(left->load_bytes, right->load_bytes);
        assert_int_equal(left->resident_bytes, right->resident_bytes);
        assert_int_equal(left->workspace_bytes, right->workspace_bytes);
        assert_int_equal(left->workspace_bytes_per_item, right->workspace_bytes_per_item);
        assert_int_equal(left->load_fixed_ns, right->load_fixed_ns);
        assert_int_equal(left->pinned, right->pinned);
        assert_int_equal(left->alone, right->alone);
        for (uint32_t j = 0; j < a->fleet->device_count; j++) {
            assert_same_curve(&left->curves[j], &right->curves[j]);
        }
    }
}

/* A path of this process alone. */
static void make_path(char out[64])
{
    (void)snprintf(out, 64, "/tmp/weft-test-%ld.profile.json", (long)getpid());
}

static void what_is_saved_is_loaded_again(ATTR_UNUSED void **state)
{
    struct named before = nothing();
    struct named after = nothing();
    struct weft_error error = {0};
    char path[64];

    read_good(example, PROFILE_ALL, &before);
    /* Times with every digit a day has, and a source with what JSON must escape. */
    const struct profile_point odd = {
        .items = 7,
        .run_ns = INT64_C(86399999999999),
        .sd_ns = 1,
    };
    assert_int_equal(profile_add_point(before.document.profile, 0, 1, &odd), WEFT_OK);
    before.document.profile->models[1].load_bytes = 0; /* While it has resident bytes. */
    before.document.profile->models[2].curves[0].distribution = DISTRIBUTION_DETERMINISTIC;
    (void)snprintf(
        before.document.origin.source, sizeof(before.document.origin.source),
        "\"quotes\" \\ \xc3\xa9");
    make_path(path);
    assert_good(
        profile_save(path, before.catalogue, before.fleet, &before.document, &error), &error);
    struct tree *tree = loaded(path);
    assert_good(
        profile_read(
            tree->root, PROFILE_ALL, after.catalogue, after.fleet, &after.document, &error),
        &error);
    tree_destroy(tree);
    assert_same(&before, &after);
    assert_int_equal(remove(path), 0);
    forget(&before);
    forget(&after);
}

static void what_cannot_be_saved_leaves_nothing_behind(ATTR_UNUSED void **state)
{
    struct named named = nothing();
    struct weft_error error = {0};
    char path[64];

    read_good(example, PROFILE_ALL, &named);
    assert_int_equal(
        profile_save(
            "no/such/folder/p.json", named.catalogue, named.fleet, &named.document, &error),
        WEFT_IO);
    assert_string_equal(
        error.message, "no/such/folder/p.json: cannot be opened: No such file or directory");
    make_path(path);
    named.document.origin.source[0] = '\xff';
    assert_int_equal(
        profile_save(path, named.catalogue, named.fleet, &named.document, &error), WEFT_INVALID);
    assert_int_not_equal(access(path, F_OK), 0);
    forget(&named);
}

static void shipped_profiles_name_their_source(ATTR_UNUSED void **state)
{
    struct named named = nothing();
    struct weft_error error = {0};

    struct tree *tree = loaded("scenarios/compass/compass-t4.profile.json");
    assert_good(
        profile_read(
            tree->root, PROFILE_ALL, named.catalogue, named.fleet, &named.document, &error),
        &error);
    tree_destroy(tree);
    assert_int_equal(named.document.origin.figures, FIGURES_PUBLISHED);
    assert_non_null(strstr(named.document.origin.source, "simulator"));
    forget(&named);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_points_are_read),
        cmocka_unit_test(strangers_are_checked_and_left_out),
        cmocka_unit_test(what_is_saved_is_loaded_again),
        cmocka_unit_test(what_cannot_be_saved_leaves_nothing_behind),
        cmocka_unit_test(shipped_profiles_name_their_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
