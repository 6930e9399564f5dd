/*
 * Graphs: inputs and outputs in host memory, on their share, over weights that come and go.
 *
 * Covers: src/cuda/ahead.c, src/cuda/block.c, src/cuda/graph.c, src/cuda/torch.c,
 * src/cuda/weights.c
 */
#include "cuda/graph.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "cuda/ahead.h"
#include "cuda/arena.h"
#include "cuda/inside.h"
#include "cuda/weights.h"
#include "unit/cuda_fixture.h"

enum { MIB = 1 << 20, WEIGHTS_BYTES = 40 * MIB, COPIES = 6, COPIES_MOST = 5 };

static struct cuda_world world;
static struct cuda_shares shares;
static struct cuda_manifest manifest;
static struct cuda_weights weights;
static struct cuda_blocks blocks;
static struct cuda_package *packages[2];
static struct CUstream_st *copies;
static uint64_t arena;
static const char *folder;

static void must(enum weft_status status, const struct weft_error *error)
{
    if (status != WEFT_OK) {
        fail_msg("%s", error->message);
    }
}

static const char *weights_path(void)
{
    static char path[600];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, manifest.weights);
    return path;
}

static enum weft_status fill(
    const char *path, const struct cuda_beside *beside, struct weft_error *error)
{
    struct cuda_block block;
    must(cuda_blocks_take(&blocks, weights.range_bytes, &block, error), error);
    return cuda_weights_fill(&weights, &block, path, copies, beside, error);
}

static void load(void)
{
    struct weft_error error;
    must(fill(weights_path(), NULL, &error), &error);
    cuda_block_shut(&world.device, &weights.block);
}

/* They are no longer needed: their memory waits for others. */
static void drop(void)
{
    struct cuda_block block = cuda_weights_unmap(&weights);
    cuda_blocks_give(&blocks, &block);
}

static int set_up(ATTR_UNUSED void **state)
{
    static uint32_t number;
    struct weft_error error;
    char name[16];
    (void)snprintf(name, sizeof(name), "model%u", number++);
    folder = cuda_make_model(name, 2, 1, WEIGHTS_BYTES);
    cuda_world_open(&world);
    blocks.device = &world.device;
    must(cuda_shares_open(&world.device, &shares, &error), &error);
    must(cuda_manifest_read(folder, &manifest, &error), &error);
    must(cuda_weights_open(&world.device, manifest.weights_bytes, &weights, &error), &error);
    assert_int_equal(world.driver.stream_create(&copies, CUDA_STREAM_APART), 0);
    assert_int_equal(world.driver.memory_take(&arena, 64 * MIB), 0);
    cuda_arena_start(arena, 64 * MIB, 4 * MIB);
    for (uint32_t i = 0; i < 2; i++) {
        must(
            cuda_package_open(&world.torch, &manifest, i, weights.address, &packages[i], &error),
            &error);
    }
    return 0;
}

static int tear_down(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < 2; i++) {
        cuda_package_close(packages[i]);
    }
    cuda_weights_close(&weights);
    cuda_blocks_close(&blocks);
    cuda_manifest_free(&manifest);
    cuda_shares_close(&shares);
    cuda_arena_stop();
    assert_int_equal(world.driver.memory_give(arena), 0);
    assert_int_equal(world.driver.stream_destroy(copies), 0);
    cuda_world_close(&world);
    return 0;
}

static struct cuda_share *take(uint32_t units)
{
    struct cuda_share *share;
    struct weft_error error;
    must(cuda_shares_take(&shares, UINT32_MAX, units, &share, &error), &error);
    assert_non_null(share);
    return share;
}

static struct cuda_graph record(uint32_t package, const struct cuda_share *share)
{
    struct cuda_graph graph;
    struct weft_error error;
    must(
        cuda_graph_open(&world.device, share, packages[package], &manifest, &graph, &error),
        &error);
    return graph;
}

/* Run @graph on rows that begin with @first: they must become twice and one more. */
static enum weft_status try(struct cuda_graph *graph, float first)
{
    struct weft_error error;
    float *x = (float *)(void *)(graph->host + graph->input_at[0]);
    const float *y = (const float *)(const void *)(graph->host + graph->output_at[0]);
    const uint32_t count = graph->rows * FIXTURE_EXTENT;
    for (uint32_t i = 0; i < count; i++) {
        x[i] = first + (float)i;
    }
    enum weft_status status = cuda_graph_launch(graph, &error);
    if (status == WEFT_OK) {
        status = cuda_graph_poll(graph, &error);
    }
    for (uint32_t i = 0; i < count && status == WEFT_OK; i++) {
        assert_true(y[i] == 2 * x[i] + 1); /* Small numbers: exact. */
    }
    return status;
}

static void a_graph_runs_on_its_share(ATTR_UNUSED void **state)
{
    load();
    struct cuda_graph small = record(0, take(2));
    struct cuda_graph large = record(1, take(4));
    assert_int_equal(small.rows, 1);
    assert_int_equal(large.rows, 4);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(try(&small, (float)i), WEFT_OK);
        assert_int_equal(try(&large, (float)(10 * i)), WEFT_OK);
    }
    cuda_graph_close(&small);
    cuda_graph_close(&large);
}

static void a_row_is_read_where_it_lies(ATTR_UNUSED void **state)
{
    enum { BYTES = 4096, ROW = 2 };
    struct weft_error error;
    float *other = aligned_alloc(BYTES, BYTES);
    load();
    struct cuda_graph graph = record(1, take(4));
    const float *y = (const float *)(const void *)(graph.host + graph.output_at[0]);
    assert_non_null(other);
    for (uint32_t i = 0; i < BYTES / sizeof(*other); i++) {
        other[i] = 100 + (float)i;
    }
    assert_int_equal(
        world.driver.host_register(other, BYTES, CUDA_HOST_PORTABLE | CUDA_HOST_READ_ONLY), 0);
    assert_false(cuda_graph_set_row(&graph, 0, ROW, (const uint8_t *)other + 4)); /* Not aligned. */
    for (uint32_t turn = 0; turn < 2; turn++) { /* What is set already is set again. */
        assert_true(cuda_graph_set_row(&graph, 0, ROW, other));
        must(cuda_graph_launch(&graph, &error), &error);
        must(cuda_graph_poll(&graph, &error), &error);
        for (uint32_t i = 0; i < FIXTURE_EXTENT; i++) {
            assert_true(y[ROW * FIXTURE_EXTENT + i] == 2 * other[i] + 1);
        }
    }
    assert_int_equal(world.driver.host_unregister(other), 0);
    free(other); /* The driver would see that a kernel reads there. */
    for (uint32_t turn = 0; turn < 2; turn++) {
        cuda_graph_own_row(&graph, 0, ROW);
        assert_int_equal(try(&graph, (float)turn), WEFT_OK);
    }
    cuda_graph_close(&graph);
}

static void weights_come_and_go_behind_a_graph(ATTR_UNUSED void **state)
{
    struct fake_cuda_counts before;
    struct fake_cuda_counts after;
    load();
    struct cuda_graph graph = record(1, take(16));
    assert_int_equal(try(&graph, 1), WEFT_OK);
    drop();
    world.count(&before);
    load();
    world.count(&after);
    assert_int_equal(after.blocks, before.blocks); /* The same memory again. */
    assert_int_equal(after.copied_bytes - before.copied_bytes, WEIGHTS_BYTES);
    assert_int_equal(after.copies - before.copies, COPIES); /* In pieces, */
    assert_int_equal(after.copies_most, COPIES_MOST);
    assert_int_equal(try(&graph, 5), WEFT_OK);
    cuda_graph_close(&graph);
}

static void a_graph_without_weights_breaks_the_device(ATTR_UNUSED void **state)
{
    load();
    struct cuda_graph graph = record(0, take(1));
    drop();
    assert_int_equal(try(&graph, 1), WEFT_LOST);
    assert_int_equal(try(&graph, 1), WEFT_LOST); /* And stays broken. */
    world.cause(FAKE_NO_FAULT, 0);
    cuda_graph_close(&graph);
}

static void filled_weights_cannot_be_written(ATTR_UNUSED void **state)
{
    struct weft_error error;
    void *host;
    must(fill(weights_path(), NULL, &error), &error);
    const uint64_t staging = weights.block.pieces[0].address;
    assert_int_equal(world.driver.host_take(&host, 4096, CUDA_HOST_PORTABLE), 0);
    assert_int_not_equal(world.driver.copy_in(weights.address, host, 4096, copies), 0);
    assert_int_equal(world.driver.copy_in(staging, host, 4096, copies), 0);
    cuda_block_shut(&world.device, &weights.block);
    assert_int_not_equal(world.driver.copy_in(staging, host, 4096, copies), 0);
    assert_int_equal(world.driver.host_give(host), 0);
}

static void a_kernel_that_runs_wild(ATTR_UNUSED void **state)
{
    load();
    struct cuda_graph graph = record(0, take(1));
    assert_int_equal(try(&graph, 666), WEFT_LOST);
    world.cause(FAKE_NO_FAULT, 0);
    assert_int_equal(try(&graph, 777), WEFT_BUSY); /* This one hangs. */
    cuda_graph_close(&graph);
}

static void a_long_run_is_asked_after(ATTR_UNUSED void **state)
{
    struct weft_error error;
    load();
    struct cuda_graph graph = record(0, take(1));
    assert_int_equal(try(&graph, 555), WEFT_BUSY);
    while (cuda_graph_poll(&graph, &error) == WEFT_BUSY) {
    }
    const float *y = (const float *)(const void *)(graph.host + graph.output_at[0]);
    assert_true(y[0] == 2 * 555 + 1);
    cuda_graph_close(&graph);
}

static void a_share_that_has_spent_its_memory(ATTR_UNUSED void **state)
{
    struct cuda_package *big;
    struct cuda_graph graph;
    struct weft_error error;
    load();
    cuda_add_package(folder, "big");
    (void)snprintf(manifest.packages[1].folder, sizeof(manifest.packages[1].folder), "big");
    must(cuda_package_open(&world.torch, &manifest, 1, weights.address, &big, &error), &error);
    struct cuda_share *first = take(2);
    struct cuda_share *second = take(2);
    struct cuda_graph small = record(0, first);
    assert_int_equal(
        cuda_graph_open(&world.device, second, big, &manifest, &graph, &error), WEFT_NO_MEMORY);
    assert_non_null(strstr(error.message, "asked for 67108864 bytes more"));
    struct cuda_graph other = record(1, second); /* It can still be used, */
    assert_int_equal(try(&other, 3), WEFT_OK);
    assert_int_equal(try(&small, 3), WEFT_OK); /* and what the first has is its own. */
    cuda_graph_close(&small);
    cuda_graph_close(&other);
    cuda_package_close(big);
}

static void a_device_without_memory(ATTR_UNUSED void **state)
{
    struct cuda_graph graph;
    struct weft_error error;
    struct cuda_block block;
    load();
    struct cuda_share *share = take(1);
    for (uint32_t i = 0; i < 2; i++) { /* Of the host, then of the device. */
        world.cause(FAKE_NO_MEMORY, 1);
        assert_int_equal(
            cuda_graph_open(&world.device, share, packages[0], &manifest, &graph, &error),
            WEFT_NO_MEMORY);
    }
    world.cause(FAKE_NO_MEMORY, 1);
    assert_int_equal(
        cuda_blocks_take(&blocks, weights.range_bytes, &block, &error), WEFT_NO_MEMORY);
    world.cause(FAKE_NO_FAULT, 0);
}

static struct cuda_block take_block(uint64_t bytes)
{
    struct cuda_block block;
    struct weft_error error;
    must(cuda_blocks_take(&blocks, bytes, &block, &error), &error);
    assert_int_equal(block.bytes, bytes);
    uint64_t all = 0;
    for (uint32_t i = 0; i < block.count; i++) {
        assert_true(block.pieces[i].is_open);
        all += cuda_piece_bytes(&world.device, block.pieces[i].size);
    }
    assert_int_equal(all, bytes);
    return block;
}

static void give_block(struct cuda_block *block)
{
    cuda_block_shut(&world.device, block);
    cuda_blocks_give(&blocks, block);
    assert_int_equal(block->count, 0);
}

static uint32_t count_waiting(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < CUDA_PIECE_SIZES; i++) {
        count += blocks.sizes[i].count;
    }
    return count;
}

/* Memory of a model is that of others of any size, as far as its pieces go. */
static void memory_comes_again(ATTR_UNUSED void **state)
{
    struct fake_cuda_counts before;
    struct fake_cuda_counts after;
    struct weft_error error;
    world.count(&before);
    struct cuda_block first = take_block(22 * MIB); /* 16 and three times 2. */
    assert_int_equal(first.count, 4);
    struct cuda_block second = take_block(34 * MIB); /* Twice 16, and 2. */
    assert_int_equal(second.count, 3);
    give_block(&first);
    give_block(&second);
    first = take_block(50 * MIB); /* Three times 16, and 2. */
    second = take_block(6 * MIB);
    world.count(&after);
    assert_int_equal(after.blocks - before.blocks, 7); /* What the first two had. */
    give_block(&first);
    give_block(&second);
    first = take_block(126 * MIB);
    second = take_block(14 * MIB);
    give_block(&first); /* Seven times 16, and 14 times 2: no eight of one size and what is left. */
    give_block(&second);
    world.cause(FAKE_NO_MEMORY, 1); /* What waits goes rather than that a load fails. */
    first = take_block(128 * MIB);
    world.cause(FAKE_NO_FAULT, 0);
    assert_int_equal(count_waiting(), 0);
    second = take_block(16 * MIB);
    give_block(&second);
    world.cause(FAKE_NO_MEMORY, UINT32_MAX); /* And what was taken so far waits if it fails. */
    assert_int_equal(cuda_blocks_take(&blocks, 18 * MIB, &second, &error), WEFT_NO_MEMORY);
    world.cause(FAKE_NO_FAULT, 0);
    assert_int_equal(count_waiting(), 1);
    give_block(&first);
    world.count(&after);
    assert_int_equal(after.device_bytes - before.device_bytes, (128 + 16) * MIB);
}

/* Eight small pieces are one large; and one large becomes eight, once. */
static void pieces_stand_in_for_others(ATTR_UNUSED void **state)
{
    struct fake_cuda_counts before;
    struct fake_cuda_counts after;
    world.count(&before);
    struct cuda_block large = take_block(128 * MIB);
    assert_int_equal(large.count, 1);
    give_block(&large);
    struct cuda_block small = take_block(2 * MIB); /* 128 = 7 * 16 + 8 * 2 from now on. */
    assert_int_equal(small.count, 1);
    world.count(&after);
    assert_int_equal(after.device_bytes - before.device_bytes, 128 * MIB);
    assert_int_equal(after.blocks - before.blocks, 1 + 8 + 8);
    give_block(&small);
    small = take_block(16 * MIB);
    large = take_block(112 * MIB); /* Of the rest: six times 16, and eight times 2. */
    assert_int_equal(large.count, 14);
    world.count(&before);
    assert_int_equal(before.blocks, after.blocks); /* Nothing new. */
    assert_int_equal(before.device_bytes, after.device_bytes);
    assert_int_equal(count_waiting(), 0);
    give_block(&small);
    give_block(&large);
}

/* As much as models need, or as they may have; and not what others have. */
static void memory_is_taken_ahead(ATTR_UNUSED void **state)
{
    static const uint64_t sizes[] = {22 * MIB, 1 + 32 * MIB, 150 * MIB};
    struct fake_cuda_counts before;
    struct fake_cuda_counts after;
    struct cuda_block held[3];
    world.count(&before);
    cuda_blocks_want(&blocks, sizes, 3, /* copies */ 2, /* bytes */ 1024 * MIB);
    while (cuda_blocks_fill(&blocks)) {
    }
    world.count(&after);
    assert_int_equal(after.device_bytes - before.device_bytes, 2 * (22 + 34 + 150) * MIB);
    for (uint32_t i = 0; i < 3; i++) {
        held[i] = take_block(cuda_weights_round(&world.device, sizes[i]));
    }
    assert_false(cuda_blocks_fill(&blocks)); /* What is in use counts. */
    world.count(&before);
    assert_int_equal(before.blocks, after.blocks);
    for (uint32_t i = 0; i < 3; i++) {
        give_block(&held[i]);
    }
    cuda_blocks_close(&blocks);
    cuda_blocks_want(&blocks, sizes, 3, /* copies */ 2, /* bytes */ 206 * MIB); /* Half of it. */
    while (cuda_blocks_fill(&blocks)) {
    }
    world.count(&before);
    assert_int_equal(after.device_bytes - before.device_bytes, 206 * MIB);
    cuda_blocks_close(&blocks);
    cuda_blocks_want(&blocks, sizes, 3, /* copies */ 1, /* bytes */ 1024 * MIB);
    world.cause(FAKE_NO_MEMORY, UINT32_MAX);
    assert_false(cuda_blocks_fill(&blocks));
    world.cause(FAKE_NO_FAULT, 0);
    assert_false(cuda_blocks_fill(&blocks)); /* It is not asked for again and again. */
}

/* What is taken ahead, and gone, is taken again. */
static void memory_that_is_gone_is_taken_again(ATTR_UNUSED void **state)
{
    static const uint64_t sizes[] = {22 * MIB};
    struct fake_cuda_counts before;
    struct fake_cuda_counts after;
    cuda_blocks_want(&blocks, sizes, 1, /* copies */ 1, /* bytes */ 1024 * MIB);
    while (cuda_blocks_fill(&blocks)) {
    }
    world.count(&before);
    struct cuda_block block = take_block(22 * MIB);
    cuda_blocks_drop(&blocks, &block);
    while (cuda_blocks_fill(&blocks)) {
    }
    world.count(&after);
    assert_int_equal(after.device_bytes, before.device_bytes);
}

/* As much as all models need on all workers, and as they may have. */
static void memory_is_taken_ahead_for_all_workers(ATTR_UNUSED void **state)
{
    static const uint64_t limits[] = {0, 60 * MIB, 1024 * MIB};
    static const uint64_t expected[] = {0, 60 * MIB, 3 * WEIGHTS_BYTES};
    struct fake_cuda_counts before;
    struct fake_cuda_counts after;
    char paths[2][600] = {"", "/nowhere"};
    (void)snprintf(paths[0], sizeof(paths[0]), "%s", folder);
    struct artifact items[] = {{.cuda = paths[0]}, {.cuda = NULL}, {.cuda = paths[1]}};
    const struct artifacts artifacts = {.count = 3, .items = items};
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    for (uint32_t i = 0; i < 3; i++) {
        struct engine_cuda engine = {
            .options =
                {
                    .artifacts = &artifacts,
                    .worker_count = 3,
                    .memory_bytes = limits[i],
                    .lock = &lock,
                },
            .blocks.device = &world.device,
        };
        world.count(&before);
        while (cuda_ahead_step(&engine)) {
        }
        world.count(&after);
        assert_int_equal(after.device_bytes - before.device_bytes, expected[i]);
        cuda_blocks_close(&engine.blocks);
        free(engine.ahead.sizes);
    }
}

/* What cannot be mapped where the model expects it is not lost. */
static void weights_that_cannot_be_mapped(ATTR_UNUSED void **state)
{
    struct weft_error error;
    struct cuda_block block = take_block(weights.range_bytes);
    world.cause(FAKE_NO_MAP, 1);
    assert_int_equal(
        cuda_weights_fill(&weights, &block, weights_path(), copies, NULL, &error), WEFT_FAILED);
    world.cause(FAKE_NO_FAULT, 0);
    assert_false(weights.is_mapped);
    drop();
    load();
    drop();
}

/* What a load has told and been asked. */
struct told {
    uint32_t left;       /* Questions until it is cancelled. UINT32_MAX: never. */
    bool is_busy;        /* Something runs beside it. */
    uint32_t lasts;      /* How often it was told that all is under way, */
    uint64_t last_bytes; /* and what had been copied by then. */
};

static bool is_cancelled(void *context)
{
    struct told *told = context;
    return told->left == 0 || (told->left != UINT32_MAX && --told->left == 0);
}

static bool is_busy(void *context)
{
    const struct told *told = context;
    return told->is_busy;
}

static void on_last(void *context)
{
    struct told *told = context;
    struct fake_cuda_counts counts;
    world.count(&counts);
    told->lasts++;
    told->last_bytes = counts.copied_bytes;
}

/* The last two chunks, of which one is under way. */
static void the_end_of_a_load_is_told_before(ATTR_UNUSED void **state)
{
    struct fake_cuda_counts counts;
    struct weft_error error;
    struct told told = {.left = UINT32_MAX};
    const struct cuda_beside beside = {is_cancelled, is_busy, on_last, &told};
    world.count(&counts);
    const uint64_t before = counts.copied_bytes;
    must(fill(weights_path(), &beside, &error), &error);
    assert_int_equal(told.lasts, 1);
    assert_true(weights.bytes > CUDA_CHUNK_BYTES);
    assert_true(told.last_bytes > before);
    assert_true(told.last_bytes < before + weights.bytes);
    assert_true(before + weights.bytes - told.last_bytes <= CUDA_FLIGHT_BYTES);
}

/* How often this process has slept. */
static long sleeps(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_nvcsw;
}

/* The last pieces are small, and together no more than a large one. */
static void a_load_beside_runs_has_one_copy_at_a_time(ATTR_UNUSED void **state)
{
    struct fake_cuda_counts counts;
    struct weft_error error;
    must(fill(weights_path(), NULL, &error), &error); /* The file is read. */
    drop();
    for (uint32_t turn = 0; turn < 2; turn++) {
        struct told told = {.left = UINT32_MAX, .is_busy = turn == 0};
        const struct cuda_beside beside = {is_cancelled, is_busy, on_last, &told};
        world.count(&counts);
        const uint64_t before = counts.copied_bytes;
        const long slept = sleeps();
        must(fill(weights_path(), &beside, &error), &error);
        assert_true(turn == 1 || sleeps() - slept >= 2); /* After each of the large ones. */
        world.count(&counts);
        assert_int_equal(counts.copied_bytes - before, WEIGHTS_BYTES);
        assert_int_equal(counts.copies_most, turn == 0 ? COPIES_MOST - 1 : COPIES_MOST);
        drop();
    }
}

static void a_load_is_cancelled(ATTR_UNUSED void **state)
{
    struct fake_cuda_counts counts;
    struct weft_error error;
    struct told told = {.left = 2};
    const struct cuda_beside beside = {is_cancelled, is_busy, on_last, &told};
    world.count(&counts);
    const uint64_t before = counts.copied_bytes;
    assert_int_equal(fill(weights_path(), &beside, &error), WEFT_CANCELLED);
    world.count(&counts);
    assert_int_equal(counts.copied_bytes - before, CUDA_CHUNK_BYTES);
}

static void files_that_are_not_as_they_should(ATTR_UNUSED void **state)
{
    struct weft_error error;
    assert_int_equal(fill("/nowhere", NULL, &error), WEFT_IO);
    drop();
    cuda_write(cuda_folder, "short", "x", 1);
    assert_int_equal(fill(cuda_path("short"), NULL, &error), WEFT_IO);
    assert_non_null(strstr(error.message, "has 1 bytes"));
    drop();
    world.cause(FAKE_NO_REGISTER, 1);
    assert_int_equal(fill(weights_path(), NULL, &error), WEFT_FAILED);
    world.cause(FAKE_NO_FAULT, 0);
    drop();
    load();
}

static void packages_that_are_not(ATTR_UNUSED void **state)
{
    struct cuda_package *package;
    struct weft_error error;
    char path[600];
    struct cuda_manifest other = manifest;
    (void)snprintf(other.packages[0].folder, sizeof(other.packages[0].folder), "nowhere");
    assert_int_equal(
        cuda_package_open(&world.torch, &other, 0, weights.address, &package, &error),
        WEFT_NOT_FOUND);
    assert_null(package);
    other.packages[0] = manifest.packages[0];
    other.constant_count = 1;
    assert_int_equal(
        cuda_package_open(&world.torch, &other, 0, weights.address, &package, &error),
        WEFT_NOT_FOUND);
    assert_non_null(strstr(error.message, "layer.shift"));
    (void)snprintf(path, sizeof(path), "%s/one/second.so", folder);
    assert_int_equal(symlink(FAKE_CUDA, path), 0);
    assert_int_equal(
        cuda_package_open(&world.torch, &manifest, 0, weights.address, &package, &error),
        WEFT_NOT_FOUND);
    assert_non_null(strstr(error.message, "2 shared objects"));
}

static void an_output_of_another_size(ATTR_UNUSED void **state)
{
    struct cuda_graph graph;
    struct weft_error error;
    load();
    manifest.outputs[0].row_bytes *= 2;
    assert_int_equal(
        cuda_graph_open(&world.device, take(1), packages[0], &manifest, &graph, &error),
        WEFT_FAILED);
    assert_non_null(strstr(error.message, "has 4 elements, not 8"));
}

static void a_libtorch_that_is_not_there(ATTR_UNUSED void **state)
{
    struct cuda_torch torch;
    struct weft_error error;
    assert_int_equal(cuda_torch_open("/nowhere", &torch, &error), WEFT_NOT_FOUND);
    assert_non_null(strstr(error.message, "no libtorch"));
}

static int remove_all(ATTR_UNUSED void **state)
{
    cuda_remove_folder();
    return 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_graph_runs_on_its_share),
        TEST(a_row_is_read_where_it_lies),
        TEST(weights_come_and_go_behind_a_graph),
        TEST(a_graph_without_weights_breaks_the_device),
        TEST(filled_weights_cannot_be_written),
        TEST(a_kernel_that_runs_wild),
        TEST(a_long_run_is_asked_after),
        TEST(a_share_that_has_spent_its_memory),
        TEST(a_device_without_memory),
        TEST(the_end_of_a_load_is_told_before),
        TEST(a_load_beside_runs_has_one_copy_at_a_time),
        TEST(a_load_is_cancelled),
        TEST(memory_comes_again),
        TEST(pieces_stand_in_for_others),
        TEST(memory_is_taken_ahead),
        TEST(memory_that_is_gone_is_taken_again),
        TEST(memory_is_taken_ahead_for_all_workers),
        TEST(weights_that_cannot_be_mapped),
        TEST(files_that_are_not_as_they_should),
        TEST(packages_that_are_not),
        TEST(an_output_of_another_size),
        cmocka_unit_test(a_libtorch_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, remove_all);
}
