/* cuda_fixture.h - a fake GPU, and models for it in a folder of their own. */
#ifndef UNIT_CUDA_FIXTURE_H
#define UNIT_CUDA_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "cuda/driver.h"
#include "cuda/torch.h"
#include "fakes/fake_cuda.h"

#define FAKE_CUDA    WEFT_TEST_FAKES "/fake_cuda.so"
#define FAKE_PACKAGE WEFT_TEST_FAKES "/fake_package.so"

enum { FIXTURE_EXTENT = 4, FIXTURE_SHIFT_AT = 256 };

static char cuda_folder[] = "/tmp/weft-cuda-XXXXXX";

/* A path in the folder of this test, which is made with the first. */
static const char *cuda_path(const char *name)
{
    static char path[8][512];
    static uint32_t next;
    static bool is_made;
    if (!is_made) {
        assert_non_null(mkdtemp(cuda_folder));
        is_made = true;
    }
    char *here = path[next++ % 8];
    (void)snprintf(here, sizeof(path[0]), "%s/%s", cuda_folder, name);
    return here;
}

ATTR_UNUSED static void cuda_remove_folder(void)
{
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", cuda_folder);
    assert_int_equal(system(command), 0); /* NOLINT: a folder of our own. */
}

static void cuda_write(const char *folder, const char *name, const void *data, size_t bytes)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* A package in @folder, by the name of @package. */
static void cuda_add_package(const char *folder, const char *package)
{
    char path[512];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, package);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/%s/package.so", folder, package);
    assert_int_equal(symlink(FAKE_PACKAGE, path), 0);
}

/*
 * A model called @name: y = x * @scale + @shift for rows of FIXTURE_EXTENT floats, with @bytes of
 * weights and packages for one row and for four. Returns its folder.
 */
ATTR_UNUSED static const char *cuda_make_model(
    const char *name, float scale, float shift, size_t bytes)
{
    const char *folder = cuda_path(name);
    char text[1024];
    uint8_t weights[FIXTURE_SHIFT_AT + sizeof(shift)] = {0};
    assert_int_equal(mkdir(folder, 0700), 0);
    memcpy(weights, &scale, sizeof(scale));
    memcpy(weights + FIXTURE_SHIFT_AT, &shift, sizeof(shift));
    cuda_write(folder, "weights.bin", weights, sizeof(weights));
    (void)snprintf(text, sizeof(text), "%s/weights.bin", folder);
    assert_int_equal(truncate(text, (off_t)bytes), 0); /* The rest is zeroes, and takes no room. */
    const int length = snprintf(
        text, sizeof(text),
        "weft-cuda 1\n"
        "weights weights.bin %zu\n"
        "constant layer.scale 0 4 FP32 1 1 1\n"
        "constant layer.shift %d 4 FP32 0\n"
        "input x FP32 1 %d\n"
        "output y FP32 1 %d\n"
        "package 1 one\n"
        "package 4 four\n",
        bytes, FIXTURE_SHIFT_AT, FIXTURE_EXTENT, FIXTURE_EXTENT);
    cuda_write(folder, "manifest", text, (size_t)length);
    cuda_add_package(folder, "one");
    cuda_add_package(folder, "four");
    return folder;
}

/* The driver and device of this test. */
struct cuda_world {
    struct cuda_driver driver;
    struct cuda_device device;
    struct cuda_torch torch;
    fake_cuda_fail_function *cause;
    fake_cuda_count_function *count;
};

static void cuda_find(void *library, const char *name, void *function_out)
{
    void *found = dlsym(library, name);
    assert_non_null(found);
    memcpy(function_out, &found, sizeof(found));
}

ATTR_UNUSED static void cuda_world_open(struct cuda_world *world)
{
    struct weft_error error;
    if (cuda_driver_open(FAKE_CUDA, &world->driver, &error) != WEFT_OK ||
        cuda_torch_open(WEFT_TEST_FAKES, &world->torch, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    cuda_find(world->driver.library, "fake_cuda_fail", &world->cause);
    cuda_find(world->driver.library, "fake_cuda_count", &world->count);
    if (cuda_device_open(&world->driver, &world->device, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
}

/* Nothing of the device may be left. */
ATTR_UNUSED static void cuda_world_close(struct cuda_world *world)
{
    struct fake_cuda_counts counts;
    void (*forget)(void);
    cuda_find(world->torch.library, "fake_torch_forget", &forget);
    forget();
    cuda_device_close(&world->device);
    world->count(&counts);
    assert_int_equal(counts.objects, 0);
    assert_int_equal(counts.device_bytes, 0);
}

#endif /* UNIT_CUDA_FIXTURE_H */
