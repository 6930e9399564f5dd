/* fake_cuda_memory.c - the fake driver: memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fakes/fake_cuda_inside.h"

EXPORT int cuMemAlloc_v2(uint64_t *out, size_t bytes);
EXPORT int cuMemFree_v2(uint64_t address);
EXPORT int cuMemHostAlloc(void **out, size_t bytes, unsigned flags);
EXPORT int cuMemFreeHost(void *memory);
EXPORT int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags);
EXPORT int cuMemHostUnregister(void *memory);
EXPORT int cuMemAddressReserve(
    uint64_t *out, size_t bytes, size_t alignment, uint64_t wanted, unsigned long long flags);
EXPORT int cuMemAddressFree(uint64_t address, size_t bytes);
EXPORT int cuMemCreate(
    void **out, size_t bytes, const struct cuda_memory_kind *kind, unsigned long long flags);
EXPORT int cuMemRelease(void *block);
EXPORT int cuMemExportToShareableHandle(
    int *out, void *block, int handles, unsigned long long flags);
EXPORT int cuMemImportFromShareableHandle(void **out, intptr_t file, int handles);
EXPORT int cuMemMap(
    uint64_t address, size_t bytes, size_t offset, void *block, unsigned long long flags);
EXPORT int cuMemUnmap(uint64_t address, size_t bytes);
EXPORT int cuMemSetAccess(
    uint64_t address, size_t bytes, const struct cuda_access *access, size_t count);
EXPORT int cuMemGetAllocationGranularity(
    size_t *out, const struct cuda_memory_kind *kind, int option);

static void *map_memory(size_t bytes, int protection)
{
    void *memory =
        mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        wrong("this machine has no memory");
    }
    return memory;
}

static bool has_room(uint64_t bytes)
{
    const char *given = getenv(FAKE_MEMORY_MIB);
    const uint64_t all = given == NULL ? DEVICE_BYTES : strtoull(given, NULL, 10) << 20;
    return !take_fault(FAKE_NO_MEMORY) && bytes + fake.counts.device_bytes <= all;
}

int cuMemAlloc_v2(uint64_t *out, size_t bytes)
{
    const int result = enter_context("cuMemAlloc");
    if (fake_recording != NULL) {
        wrong("cuMemAlloc by a thread that records");
    }
    if (result != 0 || bytes == 0 || !has_room(bytes)) {
        return leave(result != 0 ? result : bytes == 0 ? 1 : CUDA_OUT_OF_MEMORY);
    }
    *out = (uint64_t)(uintptr_t)map_memory(bytes, PROT_READ | PROT_WRITE);
    fake.counts.device_bytes += bytes;
    (void)add_range(RANGE_DEVICE, *out, bytes);
    return leave(0);
}

static void remove_range(enum range_kind kind, uint64_t address, bool unmaps, const char *what)
{
    struct range *range = find_range(kind, address, 1);
    if (range == NULL || range->address != address) {
        wrong("%s of what is not there", what);
    }
    if (kind == RANGE_DEVICE) {
        fake.counts.device_bytes -= range->bytes;
    }
    if (unmaps) {
        (void)munmap((void *)(uintptr_t)address, range->bytes);
    }
    range->kind = RANGE_NONE;
}

int cuMemFree_v2(uint64_t address)
{
    const int result = enter_context("cuMemFree");
    remove_range(RANGE_DEVICE, address, true, "cuMemFree");
    return leave(result);
}

int cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    const int result = enter_context("cuMemHostAlloc");
    (void)flags;
    if (result != 0 || take_fault(FAKE_NO_MEMORY)) {
        return leave(result != 0 ? result : CUDA_OUT_OF_MEMORY);
    }
    *out = map_memory(bytes, PROT_READ | PROT_WRITE);
    (void)add_range(RANGE_HOST, (uint64_t)(uintptr_t)*out, bytes);
    return leave(0);
}

int cuMemFreeHost(void *memory)
{
    const int result = enter_context("cuMemFreeHost");
    remove_range(RANGE_HOST, (uint64_t)(uintptr_t)memory, true, "cuMemFreeHost");
    return leave(result);
}

int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    const int result = enter_context("cuMemHostRegister");
    const uint64_t address = (uint64_t)(uintptr_t)memory;
    if (address % 4096 != 0 || bytes % 4096 != 0) {
        wrong("cuMemHostRegister of parts of pages");
    }
    if (find_range(RANGE_REGISTERED, address, 1) != NULL) {
        wrong("cuMemHostRegister of the same memory again");
    }
    if ((flags & CUDA_HOST_READ_ONLY) == 0) {
        wrong("cuMemHostRegister of a file without read-only");
    }
    if (result != 0 || take_fault(FAKE_NO_REGISTER)) {
        return leave(result != 0 ? result : 1);
    }
    (void)add_range(RANGE_REGISTERED, address, bytes);
    return leave(0);
}

int cuMemHostUnregister(void *memory)
{
    const int result = enter_context("cuMemHostUnregister");
    remove_range(RANGE_REGISTERED, (uint64_t)(uintptr_t)memory, false, "cuMemHostUnregister");
    return leave(result);
}

int cuMemGetAllocationGranularity(size_t *out, const struct cuda_memory_kind *kind, int option)
{
    const int result = enter("cuMemGetAllocationGranularity");
    (void)kind;
    (void)option;
    *out = GRAIN;
    return leave(result);
}

int cuMemAddressReserve(
    uint64_t *out, size_t bytes, size_t alignment, uint64_t wanted, unsigned long long flags)
{
    const int result = enter("cuMemAddressReserve");
    if (bytes == 0 || bytes % GRAIN != 0 || alignment != 0 || wanted != 0 || flags != 0) {
        wrong("cuMemAddressReserve with such arguments");
    }
    if (result == 0) {
        *out = (uint64_t)(uintptr_t)map_memory(bytes, PROT_NONE);
        (void)add_range(RANGE_RESERVED, *out, bytes);
    }
    return leave(result);
}

/* Something that is mapped, at least in part, within the @bytes at @address. */
static struct range *find_within(uint64_t address, uint64_t bytes)
{
    for (uint32_t i = 0; i < fake.range_end; i++) {
        struct range *range = &fake.ranges[i];
        if (range->kind == RANGE_MAPPED && range->address < address + bytes &&
            address < range->address + range->bytes) {
            return range;
        }
    }
    return NULL;
}

int cuMemAddressFree(uint64_t address, size_t bytes)
{
    const int result = enter("cuMemAddressFree");
    const struct range *range = find_range(RANGE_RESERVED, address, bytes);
    if (range == NULL || range->bytes != bytes || find_within(address, bytes) != NULL) {
        wrong("cuMemAddressFree of what is mapped, or was not reserved so");
    }
    remove_range(RANGE_RESERVED, address, true, "cuMemAddressFree");
    return leave(result);
}

int cuMemCreate(
    void **out, size_t bytes, const struct cuda_memory_kind *kind, unsigned long long flags)
{
    const int result = enter("cuMemCreate");
    if (bytes == 0 || bytes % GRAIN != 0 || kind->type != CUDA_MEMORY_PINNED || flags != 0) {
        wrong("cuMemCreate with such arguments");
    }
    if (result != 0 || !has_room(bytes)) {
        return leave(result != 0 ? result : CUDA_OUT_OF_MEMORY);
    }
    struct object *block = make(BLOCK);
    block->bytes = bytes;
    block->file = memfd_create("device", MFD_CLOEXEC);
    if (block->file < 0 || ftruncate(block->file, (off_t)bytes) != 0) {
        wrong("this machine has no memory");
    }
    fake.counts.device_bytes += bytes;
    fake.counts.blocks++;
    *out = block;
    return leave(0);
}

int cuMemRelease(void *handle)
{
    const int result = enter("cuMemRelease");
    struct object *block = check(handle, BLOCK, "cuMemRelease");
    (void)close(block->file);
    fake.counts.device_bytes -= block->bytes;
    destroy(block);
    return leave(result);
}

int cuMemExportToShareableHandle(int *out, void *handle, int handles, unsigned long long flags)
{
    const int result = enter("cuMemExportToShareableHandle");
    if (handles != CUDA_HANDLE_FILE || flags != 0) {
        wrong("cuMemExportToShareableHandle with such arguments");
    }
    const struct object *block = check(handle, BLOCK, "cuMemExportToShareableHandle");
    if (result != 0 || block->is_imported) {
        return leave(result != 0 ? result : 1);
    }
    *out = dup(block->file);
    return leave(0);
}

int cuMemImportFromShareableHandle(void **out, intptr_t file, int handles)
{
    const int result = enter("cuMemImportFromShareableHandle");
    const off_t bytes = lseek((int)file, 0, SEEK_END);
    if (handles != CUDA_HANDLE_FILE || bytes <= 0) {
        wrong("cuMemImportFromShareableHandle of no memory");
    }
    if (result != 0) {
        return leave(result);
    }
    struct object *block = make(BLOCK);
    block->bytes = (uint64_t)bytes;
    block->is_imported = true;
    block->file = dup((int)file);
    fake.counts.device_bytes += block->bytes;
    *out = block;
    return leave(0);
}

int cuMemMap(uint64_t address, size_t bytes, size_t offset, void *handle, unsigned long long flags)
{
    const int result = enter("cuMemMap");
    struct object *block = check(handle, BLOCK, "cuMemMap");
    if (find_range(RANGE_RESERVED, address, bytes) == NULL || offset != 0 ||
        block->bytes != bytes || flags != 0) {
        wrong("cuMemMap with such arguments");
    }
    if (find_within(address, bytes) != NULL) {
        wrong("cuMemMap where something is mapped");
    }
    if (result != 0 || take_fault(FAKE_NO_MAP)) {
        return leave(result != 0 ? result : 1);
    }
    if (mmap(
            (void *)(uintptr_t)address, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, block->file, 0) ==
        MAP_FAILED) {
        wrong("this machine maps nothing");
    }
    add_range(RANGE_MAPPED, address, bytes)->access = 0;
    return leave(0);
}

/* What is mapped at @address and behind it, as far as @bytes go: whole, and without gaps. */
static struct range *next_mapped(uint64_t *address, uint64_t *bytes, const char *what)
{
    struct range *range = find_range(RANGE_MAPPED, *address, 1);
    if (range == NULL || range->address != *address || range->bytes > *bytes) {
        wrong("%s of what is not mapped so", what);
    }
    *address += range->bytes;
    *bytes -= range->bytes;
    return range;
}

int cuMemUnmap(uint64_t address, size_t bytes)
{
    const int result = enter("cuMemUnmap");
    uint64_t at = address;
    uint64_t left = bytes;
    while (left > 0) {
        struct range *range = next_mapped(&at, &left, "cuMemUnmap");
        if (range->users > 0) {
            wrong("cuMemUnmap of what a kernel uses");
        }
        range->kind = RANGE_NONE;
    }
    if (mmap(
            (void *)(uintptr_t)address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
            -1, 0) == MAP_FAILED) {
        wrong("this machine unmaps nothing");
    }
    return leave(result);
}

int cuMemSetAccess(uint64_t address, size_t bytes, const struct cuda_access *access, size_t count)
{
    const int result = enter("cuMemSetAccess");
    uint64_t at = address;
    uint64_t left = bytes;
    if (count != 1 || (access->flags != CUDA_READ_WRITE && access->flags != CUDA_READ) ||
        access->where.type != CUDA_ON_DEVICE) {
        wrong("cuMemSetAccess with such arguments");
    }
    while (left > 0 && result == 0) {
        next_mapped(&at, &left, "cuMemSetAccess")->access = access->flags;
    }
    if (result == 0) {
        const int writes = access->flags == CUDA_READ_WRITE ? PROT_WRITE : 0;
        (void)mprotect((void *)(uintptr_t)address, bytes, PROT_READ | writes);
    }
    return leave(result);
}
