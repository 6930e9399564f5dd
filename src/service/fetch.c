#include "service/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/units.h"
#include "client/http_call.h"
#include "engine/monotonic.h"
#include "fabric/file_proof.h"
#include "service/offered_files.h"
#include "service/sums.h"

enum {
    PIECE_SECONDS = 30,
    LIST_SECONDS = 600, /* The other may have to read all its files first. */
    PATH_BYTES = 2 * OFFERED_PATH_BYTES,
    HEADER_BYTES = FILE_PROOF_BYTES + ACCESS_TOKEN_BYTES_MAX + NAME_BYTES_MAX + 64,
    NONCE_SECONDS = 30, /* A challenge is answered for so long. */
    WAIT_MS = 250,
    WAITS_MAX = 40, /* For members that are starting: ten seconds. */
    KNOWN_MAX = 12, /* Tries until a member has heard of this node: three seconds. */
};

/* A file that is missing. */
struct wanted {
    char sum[SUMS_DIGITS + 1];
    uint64_t bytes;
    char path[OFFERED_PATH_BYTES]; /* Below the folder. */
};

/* One node that is asked, and what it has. */
struct fetch {
    const struct fetch_options *options;
    const struct trust *trust;
    struct http_url url;
    const char *name; /* Of the node. */
    char self[NAME_BYTES_MAX];
    char nonce[FILE_NONCE_BYTES];
    int64_t nonce_ns; /* When it was got; 0: there is none. */
    uint32_t count;
    struct wanted *items;
    bool has_any; /* The node has some of what is asked for, whether that is missing or not. */
};

enum weft_status fetch_parse(
    const char *text, enum fetch_kinds *kinds_out, struct weft_error *error)
{
    static const char *const names[] = {
        [FETCH_MODELS] = "models", [FETCH_ALL] = "all", [FETCH_NOTHING] = "none"};
    for (uint32_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (strcmp(text == NULL ? "models" : text, names[i]) == 0) {
            *kinds_out = (enum fetch_kinds)i;
            return WEFT_OK;
        }
    }
    return error_set(
        error, WEFT_INVALID, "'--fetch' is '%.40s'; it must be 'models', 'all' or 'none'", text);
}

/* The line "Authorization" for servers that ask for a token; "" if there is none. */
static void write_token(const struct fetch *fetch, char *out, size_t room)
{
    char token[ACCESS_TOKEN_BYTES_MAX] = "";
    FILE *file =
        fetch->options->token_file == NULL ? NULL : fopen(fetch->options->token_file, "re");
    if (file != NULL) {
        token[fread(token, 1, sizeof(token) - 1, file)] = '\0';
        token[strcspn(token, "\r\n")] = '\0';
        (void)fclose(file); /* It was only read. */
    }
    (void)snprintf(
        out, room, "%s%s%s", token[0] == '\0' ? "" : "Authorization: Bearer ", token,
        token[0] == '\0' ? "" : "\r\n");
}

/* Say why the node gives nothing, as @status tells. */
static enum weft_status refuse(
    const struct fetch *fetch, uint32_t status, const char *path, struct weft_error *error)
{
    switch (status) {
    case OFFERED_UNPROVEN:
        return error_set(
            error, WEFT_IO, "it does not know this node: the secret or certificate is another");
    case OFFERED_STRANGER:
        return error_set(
            error, WEFT_NOT_FOUND,
            "no member of the cluster is called '%s'; '--node' says which this process is",
            fetch->self);
    case OFFERED_EARLY:
        return error_set(error, WEFT_IO, "it has not found this node in the directory");
    default:
        return error_set(error, WEFT_IO, "%s: answers %u", path, status);
    }
}

/*
 * Ask the node for @path, with @proof unless that is "". Errors: WEFT_IO, also if not 200;
 * WEFT_NOT_FOUND if no member has the name of this node.
 */
static enum weft_status call(
    const struct fetch *fetch, const char *path, const char *proof, uint32_t seconds,
    struct http_reply *reply_out, struct weft_error *error)
{
    char headers[HEADER_BYTES] = "";
    if (proof[0] != '\0') {
        (void)snprintf(headers, sizeof(headers), "x-weft-proof: %s %s\r\n", fetch->self, proof);
    }
    write_token(fetch, headers + strlen(headers), sizeof(headers) - strlen(headers));
    const struct http_call asked = {
        .url = &fetch->url,
        .method = "GET",
        .path = path,
        .headers = headers,
        .timeout_s = seconds,
        .answer_bytes_max = OFFERED_LIST_BYTES_MAX,
    };
    if (http_call(&asked, reply_out, error) != WEFT_OK) {
        return WEFT_IO;
    }
    if (reply_out->status == 200) {
        return WEFT_OK;
    }
    free(reply_out->body);
    const enum weft_status status = refuse(fetch, reply_out->status, path, error);
    ASSERT(status != WEFT_OK);
    return status;
}

/* Have a nonce that the node will accept answers to. */
static enum weft_status get_nonce(struct fetch *fetch, struct weft_error *error)
{
    struct http_reply reply;
    const int64_t now_ns = monotonic_ns();
    if (fetch->nonce_ns != 0 && now_ns - fetch->nonce_ns < NONCE_SECONDS * NS_PER_S) {
        return WEFT_OK;
    }
    if (call(fetch, OFFERED_ROUTE OFFERED_CHALLENGE, "", PIECE_SECONDS, &reply, error) != WEFT_OK) {
        return WEFT_IO;
    }
    const bool is_good = reply.body_bytes == FILE_NONCE_BYTES - 1;
    if (is_good) {
        memcpy(fetch->nonce, reply.body, FILE_NONCE_BYTES - 1);
        fetch->nonce_ns = now_ns;
    }
    free(reply.body);
    return is_good ? WEFT_OK : error_set(error, WEFT_IO, "its challenge makes no sense");
}

/* Ask the node for @path. Errors: WEFT_IO, also for any status but 200. */
static enum weft_status ask(
    struct fetch *fetch, const char *path, uint32_t seconds, struct http_reply *reply_out,
    struct weft_error *error)
{
    char proof[FILE_PROOF_BYTES];
    char text[OFFERED_PATH_BYTES];
    const enum weft_status status = get_nonce(fetch, error);
    if (status != WEFT_OK) {
        return status;
    }
    offered_statement(fetch->self, path, text);
    if (!file_proof_make(fetch->trust, OFFERED_ASK, fetch->nonce, text, proof)) {
        return error_set(error, WEFT_IO, "the certificate of this node cannot be used");
    }
    return call(fetch, path, proof, seconds, reply_out, error);
}

/* Cut the last line of @list off. Whether it shows that the node has made the rest. */
static bool check_list(const struct fetch *fetch, char *list)
{
    char *last = list;
    for (char *line = list; line != NULL && line[0] != '\0';
         line = strchr(line, '\n') == NULL ? NULL : strchr(line, '\n') + 1) {
        last = line;
    }
    if (list == NULL || strncmp(last, OFFERED_PROOF_LINE, strlen(OFFERED_PROOF_LINE)) != 0) {
        return false;
    }
    char *proof = last + strlen(OFFERED_PROOF_LINE);
    proof[strcspn(proof, "\n")] = '\0';
    last[0] = '\0';
    return file_proof_check(fetch->trust, OFFERED_LIST, fetch->nonce, list, proof, fetch->name);
}

/* Whether @path stays below the folder, and is of a kind that is wanted. */
static bool is_allowed(const char *path, enum fetch_kinds kinds)
{
    const size_t length = strlen(path);
    const bool is_code = strncmp(path, "functions/", strlen("functions/")) == 0 ||
                         strstr(path, "model.cuda/") != NULL ||
                         (length > 3 && strcmp(path + length - 3, ".so") == 0);
    return path[0] != '/' && path[0] != '.' && strstr(path, "/.") == NULL &&
           (kinds == FETCH_ALL || !is_code);
}

/* Note the file of one line, "SUM BYTES PATH", if it is missing. */
static bool take_line(struct fetch *fetch, char *line)
{
    char path[PATH_BYTES];
    char *end = NULL;
    struct wanted *item = &fetch->items[fetch->count];
    if (strlen(line) < SUMS_DIGITS + 4 || line[SUMS_DIGITS] != ' ' ||
        strspn(line, "0123456789abcdef") != SUMS_DIGITS) {
        return false;
    }
    item->bytes = strtoull(line + SUMS_DIGITS + 1, &end, 10);
    if (*end != ' ' || strlen(end + 1) >= sizeof(item->path)) {
        return false;
    }
    memcpy(item->sum, line, SUMS_DIGITS);
    (void)snprintf(item->path, sizeof(item->path), "%s", end + 1);
    (void)snprintf(path, sizeof(path), "%s/%s", fetch->options->folder, item->path);
    const char *under = fetch->options->under == NULL ? "" : fetch->options->under;
    if (strncmp(item->path, under, strlen(under)) == 0 &&
        is_allowed(item->path, fetch->options->kinds)) {
        fetch->has_any = true;
        fetch->count += access(path, F_OK) != 0 ? 1 : 0;
    }
    return true;
}

/* Ask for the list, until the node has heard from the directory who asks. */
static enum weft_status ask_for_list(
    struct fetch *fetch, struct http_reply *reply_out, struct weft_error *error)
{
    reply_out->status = 0;
    enum weft_status status = ask(fetch, OFFERED_ROUTE, LIST_SECONDS, reply_out, error);
    for (uint32_t i = 0; status != WEFT_OK && reply_out->status == OFFERED_EARLY && i < KNOWN_MAX;
         i++) {
        directory_pause(WAIT_MS);
        reply_out->status = 0;
        status = ask(fetch, OFFERED_ROUTE, LIST_SECONDS, reply_out, error);
    }
    return status;
}

static enum weft_status find_missing(struct fetch *fetch, struct weft_error *error)
{
    struct http_reply reply;
    char *rest = NULL;
    const enum weft_status status = ask_for_list(fetch, &reply, error);
    if (status != WEFT_OK) {
        return status;
    }
    if (!check_list(fetch, reply.body)) {
        free(reply.body);
        return error_set(error, WEFT_IO, "its list of files is not proven");
    }
    bool is_good = true;
    for (char *line = strtok_r(reply.body, "\n", &rest);
         is_good && line != NULL && fetch->count < OFFERED_FILES_MAX;
         line = strtok_r(NULL, "\n", &rest)) {
        is_good = take_line(fetch, line);
    }
    free(reply.body);
    return is_good ? WEFT_OK : error_set(error, WEFT_IO, "its list of files makes no sense");
}

static enum weft_status check_room(const struct fetch *fetch, struct weft_error *error)
{
    struct statvfs disk;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < fetch->count; i++) {
        bytes += fetch->items[i].bytes;
    }
    if (statvfs(fetch->options->folder, &disk) != 0) {
        return error_set(error, WEFT_IO, "%s: %s", fetch->options->folder, strerror(errno));
    }
    const uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    return bytes <= free_bytes
               ? WEFT_OK
               : error_set(
                     error, WEFT_LIMIT,
                     "%s: the disk is full: %" PRIu64 " bytes are needed, %" PRIu64 " are free",
                     fetch->options->folder, bytes, free_bytes);
}

/* Append what follows @offset to @file. */
static enum weft_status add_piece(
    struct fetch *fetch, const struct wanted *item, uint64_t *offset, int file,
    struct weft_error *error)
{
    char path[OFFERED_PATH_BYTES];
    struct http_reply reply = {.status = 0};
    (void)snprintf(path, sizeof(path), OFFERED_ROUTE "/%s/%" PRIu64, item->sum, *offset);
    enum weft_status status = ask(fetch, path, PIECE_SECONDS, &reply, error);
    if (status != WEFT_OK) {
        return status;
    }
    if (reply.body_bytes == 0 || reply.body_bytes > item->bytes - *offset) {
        status = error_set(error, WEFT_IO, "%s: is not as long as it was", item->path);
    } else if (write(file, reply.body, reply.body_bytes) != (ssize_t)reply.body_bytes) {
        status = error_set(
            error, WEFT_LIMIT, "%s: cannot be written: %s", item->path,
            errno == 0 ? strerror(ENOSPC) : strerror(errno));
    }
    *offset += reply.body_bytes;
    free(reply.body);
    return status;
}

/* Bring @item to the file at @path, which may have a part of it. */
static enum weft_status bring(
    struct fetch *fetch, const struct wanted *item, const char *path, struct weft_error *error)
{
    const int file = open(path, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0644);
    struct stat found;
    if (file < 0 || fstat(file, &found) != 0) {
        const enum weft_status status =
            error_set(error, WEFT_LIMIT, "%s: cannot be written: %s", path, strerror(errno));
        if (file >= 0) {
            (void)close(file);
        }
        return status;
    }
    uint64_t offset = (uint64_t)found.st_size;
    enum weft_status status = WEFT_OK;
    while (status == WEFT_OK && offset < item->bytes) {
        status = add_piece(fetch, item, &offset, file, error);
    }
    const bool is_safe = status != WEFT_OK || fsync(file) == 0;
    if (close(file) != 0 || !is_safe) {
        status = error_set(error, WEFT_LIMIT, "%s: cannot be written: %s", path, strerror(errno));
    }
    return status;
}

/* Make the folders above @path, which is below @folder. */
static void make_folders(char *path, size_t folder_bytes)
{
    for (char *slash = strchr(path + folder_bytes + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0755); /* What is wrong with it the name will say. */
        *slash = '/';
    }
}

/* Fetch @item, check it, and give it its name. */
static enum weft_status fetch_file(
    struct fetch *fetch, const struct wanted *item, struct weft_error *error)
{
    const char *folder = fetch->options->folder;
    char beside[PATH_BYTES];
    char path[PATH_BYTES];
    char sum[SUMS_DIGITS + 1];
    (void)snprintf(beside, sizeof(beside), "%s/.fetch-%s", folder, item->sum);
    (void)snprintf(path, sizeof(path), "%s/%s", folder, item->path);
    enum weft_status status = bring(fetch, item, beside, error);
    if (status == WEFT_OK) {
        status = sums_file(beside, sum, error);
    }
    if (status == WEFT_OK && strcmp(sum, item->sum) != 0) {
        status = error_set(error, WEFT_IO, "%s: its contents differ from its sum", item->path);
        (void)unlink(beside); /* Nothing can be made of it. */
    }
    if (status != WEFT_OK) {
        return status;
    }
    make_folders(path, strlen(folder));
    /* A link, because a name that has appeared meanwhile must not be replaced. */
    if (link(beside, path) != 0 && errno != EEXIST) {
        status = error_set(error, WEFT_LIMIT, "%s: cannot be written: %s", path, strerror(errno));
    }
    (void)unlink(beside);
    const struct log_field fields[] = {
        log_text("file", item->path), log_number("bytes", (int64_t)item->bytes)};
    if (status == WEFT_OK) {
        log_say(fetch->options->log, LOG_INFO, "fetched", 2, fields);
    }
    return status;
}

/* Fetch all that is missing from @member. */
static enum weft_status fetch_from(
    struct fetch *fetch, const struct member *member, struct weft_error *error)
{
    fetch->count = 0;
    fetch->has_any = false;
    fetch->name = member_title(member);
    fetch->nonce_ns = 0;
    enum weft_status status = http_url_parse(member->http, &fetch->url, error);
    if (status == WEFT_OK) {
        status = find_missing(fetch, error);
    }
    if (status == WEFT_OK) {
        status = check_room(fetch, error);
    }
    for (uint32_t i = 0; status == WEFT_OK && i < fetch->count; i++) {
        status = fetch_file(fetch, &fetch->items[i], error);
    }
    if (status != WEFT_OK) {
        const struct log_field fields[] = {
            log_text("node", member_title(member)), log_text("cause", error->message)};
        log_say(fetch->options->log, LOG_WARN, "cannot fetch", 2, fields);
    }
    return status;
}

/* Whether there is something to serve in @folder. */
static bool has_settings(const char *folder)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/weft.yaml", folder);
    return access(path, F_OK) == 0;
}

static bool can_be_asked(const struct fetch *fetch, const struct member *member)
{
    return member->http[0] != '\0' && strcmp(member_title(member), fetch->self) != 0;
}

/* Whether any of @list can be asked. */
static bool has_any(const struct fetch *fetch, const struct member_list *list)
{
    bool has = false;
    for (uint32_t i = 0; i < list->count; i++) {
        has = has || can_be_asked(fetch, &list->items[i]);
    }
    return has;
}

/* List the members; with an empty folder, wait a while for one that can be asked. */
static enum weft_status list_members(
    const struct fetch *fetch, struct directory *directory, struct member_list *list,
    struct weft_error *error)
{
    const uint32_t waits = has_settings(fetch->options->folder) ? 0 : WAITS_MAX;
    enum weft_status status = directory_list(directory, /* wait_ms */ 0, list, error);
    for (uint32_t i = 0; status == WEFT_OK && i < waits && !has_any(fetch, list); i++) {
        directory_pause(WAIT_MS);
        status = directory_list(directory, /* wait_ms */ 0, list, error);
    }
    return status;
}

/* Ask one member after the other, until one has answered or this machine cannot take any more. */
static enum weft_status fetch_from_any(
    struct fetch *fetch, const struct member_list *list, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;
    for (uint32_t i = 0; i < list->count; i++) {
        if (can_be_asked(fetch, &list->items[i])) {
            status = fetch_from(fetch, &list->items[i], error);
            if ((status == WEFT_OK && fetch->has_any) || status == WEFT_LIMIT ||
                status == WEFT_NOT_FOUND) {
                return status;
            }
        }
    }
    return status;
}

/*
 * Fetch as a guest: members give nothing to a node that the directory does not know. It holds a
 * name of its own, because that of the node may be its predecessor's for a while.
 */
static enum weft_status fetch_as_guest(
    struct fetch *fetch, struct directory *directory, const struct member_list *list,
    struct weft_error *error)
{
    struct membership *guest = NULL;
    struct membership_options options = {.directory = directory, .log = fetch->options->log};
    member_guest_name(fetch->self, options.self.name);
    enum weft_status status = membership_open(&options, &guest, error);
    if (status == WEFT_OK) {
        status = fetch_from_any(fetch, list, error);
        membership_close(guest);
    }
    return status;
}

enum weft_status fetch_missing(const struct fetch_options *options, struct weft_error *error)
{
    struct directory *directory = NULL;
    struct trust *trust = NULL;
    if (options->kinds == FETCH_NOTHING) {
        return WEFT_OK;
    }
    struct member_list *list = memory_zeroed(1, sizeof(*list));
    struct fetch fetch = {.options = options};
    clustered_name(options->where, fetch.self);
    fetch.items = memory_zeroed(OFFERED_FILES_MAX + 1, sizeof(*fetch.items));
    enum weft_status status = WEFT_OK;
    if (options->membership != NULL) {
        membership_copy(options->membership, list);
    } else {
        status = directory_open(&options->where->directory, &directory, error);
        if (status == WEFT_OK) {
            status = list_members(&fetch, directory, list, error);
        }
    }
    if (status == WEFT_OK) {
        status = trust_create(&options->where->trust, &trust, error);
    }
    if (status == WEFT_OK && !has_any(&fetch, list) && !has_settings(options->folder)) {
        const struct log_field cause = log_text("cause", "the directory names no other member");
        log_say(options->log, LOG_WARN, "cannot fetch", 1, &cause);
    }
    if (status == WEFT_OK && has_any(&fetch, list)) {
        fetch.trust = trust;
        status = options->membership != NULL ? fetch_from_any(&fetch, list, error)
                                             : fetch_as_guest(&fetch, directory, list, error);
    }
    if ((status == WEFT_IO || status == WEFT_EXISTS || status == WEFT_NOT_FOUND) &&
        has_settings(options->folder) && options->under == NULL) {
        status = WEFT_OK; /* Perhaps nothing is missing: who reads the repository will see. */
    }
    trust_destroy(trust);
    directory_destroy(directory);
    free(fetch.items);
    free(list);
    return status;
}
