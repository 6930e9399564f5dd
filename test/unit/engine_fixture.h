/*
 * engine_fixture.h - a machine of one processor, a catalogue, and an engine whose every word is
 * kept. For tests of engines.
 */
#ifndef UNIT_ENGINE_FIXTURE_H
#define UNIT_ENGINE_FIXTURE_H

#include <uv.h>

#include "base/attributes.h"
#include "engine/artifact.h"
#include "engine/engine.h"
#include "model/catalogue.h"
#include "unit/onnx_fixture.h"

#define SAMPLE WEFT_TEST_FUNCTIONS "/functions_sample.so"

enum { WORLD_MODELS_MAX = 24, DONE_MAX = 512, TASKS_MAX = 4 };

/* What the engine said, with copies of what is valid only then. */
struct said {
    struct engine_done done;
    char message[240];
    struct engine_output outputs[TASKS_MAX];
    char messages[TASKS_MAX][240];
    struct engine_usage usages[ENGINE_USAGES_MAX];
};

struct world {
    struct fleet *fleet;
    struct catalogue *catalogue;
    struct artifacts artifacts;
    struct artifact files[WORLD_MODELS_MAX];
    char paths[WORLD_MODELS_MAX][128];
    uv_loop_t loop;
    struct engine *engine;
    uint32_t said_count;
    struct said said[DONE_MAX];
};

static struct world world; /* Large: not on the stack. */

static inline void on_done(ATTR_UNUSED void *context, const struct engine_done *done)
{
    assert_true(world.said_count < DONE_MAX);
    struct said *said = &world.said[world.said_count++];
    said->done = *done;
    (void)snprintf(said->message, sizeof(said->message), "%s", done->message ? done->message : "");
    assert_true(done->output_count <= TASKS_MAX);
    for (uint32_t i = 0; i < done->output_count; i++) {
        said->outputs[i] = done->outputs[i];
        (void)snprintf(
            said->messages[i], sizeof(said->messages[i]), "%s",
            done->outputs[i].message ? done->outputs[i].message : "");
    }
    assert_true(done->usage_count <= ENGINE_USAGES_MAX);
    for (uint32_t i = 0; i < done->usage_count; i++) {
        said->usages[i] = done->usages[i];
    }
}

/* Run the loop until nothing is under way, and return what was said last. */
static inline struct said *settle(void)
{
    (void)uv_run(&world.loop, UV_RUN_DEFAULT);
    assert_true(world.said_count > 0);
    return &world.said[world.said_count - 1];
}

static inline uint32_t add_model(const char *name, enum artifact_kind kind, const char *path)
{
    const uint32_t model = catalogue_model(world.catalogue, name);
    assert_true(model < WORLD_MODELS_MAX);
    (void)snprintf(world.paths[model], sizeof(world.paths[model]), "%s", path);
    world.files[model].kind = kind;
    world.files[model].path = world.paths[model];
    if (kind == ARTIFACT_FUNCTION) {
        (void)snprintf(world.files[model].function, NAME_BYTES_MAX, "%s", name);
    }
    world.artifacts.count = world.catalogue->model_count;
    return model;
}

/* Without models, and without an engine. */
static inline void world_open(uint64_t memory_bytes)
{
    memset(&world, 0, sizeof(world));
    world.fleet = fleet_create();
    struct fleet_worker device = {.memory_bytes = memory_bytes, .gpu_units = 2};
    device.device = fleet_device(world.fleet, "cpu");
    assert_true(fleet_add_machine(world.fleet, &device, 1, /* cpu_units */ 2));
    world.catalogue = catalogue_create();
    world.artifacts.items = world.files;
    assert_int_equal(uv_loop_init(&world.loop), 0);
}

/* Forget what was said: there is room for DONE_MAX words. */
static inline void forget(void)
{
    for (uint32_t i = 0; i < world.said_count; i++) {
        for (uint32_t k = 0; k < world.said[i].done.output_count; k++) {
            bundle_destroy(world.said[i].outputs[k].contents);
        }
    }
    world.said_count = 0;
}

/* The engine is destroyed already. */
static inline void world_close(void)
{
    assert_int_equal(uv_run(&world.loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&world.loop), 0);
    forget();
    catalogue_destroy(world.catalogue);
    fleet_destroy(world.fleet);
}

/* Load @model, which must work. */
static inline void load(uint32_t model)
{
    engine_load(world.engine, 0, model);
    const struct said *said = settle();
    assert_int_equal(said->done.kind, ENGINE_LOADED);
    assert_string_equal(said->message, "");
    assert_int_equal(said->done.status, WEFT_OK);
}

#endif /* UNIT_ENGINE_FIXTURE_H */
