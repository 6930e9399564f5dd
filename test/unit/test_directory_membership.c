/*
 * Two processes of a cluster, as threads, that find each other in a folder.
 *
 * Covers: src/directory/membership.c
 */
#include "directory/membership.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/error.h"
#include "fabric/trust.h"
#include "parity/workload.h"
#include "runtime/remote.h"

enum { NODES = 2, WAITS_MAX = 20000, PATH_BYTES = 128 };

static const char names[NODES][NAME_BYTES_MAX] = {"a", "b"};

/* One process, as it were. */
struct site {
    uint32_t node;
    struct directory *directory;
    struct membership *membership;
    struct runtime *runtime;
    struct runtime_remote remote;
    struct policy_set policies;
    pthread_t thread;
    atomic_uint epochs; /* Lists of members that its node has heard of. */
    atomic_bool is_lost;
    atomic_bool drains;
    atomic_uint machines; /* Of others, of which it was told before its node was. */
};

static atomic_bool takes_none; /* Machines of others cannot be used. */

static char folder[] = "/tmp/weft-membership-XXXXXX";
static char where[PATH_BYTES];
static uint32_t folders;
static struct workload workload;
static struct trust *trust;
static struct site sites[NODES];

static void wait_ms(long ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

/* For some twenty seconds at most. */
static void wait_until(const atomic_uint *value, uint32_t wanted)
{
    for (uint32_t i = 0; i < WAITS_MAX && atomic_load(value) < wanted; i++) {
        wait_ms(1);
    }
    assert_true(atomic_load(value) >= wanted);
}

static void wait_until_true(const atomic_bool *value)
{
    for (uint32_t i = 0; i < WAITS_MAX && !atomic_load(value); i++) {
        wait_ms(1);
    }
    assert_true(atomic_load(value));
}

static void note_record(void *context, const struct record *record)
{
    struct site *site = context;
    if (record->kind == RECORD_NODE_LOST || record->kind == RECORD_NODE_BACK) {
        atomic_fetch_add(&site->epochs, 1);
    }
}

static void on_lost(void *context)
{
    atomic_store(&((struct site *)context)->is_lost, true);
}

static void on_drain(void *context)
{
    atomic_store(&((struct site *)context)->drains, true);
}

/* What others have comes before they are members: no epoch may have passed. */
static bool on_machine(
    void *context, uint32_t node, const struct member *member, struct weft_error *error)
{
    struct site *site = context;
    const uint32_t epochs = atomic_load(&site->epochs);
    if (epochs % 2 == 0 && strcmp(member->name, names[node]) == 0 &&
        strcmp(member->resources, "1 x") == 0) {
        atomic_fetch_add(&site->machines, 1);
    }
    return !atomic_load(&takes_none) ||
           error_set(error, WEFT_INVALID, "it is of no use") == WEFT_OK;
}

static enum weft_status join(struct site *site, uint64_t agreement, struct weft_error *error)
{
    struct membership_options options = {
        .directory = site->directory,
        .self = {.agreement = agreement, .version = "1", .resources = "1 x"},
        .node_count = NODES,
        .names = names,
    };
    memcpy(options.self.name, names[site->node], NAME_BYTES_MAX);
    return membership_open(&options, &site->membership, error);
}

static void *run_site(void *argument)
{
    runtime_run(((struct site *)argument)->runtime);
    return NULL;
}

static void open_site(uint32_t node)
{
    struct site *site = &sites[node];
    struct weft_error error;
    char address[32];
    const struct directory_options directory = {.where = where};
    memset(site, 0, sizeof(*site));
    site->node = node;
    assert_int_equal(directory_open(&directory, &site->directory, &error), WEFT_OK);
    assert_int_equal(join(site, /* agreement */ 7, &error), WEFT_OK);
    assert_int_equal(policy_set_parse("jit", &site->policies, NULL), WEFT_OK);
    site->remote = (struct runtime_remote){
        .node = node,
        .incarnation = (uint32_t)membership_incarnation(site->membership),
        .listen = "127.0.0.1:0",
        .trust = trust,
        .tensor_bytes_max = 1 << 20,
    };
    const struct runtime_options options = {
        .fleet = workload.fleet,
        .catalogue = workload.catalogue,
        .profile = workload.profile,
        .policies = &site->policies,
        .clock = CLOCK_KIND_REAL,
        .row_load_ns = 10 * MS,
        .row_cache_ns = 50 * MS,
        .stays = true,
        .on_record = note_record,
        .context = site,
        .remote = &site->remote,
    };
    const struct membership_host host = {
        .context = site, .on_lost = on_lost, .on_drain = on_drain, .on_machine = on_machine};
    assert_int_equal(runtime_create(&options, &site->runtime, &error), WEFT_OK);
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", runtime_port(site->runtime));
    const struct member_editions editions = {.serving = "everything"};
    membership_tell(site->membership, &editions);
    membership_attach(site->membership, site->runtime, address, "http://x", &host);
    assert_int_equal(pthread_create(&site->thread, NULL, run_site, site), 0);
}

static void close_site(uint32_t node)
{
    struct site *site = &sites[node];
    runtime_stop(site->runtime);
    assert_int_equal(pthread_join(site->thread, NULL), 0);
    membership_detach(site->membership);
    runtime_destroy(site->runtime);
    membership_close(site->membership);
    directory_destroy(site->directory);
}

static void members_come_and_go(ATTR_UNUSED void **state)
{
    open_site(0);
    open_site(1);
    wait_until(&sites[0].epochs, 1);
    wait_until(&sites[1].epochs, 1);
    close_site(1);
    wait_until(&sites[0].epochs, 2); /* At once: its name was given back. */
    open_site(1);
    assert_int_equal(membership_incarnation(sites[1].membership), 2);
    wait_until(&sites[0].epochs, 3);
    close_site(1);
    open_site(1); /* Too fast to be missed. */
    wait_until(&sites[0].epochs, 5);
    assert_false(atomic_load(&sites[0].is_lost));
    close_site(1);
    close_site(0);
    membership_close(NULL);
}

/* One that starts when another says that it is ready takes over what that serves. */
static void who_is_ready_is_seen_by_those_who_join(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < 4; i++) {
        struct weft_error error;
        const struct directory_options directory = {.where = where};
        struct site other = {.node = 1};
        open_site(0);
        assert_int_equal(directory_open(&directory, &other.directory, &error), WEFT_OK);
        assert_int_equal(join(&other, /* agreement */ 7, &error), WEFT_OK);
        const struct member *seen = member_find(membership_list(other.membership), "a");
        assert_non_null(seen);
        assert_string_equal(seen->http, "http://x");
        assert_string_equal(seen->editions.serving, "everything");
        membership_close(other.membership);
        directory_destroy(other.directory);
        close_site(0);
    }
}

static void what_a_machine_has_is_known_before_its_node(ATTR_UNUSED void **state)
{
    open_site(0);
    open_site(1);
    wait_until(&sites[0].epochs, 1);
    assert_int_equal(atomic_load(&sites[0].machines), 1);
    close_site(1);
    wait_until(&sites[0].epochs, 2);
    atomic_store(&takes_none, true);
    open_site(1); /* Neither can be used by the other. */
    wait_until(&sites[0].machines, 2);
    wait_until(&sites[1].machines, 1);
    close_site(1);
    atomic_store(&takes_none, false);
    open_site(1);
    wait_until(&sites[0].epochs, 3);
    assert_int_equal(atomic_load(&sites[0].machines), 3);
    assert_int_equal(atomic_load(&sites[0].epochs), 3);
    close_site(1);
    close_site(0);
}

static void another_cluster_is_refused_but_not_another_catalogue(ATTR_UNUSED void **state)
{
    struct weft_error error;
    const struct directory_options directory = {.where = where};
    struct site other = {.node = 1};
    open_site(0);
    assert_int_equal(directory_open(&directory, &other.directory, &error), WEFT_OK);
    assert_int_equal(join(&other, /* agreement */ UINT64_C(1) << 32 | 7, &error), WEFT_INVALID);
    assert_non_null(strstr(error.message, "node 'a' is of another cluster"));
    for (uint32_t agreement = 7; agreement < 9; agreement++) {
        assert_int_equal(join(&other, agreement, &error), WEFT_OK);
        const struct member *member = member_find(membership_list(other.membership), "a");
        assert_int_equal(membership_is_alike(other.membership, member), agreement == 7);
        membership_close(other.membership);
    }
    directory_destroy(other.directory);
    close_site(0);
}

/* Join as one called @title, under any name. */
static enum weft_status join_as(
    struct directory *opened, const char *title, struct membership **out, struct weft_error *error)
{
    struct membership_options options = {
        .directory = opened,
        .self = {.agreement = 7, .version = "1"},
        .node_count = NODES,
        .names = names,
    };
    memcpy(options.self.title, title, strlen(title) + 1);
    return membership_open(&options, out, error);
}

static void members_without_names_take_any_that_is_free(ATTR_UNUSED void **state)
{
    struct weft_error error;
    const struct directory_options directory = {.where = where};
    struct directory *opened[NODES + 1];
    struct membership *held[NODES + 1] = {NULL};
    for (uint32_t i = 0; i <= NODES; i++) {
        assert_int_equal(directory_open(&directory, &opened[i], &error), WEFT_OK);
    }
    assert_int_equal(join_as(opened[0], "new", &held[0], &error), WEFT_OK);
    assert_int_equal(join_as(opened[1], "newer", &held[1], &error), WEFT_OK);
    const uint32_t node = membership_node(held[0]);
    assert_int_equal(membership_node(held[1]), 1 - node);
    assert_string_equal(membership_titles(held[0])[node], "new");
    assert_string_equal(membership_titles(held[0])[1 - node], names[1 - node]);
    assert_int_equal(join_as(opened[2], "newest", &held[2], &error), WEFT_LIMIT);
    membership_close(held[1]);
    assert_int_equal(join_as(opened[1], "new", &held[1], &error), WEFT_EXISTS);
    assert_non_null(strstr(error.message, "the name 'new' is held by another process"));
    assert_int_equal(join_as(opened[2], "newest", &held[2], &error), WEFT_OK);
    assert_int_equal(membership_node(held[2]), 1 - node);
    assert_int_equal(membership_incarnation(held[2]), 2); /* Of that number. */
    for (uint32_t i = 0; i < WAITS_MAX && !membership_knows(held[0], "newest"); i++) {
        wait_ms(1);
    }
    assert_true(membership_knows(held[0], "newest"));
    assert_false(membership_knows(held[0], "newer"));
    membership_close(held[0]);
    membership_close(held[2]);
    for (uint32_t i = 0; i <= NODES; i++) {
        directory_destroy(opened[i]);
    }
}

static void a_guest_is_known_but_no_member(ATTR_UNUSED void **state)
{
    struct weft_error error;
    const struct directory_options directory = {.where = where};
    struct membership_options guest = {.self = {.version = "1"}};
    struct membership *held = NULL;
    open_site(0);
    assert_false(membership_knows(sites[0].membership, "b"));
    assert_int_equal(directory_open(&directory, &guest.directory, &error), WEFT_OK);
    member_guest_name("b", guest.self.name);
    assert_true(member_is_guest(&guest.self));
    assert_int_equal(membership_open(&guest, &held, &error), WEFT_OK); /* It agrees with no one. */
    for (uint32_t i = 0; i < WAITS_MAX && !membership_knows(sites[0].membership, "b"); i++) {
        wait_ms(1);
    }
    assert_true(membership_knows(sites[0].membership, "b"));
    open_site(1); /* Its own name is free, and the guest does not keep it out. */
    wait_until(&sites[0].epochs, 1);
    assert_int_equal(atomic_load(&sites[0].epochs), 1);
    membership_close(held);
    directory_destroy(guest.directory);
    close_site(1);
    close_site(0);
}

static void a_name_that_is_taken_away_is_noticed(ATTR_UNUSED void **state)
{
    char path[PATH_BYTES + 16];
    open_site(0);
    open_site(1);
    wait_until(&sites[0].epochs, 1);
    (void)snprintf(path, sizeof(path), "%s/b.1.gone", where + strlen("file:"));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    wait_until_true(&sites[1].is_lost);
    wait_until(&sites[0].epochs, 2);
    assert_false(atomic_load(&sites[0].is_lost));
    close_site(1);
    close_site(0);
}

static void a_member_is_asked_to_leave(ATTR_UNUSED void **state)
{
    static struct member_list list;
    struct directory *operator;
    struct weft_error error;
    const struct directory_options options = {.where = where};
    open_site(0);
    assert_int_equal(directory_open(&options, &operator, & error), WEFT_OK);
    assert_int_equal(directory_list(operator, /* wait_ms */ 0, &list, &error), WEFT_OK);
    assert_int_equal(list.count, 1);
    assert_int_equal(directory_ask_to_drain(operator, & list.items[0], &error), WEFT_OK);
    wait_until_true(&sites[0].drains);
    assert_false(atomic_load(&sites[0].is_lost));
    close_site(0);
    assert_int_equal(directory_list(operator, /* wait_ms */ 0, &list, &error), WEFT_OK);
    assert_int_equal(list.count, 0);
    directory_destroy(operator);
}

static int new_folder(ATTR_UNUSED void **state)
{
    (void)snprintf(where, sizeof(where), "file:%s/%u", folder, folders++);
    return 0;
}

static int setup(ATTR_UNUSED void **state)
{
    char path[PATH_BYTES];
    const struct workload_options options = {
        .node_count = NODES, .workers_per_node = 1, .run_ns = MS};
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/secret", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("a secret of two sites", file) >= 0);
    assert_int_equal(fclose(file), 0);
    const struct trust_files files = {.secret = path};
    assert_int_equal(trust_create(&files, &trust, NULL), WEFT_OK);
    workload_init(&workload, &options);
    return 0;
}

static int teardown(ATTR_UNUSED void **state)
{
    char command[64];
    trust_destroy(trust);
    workload_deinit(&workload);
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(members_come_and_go, new_folder),
        cmocka_unit_test_setup(who_is_ready_is_seen_by_those_who_join, new_folder),
        cmocka_unit_test_setup(what_a_machine_has_is_known_before_its_node, new_folder),
        cmocka_unit_test_setup(another_cluster_is_refused_but_not_another_catalogue, new_folder),
        cmocka_unit_test_setup(members_without_names_take_any_that_is_free, new_folder),
        cmocka_unit_test_setup(a_guest_is_known_but_no_member, new_folder),
        cmocka_unit_test_setup(a_name_that_is_taken_away_is_noticed, new_folder),
        cmocka_unit_test_setup(a_member_is_asked_to_leave, new_folder),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
