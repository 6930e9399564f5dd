#include "cuda/torch.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/memory.h"
#include "cuda/arena.h"

enum { PATH_BYTES_MAX = 4096, ON_CUDA = 1 };

/* A constant of a package, and what it is bound to. */
struct pair {
    const char *name;
    struct AtenTensorOpaque *tensor;
};

struct cuda_package {
    const struct cuda_torch *torch;
    const struct cuda_manifest *manifest;
    int64_t rows;
    void *library;
    void *container;
    struct pair *pairs;
    size_t pair_count;
    int32_t (*create)(void **out, size_t runners, const char *device, const char *folder);
    int32_t (*destroy)(void *container);
    int32_t (*run)(
        void *container, struct AtenTensorOpaque **inputs, size_t input_count,
        struct AtenTensorOpaque **outputs, size_t output_count, struct CUstream_st *stream,
        void *executor);
    int32_t (*count)(void *container, size_t *out);
    int32_t (*full_name)(void *container, size_t index, const char **out);
    int32_t (*name)(void *container, size_t index, const char **out);
    int32_t (*bind)(
        void *container, const struct pair *pairs, size_t count, bool use_inactive, bool check_all);
};

/* Look @symbol up; *function_out, of the size of a pointer, is it. */
static bool look_up(void *library, const char *symbol, void *function_out)
{
    void *found = dlsym(library, symbol);
    memcpy(function_out, &found, sizeof(found));
    return found != NULL;
}

enum weft_status cuda_torch_open(
    const char *path, struct cuda_torch *torch_out, struct weft_error *error)
{
    char file[PATH_BYTES_MAX];
    int (*library_free)(void *memory);
    const int length = path == NULL ? snprintf(file, sizeof(file), "libtorch.so")
                                    : snprintf(file, sizeof(file), "%s/libtorch.so", path);
    *torch_out = (struct cuda_torch){.library = NULL};
    if (length >= (int)sizeof(file)) {
        return error_set(error, WEFT_LIMIT, "the path of libtorch is too long");
    }
    torch_out->library = dlopen(file, RTLD_LAZY | RTLD_GLOBAL);
    if (torch_out->library == NULL) {
        return error_set(error, WEFT_NOT_FOUND, "there is no libtorch: %s", dlerror());
    }
    if (!look_up(torch_out->library, "aoti_torch_create_tensor_from_blob", &torch_out->from_blob) ||
        !look_up(torch_out->library, "aoti_torch_get_data_ptr", &torch_out->data_of) ||
        !look_up(torch_out->library, "aoti_torch_get_numel", &torch_out->size_of) ||
        !look_up(torch_out->library, "aoti_torch_delete_tensor_object", &torch_out->drop)) {
        return error_set(error, WEFT_NOT_FOUND, "%s cannot run AOTInductor packages", file);
    }
    if (look_up(torch_out->library, "cudaFree", &library_free)) {
        cuda_arena_set_free(library_free);
    }
    return WEFT_OK;
}

/* The path of the one shared object in @folder, a package of @manifest. */
static enum weft_status find_object(
    struct cuda_manifest *manifest, const char *folder, char path_out[static PATH_BYTES_MAX],
    struct weft_error *error)
{
    DIR *entries = opendir(folder);
    char path[PATH_BYTES_MAX];
    uint32_t count = 0;
    enum weft_status status = WEFT_OK;
    if (entries == NULL) {
        return error_set(error, WEFT_NOT_FOUND, "there is no package %s", folder);
    }
    for (const struct dirent *entry = readdir(entries); entry != NULL && status == WEFT_OK;
         entry = readdir(entries)) {
        const char *end = strrchr(entry->d_name, '.');
        if (entry->d_name[0] == '.' || end == NULL ||
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >= (int)sizeof(path)) {
            continue;
        }
        status = cuda_manifest_check(manifest, path, error);
        if (strcmp(end, ".so") == 0) {
            memcpy(path_out, path, sizeof(path));
            count++;
        }
    }
    (void)closedir(entries);
    if (status != WEFT_OK) {
        return status;
    }
    return count == 1 ? WEFT_OK
                      : error_set(
                            error, WEFT_NOT_FOUND, "package %s has %u shared objects, not one",
                            folder, count);
}

/*
 * Objects stay open, and the loader knows them by their names: one that was replaced would be found
 * under its name as it was. Of the thread that opens packages.
 */
struct opened_object {
    struct opened_object *next;
    dev_t device;
    ino_t inode;
    struct timespec changed;
    char path[];
};

static struct opened_object *opened_objects;

/* Whether the object at @path is not another one than was opened under that name. */
static enum weft_status check_object(const char *path, struct weft_error *error)
{
    struct stat about;
    const struct opened_object *known = opened_objects;
    if (stat(path, &about) != 0) {
        return error_set(error, WEFT_IO, "%s: %s", path, strerror(errno));
    }
    while (known != NULL && strcmp(known->path, path) != 0) {
        known = known->next;
    }
    if (known == NULL) {
        const size_t length = strlen(path) + 1;
        struct opened_object *object = memory_zeroed(1, sizeof(*object) + length);
        *object = (struct opened_object){opened_objects, about.st_dev, about.st_ino, about.st_mtim};
        memcpy(object->path, path, length);
        opened_objects = object;
    } else if (
        known->device != about.st_dev || known->inode != about.st_ino ||
        known->changed.tv_sec != about.st_mtim.tv_sec ||
        known->changed.tv_nsec != about.st_mtim.tv_nsec) {
        return error_set(
            error, WEFT_REFUSED, "%s was replaced after it was opened; give it another version",
            path);
    }
    return WEFT_OK;
}

static enum weft_status open_object(
    struct cuda_package *package, struct cuda_manifest *manifest, const char *folder,
    struct weft_error *error)
{
    char path[PATH_BYTES_MAX];
    enum weft_status status = find_object(manifest, folder, path, error);
    if (status == WEFT_OK) {
        status = check_object(path, error);
    }
    if (status != WEFT_OK) {
        return status;
    }
    package->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (package->library == NULL) {
        return error_set(error, WEFT_FAILED, "%s", dlerror());
    }
#define FIND(field, symbol)                                                                        \
    look_up(package->library, "AOTInductorModelContainer" symbol, &package->field)
    if (!FIND(create, "CreateWithDevice") || !FIND(destroy, "Delete") ||
        !FIND(run, "RunSingleThreaded") || !FIND(count, "GetNumConstants") ||
        !FIND(full_name, "GetConstantOriginalFQN") || !FIND(name, "GetConstantName") ||
        !FIND(bind, "UpdateUserManagedConstantBufferPairs")) {
        return error_set(error, WEFT_FAILED, "%s is not a package of AOTInductor", path);
    }
#undef FIND
    return WEFT_OK;
}

/* The tensor of constant number @index, at its place in @weights. */
static enum weft_status bind_one(
    struct cuda_package *package, size_t index, uint64_t weights, struct weft_error *error)
{
    const struct cuda_manifest *manifest = package->manifest;
    struct pair *pair = &package->pairs[package->pair_count];
    const char *full = NULL;
    if (package->full_name(package->container, index, &full) != 0 ||
        package->name(package->container, index, &pair->name) != 0) {
        return error_set(error, WEFT_FAILED, "constant %zu has no name", index);
    }
    for (uint32_t i = 0; i < manifest->constant_count; i++) {
        const struct cuda_constant *constant = &manifest->constants[i];
        if (strcmp(constant->name, full) != 0) {
            continue;
        }
        if (package->torch->from_blob(
                (void *)(uintptr_t)(weights + constant->at), /* NOLINT: on the device. */
                constant->rank, constant->shape, constant->strides, /* offset */ 0, constant->type,
                ON_CUDA, /* device */ 0, &pair->tensor) != 0) {
            return error_set(error, WEFT_FAILED, "constant '%s' cannot be bound", full);
        }
        package->pair_count++;
        return WEFT_OK;
    }
    return error_set(
        error, WEFT_NOT_FOUND, "the manifest in %s has no constant '%s'", manifest->folder, full);
}

static enum weft_status bind_all(
    struct cuda_package *package, uint64_t weights, struct weft_error *error)
{
    size_t count = 0;
    if (package->count(package->container, &count) != 0 || count > CUDA_CONSTANTS_MAX) {
        return error_set(error, WEFT_FAILED, "a package does not say what constants it has");
    }
    package->pairs = memory_zeroed(count + 1, sizeof(*package->pairs));
    for (size_t i = 0; i < count; i++) {
        const enum weft_status status = bind_one(package, i, weights, error);
        if (status != WEFT_OK) {
            return status;
        }
    }
    if (package->bind(
            package->container, package->pairs, package->pair_count, /* use_inactive */ false,
            /* check_all */ true) != 0) {
        return error_set(error, WEFT_FAILED, "the constants of a package cannot be bound");
    }
    return WEFT_OK;
}

enum weft_status cuda_package_open(
    const struct cuda_torch *torch, struct cuda_manifest *manifest, uint32_t index,
    uint64_t weights, struct cuda_package **package_out, struct weft_error *error)
{
    char folder[PATH_BYTES_MAX];
    ASSERT(index < manifest->package_count);
    if (snprintf(
            folder, sizeof(folder), "%s/%s", manifest->folder, manifest->packages[index].folder) >=
        (int)sizeof(folder) - 256) {
        return error_set(error, WEFT_LIMIT, "the path of a package is too long");
    }
    struct cuda_package *package = memory_zeroed(1, sizeof(*package));
    package->torch = torch;
    package->manifest = manifest;
    package->rows = manifest->packages[index].rows;
    enum weft_status status = open_object(package, manifest, folder, error);
    if (status == WEFT_OK && package->create(&package->container, 1, "cuda", folder) != 0) {
        package->container = NULL;
        status = error_set(error, WEFT_FAILED, "package %s cannot be made", folder);
    }
    if (status == WEFT_OK) {
        status = bind_all(package, weights, error);
    }
    if (status != WEFT_OK) {
        cuda_package_close(package);
        package = NULL;
    }
    *package_out = package;
    return status;
}

uint32_t cuda_package_rows(const struct cuda_package *package)
{
    return (uint32_t)package->rows;
}

void cuda_package_close(struct cuda_package *package)
{
    if (package == NULL) {
        return;
    }
    if (package->container != NULL) {
        (void)package->destroy(package->container);
    }
    for (size_t i = 0; i < package->pair_count; i++) {
        (void)package->torch->drop(package->pairs[i].tensor);
    }
    free(package->pairs);
    /* The object stays open: what it registered with the driver cannot be taken back. */
    free(package);
}

/* The input tensors of a run; the run takes them over. */
static bool make_inputs(
    const struct cuda_package *package, const uint64_t *addresses,
    struct AtenTensorOpaque **tensors)
{
    const struct cuda_manifest *manifest = package->manifest;
    for (uint32_t i = 0; i < manifest->input_count; i++) {
        const struct cuda_port *port = &manifest->inputs[i];
        int64_t shape[WEFT_RANK_MAX] = {package->rows};
        int64_t strides[WEFT_RANK_MAX] = {(int64_t)(port->row_bytes / dtype_bytes(port->dtype))};
        memcpy(shape + 1, port->view_shape, port->view_rank * sizeof(*shape));
        memcpy(strides + 1, port->view_strides, port->view_rank * sizeof(*strides));
        if (package->torch->from_blob(
                (void *)(uintptr_t)addresses[i], /* NOLINT: on the device. */
                port->view_rank + 1, shape, strides, /* offset */ 0, port->type, ON_CUDA,
                /* device */ 0, &tensors[i]) != 0) {
            for (uint32_t k = 0; k < i; k++) {
                (void)package->torch->drop(tensors[k]);
            }
            return false;
        }
    }
    return true;
}

enum weft_status cuda_package_run(
    struct cuda_package *package, const uint64_t *inputs, struct CUstream_st *stream,
    uint64_t *outputs_out, struct AtenTensorOpaque **tensors_out, struct weft_error *error)
{
    const struct cuda_manifest *manifest = package->manifest;
    struct AtenTensorOpaque *given[CUDA_PORTS_MAX] = {NULL};
    memset(tensors_out, 0, manifest->output_count * sizeof(struct AtenTensorOpaque *));
    if (!make_inputs(package, inputs, given)) {
        return error_set(error, WEFT_FAILED, "no tensors for the inputs");
    }
    if (package->run(
            package->container, given, manifest->input_count, tensors_out, manifest->output_count,
            stream, /* executor */ NULL) != 0) {
        memset(tensors_out, 0, manifest->output_count * sizeof(struct AtenTensorOpaque *));
        return error_set(error, WEFT_FAILED, "a run of %lld rows failed", (long long)package->rows);
    }
    for (uint32_t i = 0; i < manifest->output_count; i++) {
        const struct cuda_port *port = &manifest->outputs[i];
        const int64_t wanted =
            package->rows * (int64_t)(port->row_bytes / dtype_bytes(port->dtype));
        void *data = NULL;
        int64_t elements = 0;
        if (package->torch->data_of(tensors_out[i], &data) != 0 ||
            package->torch->size_of(tensors_out[i], &elements) != 0 || elements != wanted) {
            cuda_package_drop(package, tensors_out);
            return error_set(
                error, WEFT_FAILED, "output '%s' has %lld elements, not %lld", port->name,
                (long long)elements, (long long)wanted);
        }
        outputs_out[i] = (uint64_t)(uintptr_t)data;
    }
    return WEFT_OK;
}

void cuda_package_drop(const struct cuda_package *package, struct AtenTensorOpaque **tensors)
{
    for (uint32_t i = 0; i < package->manifest->output_count; i++) {
        if (tensors[i] != NULL) {
            (void)package->torch->drop(tensors[i]);
            tensors[i] = NULL;
        }
    }
}
