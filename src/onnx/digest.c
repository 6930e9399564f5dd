/* digest.c - what the files of a model hash to. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "onnx/cache.h"

enum {
    STRIDE = 6 * sizeof(uint64_t),
    BLOCK_BYTES = 16384 * STRIDE, /* Read at a time. */
    MARK_BYTES = 11,
};

/* How a model says that a weight is in another file: a key, then the name of the file. */
static const char location[MARK_BYTES + 1] = "\x0a\x08location\x12";

/* A file that is being hashed: two chains over its words, each with a start of its own. */
struct hashing {
    uint64_t first;
    uint64_t second;
    bool has_mark;
    uint8_t block[MARK_BYTES - 1 + BLOCK_BYTES]; /* After the end of the block before. */
};

static void hash_block(struct hashing *hashing, const uint8_t *bytes, size_t count)
{
    uint64_t words[6];
    for (size_t at = 0; at < count; at += STRIDE) {
        const size_t left = count - at;
        memset(words, 0, sizeof(words));
        memcpy(words, bytes + at, left < STRIDE ? left : STRIDE);
        hashing->first = hash_mix_six(hashing->first, words);
        words[0] ^= words[3];
        words[5] += words[2];
        hashing->second = hash_mix_six(hashing->second, words);
    }
}

/* Fill @count bytes at @to; fewer only at the end of @file. -1 if it cannot be read. */
static ssize_t read_block(int file, uint8_t *to, size_t count)
{
    size_t got = 0;
    while (got < count) {
        const ssize_t bytes = read(file, to + got, count - got);
        if (bytes < 0 && errno != EINTR) {
            return -1;
        }
        if (bytes == 0) {
            break;
        }
        got += bytes > 0 ? (size_t)bytes : 0;
    }
    return (ssize_t)got;
}

/* Hash all of @file, which is read and not mapped: it may be cut short meanwhile. False if it
 * cannot be read. */
static bool hash_file(int file, struct hashing *hashing)
{
    uint8_t *fresh = hashing->block + MARK_BYTES - 1;
    size_t before = 0; /* Bytes of the last block that are kept in front. */
    ssize_t bytes;
    while ((bytes = read_block(file, fresh, BLOCK_BYTES)) > 0) {
        const uint8_t *from = fresh - before;
        const size_t count = before + (size_t)bytes;
        hashing->has_mark = hashing->has_mark || memmem(from, count, location, MARK_BYTES) != NULL;
        hash_block(hashing, fresh, (size_t)bytes);
        before = count < MARK_BYTES - 1 ? count : MARK_BYTES - 1;
        memmove(fresh - before, from + count - before, before);
    }
    return bytes == 0;
}

static int64_t changed_ns(const struct stat *stat)
{
    return stat->st_mtim.tv_sec * INT64_C(1000000000) + (int64_t)stat->st_mtim.tv_nsec;
}

/* What the files beside @path are, but for their contents: weights may take minutes to read. The
 * order in which the folder lists them does not count. */
static uint64_t hash_folder(const char *path)
{
    char folder[ONNX_CACHE_PATH_BYTES];
    uint64_t sum = 1;
    const char *slash = strrchr(path, '/');
    const int length = slash == NULL ? 1 : (int)(slash - path);
    (void)snprintf(folder, sizeof(folder), "%.*s", length, slash == NULL ? "." : path);
    DIR *listing = opendir(folder);
    if (listing == NULL) {
        return 0;
    }
    for (const struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        struct stat stat;
        if (fstatat(dirfd(listing), entry->d_name, &stat, 0) == 0 && S_ISREG(stat.st_mode)) {
            uint64_t hash = hash_mix(hash_text(entry->d_name), (uint64_t)stat.st_size);
            hash = hash_mix(hash, (uint64_t)changed_ns(&stat));
            sum += hash_mix(hash, stat.st_ino);
        }
    }
    (void)closedir(listing);
    return sum;
}

static bool is_current(const struct onnx_digest *digest, const struct stat *stat, const char *path)
{
    return digest->bytes == (uint64_t)stat->st_size && digest->changed_ns == changed_ns(stat) &&
           digest->inode == stat->st_ino &&
           (!digest->has_external || digest->external == hash_folder(path));
}

/* Read @file, of which @stat is known. */
static enum weft_status read_digest(
    const char *path, int file, const struct stat *stat, struct onnx_digest *digest_out,
    struct weft_error *error)
{
    struct hashing *hashing = malloc(sizeof(*hashing));
    if (hashing == NULL) {
        return error_set(error, WEFT_NO_MEMORY, "%s: no memory to read it", path);
    }
    hashing->first = hash_mix(1, (uint64_t)stat->st_size);
    hashing->second = hash_mix(2, (uint64_t)stat->st_size);
    hashing->has_mark = false;
    const bool is_read = hash_file(file, hashing);
    if (is_read) {
        *digest_out = (struct onnx_digest){
            .hash = {hashing->first, hashing->second},
            .bytes = (uint64_t)stat->st_size,
            .has_external = hashing->has_mark,
            .changed_ns = changed_ns(stat),
            .inode = stat->st_ino,
        };
    }
    if (is_read && hashing->has_mark) {
        digest_out->external = hash_folder(path);
        digest_out->hash[0] = hash_mix(digest_out->hash[0], digest_out->external);
        digest_out->hash[1] = hash_mix(digest_out->hash[1], digest_out->external);
    }
    free(hashing);
    return is_read ? WEFT_OK : error_set(error, WEFT_IO, "%s: %s", path, strerror(errno));
}

enum weft_status onnx_digest_file(
    const char *path, struct onnx_digest *digest, struct weft_error *error)
{
    struct stat stat;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return error_set(error, WEFT_IO, "%s: %s", path, strerror(errno));
    }
    enum weft_status status = WEFT_OK;
    if (fstat(file, &stat) != 0 || !S_ISREG(stat.st_mode) || stat.st_size == 0) {
        status = error_set(error, WEFT_IO, "%s: not a file with contents", path);
    } else if (!is_current(digest, &stat, path)) {
        status = read_digest(path, file, &stat, digest, error);
    }
    (void)close(file); /* Nothing was written to it. */
    return status;
}
