#include "model/resources.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/text.h"

/*
 *   CPU_UNITS GROUP GROUP ...
 *   GROUP: KIND:COUNT:MEMORY:UNITS:SHARING:PARTITIONS:SPLITS:SHARED:INTERFERENCE
 *
 * of workers that differ in nothing but their partitions; interference in millionths.
 */
enum { NUMBERS = 8, GROUPS_MAX = DEVICE_KINDS_MAX, UNITS_MAX = 128 };

#define MEMORY_MAX   (UINT64_C(1) << 50)
#define MILLIONTHS   1e6
#define INTERFERENCE UINT64_C(1000000000)

/* As above, in that order. */
static const uint64_t limits[NUMBERS] = {RESOURCES_SLOTS_MAX, MEMORY_MAX, UNITS_MAX, SHARES_SM,
                                         UNITS_MAX,           1,          1,         INTERFERENCE};

struct group {
    char kind[NAME_BYTES_MAX];
    uint32_t count;
    struct fleet_worker worker;
};

struct machine_read {
    uint32_t cpu_units;
    uint32_t group_count;
    struct group groups[GROUPS_MAX];
};

static bool is_in_group(const struct fleet_worker *first, const struct fleet_worker *next)
{
    return fleet_is_alike(first, next) && first->splits == next->splits;
}

bool resources_write(const struct fleet *fleet, uint32_t node, char *out, size_t room)
{
    const struct fleet_node *machine = &fleet->nodes[node];
    const struct fleet_worker *workers = &fleet->workers[machine->worker_first];
    struct text text;
    text_init(&text, out, room);
    text_add(&text, "%" PRIu32, machine->cpu_units);
    for (uint32_t first = 0, end = 0; first < machine->worker_count; first = end) {
        const struct fleet_worker *worker = &workers[first];
        for (end = first; end < machine->worker_count && is_in_group(worker, &workers[end]);) {
            end++;
        }
        text_add(
            &text, " %s:%" PRIu32 ":%" PRIu64 ":%" PRIu32 ":%d:%" PRIu32 ":%d:%d:%" PRIu64,
            fleet->devices[worker->device], end - first, worker->memory_bytes, worker->gpu_units,
            (int)worker->sharing, fleet_partitions(worker), worker->splits ? 1 : 0,
            worker->shares_memory ? 1 : 0, (uint64_t)(worker->interference * MILLIONTHS));
    }
    return !text.cut;
}

/* Digits at *@at, at most @most, and @end or the end of the text after them, which it passes. */
static bool take_number(const char **at, char end, uint64_t most, uint64_t *number_out)
{
    const char *next = *at;
    uint64_t number = 0;
    while (*next >= '0' && *next <= '9' && number <= most) {
        number = 10 * number + (uint64_t)(*next - '0');
        next++;
    }
    if (next == *at || number > most || (*next != end && *next != '\0')) {
        return false;
    }
    *number_out = number;
    *at = *next == '\0' ? next : next + 1;
    return true;
}

static bool take_group(const char **at, struct group *group_out)
{
    const size_t length = strcspn(*at, ": ");
    uint64_t numbers[NUMBERS] = {0};
    if (length == 0 || length >= NAME_BYTES_MAX || (*at)[length] != ':') {
        return false;
    }
    *group_out = (struct group){.count = 0};
    memcpy(group_out->kind, *at, length);
    *at += length + 1;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        if (!take_number(at, i + 1 < NUMBERS ? ':' : ' ', limits[i], &numbers[i])) {
            return false;
        }
    }
    group_out->count = (uint32_t)numbers[0];
    group_out->worker = (struct fleet_worker){
        .memory_bytes = numbers[1],
        .gpu_units = (uint32_t)numbers[2],
        .sharing = (enum device_sharing)numbers[3],
        .partitions = (uint32_t)numbers[4],
        .splits = numbers[5] != 0,
        .shares_memory = numbers[6] != 0,
        .interference = (double)numbers[7] / MILLIONTHS,
    };
    /* Workers of one device are there all together. */
    return numbers[0] > 0 && numbers[1] > 0 && numbers[2] > 0 && numbers[4] > 0 &&
           numbers[0] % numbers[4] == 0;
}

static bool take_machine(const char *text, struct machine_read *machine_out)
{
    const char *at = text;
    uint64_t cpu_units = 0;
    *machine_out = (struct machine_read){.cpu_units = 0};
    if (!take_number(&at, ' ', UINT16_MAX, &cpu_units)) {
        return false;
    }
    machine_out->cpu_units = (uint32_t)cpu_units;
    while (*at != '\0' && machine_out->group_count < GROUPS_MAX &&
           take_group(&at, &machine_out->groups[machine_out->group_count])) {
        machine_out->group_count++;
    }
    return *at == '\0' && machine_out->group_count > 0;
}

/* Whether slots and kinds are enough, of which none is added yet. */
static enum weft_status check_room(
    const struct machine_read *machine, const struct fleet *fleet, uint32_t node,
    struct weft_error *error)
{
    uint32_t worker_count = 0;
    uint32_t new_kinds = 0;
    for (uint32_t i = 0; i < machine->group_count; i++) {
        bool is_known = false;
        for (uint32_t k = 0; k < fleet->device_count; k++) {
            is_known = is_known || strcmp(fleet->devices[k], machine->groups[i].kind) == 0;
        }
        worker_count += machine->groups[i].count;
        new_kinds += is_known ? 0 : 1; /* One that is there twice counts twice. */
    }
    if (worker_count > fleet->nodes[node].slot_count) {
        return error_set(
            error, WEFT_LIMIT, "it has %" PRIu32 " workers, and there are %" PRIu32 " slots",
            worker_count, fleet->nodes[node].slot_count);
    }
    return new_kinds > DEVICE_KINDS_MAX - fleet->device_count
               ? error_set(error, WEFT_LIMIT, "there are too many kinds of devices")
               : WEFT_OK;
}

enum weft_status resources_read(
    const char *text, struct fleet *fleet, uint32_t node, struct weft_error *error)
{
    ASSERT(fleet->has_slots && node < fleet->node_count);
    struct machine_read machine;
    if (!take_machine(text, &machine)) {
        return error_set(error, WEFT_INVALID, "'%.80s' says nothing of workers", text);
    }
    const enum weft_status status = check_room(&machine, fleet, node, error);
    if (status != WEFT_OK) {
        return status;
    }
    struct fleet_node *place = &fleet->nodes[node];
    place->cpu_units = machine.cpu_units;
    place->worker_count = 0;
    for (uint32_t i = 0; i < machine.group_count; i++) {
        struct group *group = &machine.groups[i];
        group->worker.node = node;
        group->worker.device = fleet_device(fleet, group->kind);
        for (uint32_t k = 0; k < group->count; k++) {
            group->worker.partition = k % group->worker.partitions;
            fleet->workers[place->worker_first + place->worker_count++] = group->worker;
        }
    }
    for (uint32_t i = place->worker_count; i < place->slot_count; i++) {
        fleet->workers[place->worker_first + i] =
            (struct fleet_worker){.node = node, .gpu_units = 1, .is_absent = true};
    }
    return WEFT_OK;
}

void resources_say(const char *text, char *out, size_t room)
{
    struct machine_read machine;
    struct text said;
    text_init(&said, out, room);
    if (!take_machine(text, &machine)) {
        text_put(&said, "-");
        return;
    }
    for (uint32_t i = 0; i < machine.group_count; i++) {
        char bytes[TEXT_SCALED_BYTES];
        const struct group *group = &machine.groups[i];
        const uint64_t each = group->worker.shares_memory && group->count > 0
                                  ? group->worker.memory_bytes / group->count
                                  : group->worker.memory_bytes;
        text_add(
            &said, "%s%" PRIu32 " x %s %s", i == 0 ? "" : ", ", group->count, group->kind,
            text_bytes(bytes, each));
    }
}
