#include "directory/directory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "base/error.h"
#include "directory/back_ends.h"

#define GUEST '~' /* No name in a document begins so. */

enum weft_status directory_open(
    const struct directory_options *options, struct directory **directory_out,
    struct weft_error *error)
{
    static const char file[] = "file:";
    static const char plain[] = "etcd://";
    static const char tls[] = "etcds://";
    const char *where = options->where;
    if (strncmp(where, file, strlen(file)) == 0 && where[strlen(file)] != '\0') {
        return directory_file_open(where + strlen(file), directory_out, error);
    }
    if (strncmp(where, plain, strlen(plain)) == 0) {
        return directory_etcd_open(
            where + strlen(plain), /* is_tls */ false, options, directory_out, error);
    }
    if (strncmp(where, tls, strlen(tls)) == 0) {
        return directory_etcd_open(
            where + strlen(tls), /* is_tls */ true, options, directory_out, error);
    }
    return error_set(
        error, WEFT_INVALID,
        "'%.100s' is not a directory; use file:FOLDER, etcd://HOST:PORT or etcds://HOST:PORT",
        where);
}

enum weft_status directory_join(
    struct directory *directory, struct member *self, struct weft_error *error)
{
    return directory->ops->join(directory, self, error);
}

enum weft_status directory_keep(
    struct directory *directory, const struct member *self, struct weft_error *error)
{
    return directory->ops->keep(directory, self, error);
}

enum weft_status directory_list(
    struct directory *directory, uint32_t wait_ms, struct member_list *list_out,
    struct weft_error *error)
{
    return directory->ops->list(directory, wait_ms, list_out, error);
}

enum weft_status directory_ask_to_drain(
    struct directory *directory, const struct member *member, struct weft_error *error)
{
    return directory->ops->ask_to_drain(directory, member, error);
}

void directory_leave(struct directory *directory, const struct member *self)
{
    directory->ops->leave(directory, self);
}

void directory_destroy(struct directory *directory)
{
    if (directory != NULL) {
        directory->ops->destroy(directory);
    }
}

const struct member *member_find(const struct member_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i].name, name) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

const char *member_title(const struct member *member)
{
    return member->title[0] == '\0' ? member->name : member->title;
}

const struct member *member_find_title(const struct member_list *list, const char *title)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(member_title(&list->items[i]), title) == 0) {
            return &list->items[i];
        }
    }
    return NULL;
}

void member_guest_name(const char *name, char out[static NAME_BYTES_MAX])
{
    (void)snprintf(out, NAME_BYTES_MAX, "%c%.*s", GUEST, NAME_BYTES_MAX - 2, name);
}

bool member_is_guest(const struct member *member)
{
    return member->name[0] == GUEST;
}

void member_insert(struct member_list *list, const struct member *member)
{
    if (list->count == DIRECTORY_MEMBERS_MAX) {
        return;
    }
    uint32_t at = list->count;
    while (at > 0 && strcmp(list->items[at - 1].name, member->name) > 0) {
        list->items[at] = list->items[at - 1];
        at--;
    }
    list->items[at] = *member;
    list->count++;
}

size_t member_encode(
    const struct member *member, uint64_t beat, char text[static MEMBER_TEXT_BYTES])
{
    char agreement[20];
    (void)snprintf(agreement, sizeof(agreement), "%016" PRIx64, member->agreement);
    const struct member_editions *said = &member->editions;
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:[I,I,I,I], s:s, s:s, s:s, s:I}", "title", member->title,
        "resources", member->resources, "address", member->address, "http", member->http, "version",
        member->version, "agreement", agreement, "editions", (json_int_t)said->newest,
        (json_int_t)said->held, (json_int_t)said->serves, (json_int_t)said->oldest, "models",
        said->models, "serving", said->serving, "note", said->note, "beat", (json_int_t)beat);
    const size_t bytes = json == NULL ? 0 : json_dumpb(json, text, MEMBER_TEXT_BYTES, JSON_COMPACT);
    json_decref(json);
    return bytes > MEMBER_TEXT_BYTES ? 0 : bytes;
}

/* Copy @text if there is room for it. */
static bool take_text(const char *text, char *out, size_t bytes)
{
    const int length = snprintf(out, bytes, "%s", text);
    return length >= 0 && (size_t)length < bytes;
}

bool member_decode(
    const char *text, size_t bytes, const char *name, struct member *member_out, uint64_t *beat_out)
{
    const char *title = "";
    const char *resources = "";
    const char *address;
    const char *http;
    const char *version;
    const char *agreement;
    const char *models = "";
    const char *serving = "";
    const char *note = "";
    json_int_t editions[4] = {0};
    json_int_t beat = 0;
    struct member member = {.incarnation = 0};
    json_t *json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    const bool has_all =
        json != NULL && json_unpack(
                            json, "{s?s, s?s, s:s, s:s, s:s, s:s, s?[I,I,I,I], s?s, s?s, s?s, s:I}",
                            "title", &title, "resources", &resources, "address", &address, "http",
                            &http, "version", &version, "agreement", &agreement, "editions",
                            &editions[0], &editions[1], &editions[2], &editions[3], "models",
                            &models, "serving", &serving, "note", &note, "beat", &beat) == 0;
    const bool is_good = has_all && take_text(name, member.name, sizeof(member.name)) &&
                         take_text(title, member.title, sizeof(member.title)) &&
                         take_text(resources, member.resources, sizeof(member.resources)) &&
                         take_text(address, member.address, sizeof(member.address)) &&
                         take_text(http, member.http, sizeof(member.http)) &&
                         take_text(version, member.version, sizeof(member.version)) &&
                         take_text(models, member.editions.models, MEMBER_MODELS_BYTES) &&
                         take_text(serving, member.editions.serving, MEMBER_MODELS_BYTES) &&
                         take_text(note, member.editions.note, MEMBER_NOTE_BYTES);
    if (is_good) {
        member.editions.newest = (uint32_t)editions[0];
        member.editions.held = (uint32_t)editions[1];
        member.editions.serves = (uint32_t)editions[2];
        member.editions.oldest = (uint32_t)editions[3];
        member.agreement = strtoull(agreement, NULL, 16);
        *member_out = member;
        *beat_out = (uint64_t)beat;
    }
    json_decref(json);
    return is_good;
}

void directory_pause(uint32_t ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL); /* A signal ends it early, which does no harm. */
}
