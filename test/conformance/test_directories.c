/*
 * Every directory keeps the contract of directory.h. To add one, add a row to the table.
 *
 * Covers: src/directory/directory.c src/directory/directory_file.c src/directory/directory_etcd.c
 * src/directory/etcd_call.c
 */
#include "directory/directory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "conformance/authority.h"
#include "conformance/etcd_process.h"

enum { PATH_BYTES = 160, WAITS_MAX = 200, WAIT_MS = 100, RIVALS = 4, ROUNDS_MAX = 5 };

/* One kind of directory, which can be made to fail. */
struct kind {
    const char *name;
    void (*where)(char out[PATH_BYTES]); /* A place that was never used. */
    void (*take_away)(void);
    void (*bring_back)(void);
};

static char folder[32] = "/tmp/weft-directory-XXXXXX";
static char place[PATH_BYTES / 2];
static struct etcd_processes etcd;
static uint32_t places;

static void file_where(char out[PATH_BYTES])
{
    (void)snprintf(place, sizeof(place), "%s/%u", folder, places++);
    (void)snprintf(out, PATH_BYTES, "file:%s", place);
}

static void file_take_away(void)
{
    char away[PATH_BYTES + 8];
    (void)snprintf(away, sizeof(away), "%s.away", place);
    assert_int_equal(rename(place, away), 0);
}

static void file_bring_back(void)
{
    char away[PATH_BYTES + 8];
    (void)snprintf(away, sizeof(away), "%s.away", place);
    assert_int_equal(rename(away, place), 0);
}

static void etcd_where(char out[PATH_BYTES])
{
    (void)snprintf(out, PATH_BYTES, "etcd://127.0.0.1:%u/p%u", etcd.client_ports[0], places++);
}

static void etcd_take_away(void)
{
    etcd_kill_one(&etcd, 0);
}

static void etcd_bring_back(void)
{
    etcd_start_one(&etcd, 0);
    etcd_wait(&etcd);
}

/* The last needs a program that may not be there. */
static const struct kind kinds[] = {
    {"file", file_where, file_take_away, file_bring_back},
    {"etcd", etcd_where, etcd_take_away, etcd_bring_back},
};

static uint32_t kind_count = sizeof(kinds) / sizeof(kinds[0]);

static struct member_list list; /* Large: not on the stack. */

static struct directory *open_at(const char *where)
{
    const struct directory_options options = {.where = where};
    struct directory *directory = NULL;
    struct weft_error error = {.status = WEFT_OK};
    if (directory_open(&options, &directory, &error) != WEFT_OK) {
        fail_msg("%s", error.message);
    }
    return directory;
}

static struct member member_of(const char *name)
{
    struct member member = {.agreement = UINT64_C(0xfedcba9876543210)};
    (void)snprintf(member.name, sizeof(member.name), "%s", name);
    (void)snprintf(member.version, sizeof(member.version), "1.2.3");
    return member;
}

static void must(enum weft_status status, const struct weft_error *error)
{
    if (status != WEFT_OK) {
        fail_msg("%s", error->message);
    }
}

static void pause_ms(long ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

/*
 * A call that takes longer than its second, on a busy machine, says nothing: it comes again, as
 * with nodes. What was not heard of may have been done.
 */
static void join(struct directory *directory, struct member *self)
{
    struct weft_error error = {.status = WEFT_OK};
    enum weft_status status = directory_join(directory, self, &error);
    const bool was_away = status == WEFT_IO;
    for (uint32_t i = 0; i < WAITS_MAX && was_away && status != WEFT_OK; i++) {
        pause_ms(WAIT_MS);
        status = directory_join(directory, self, &error);
    }
    must(status, &error);
}

/* What keeping @self comes to, once it has come to something. */
static enum weft_status kept(
    struct directory *directory, const struct member *self, struct weft_error *error)
{
    enum weft_status status = WEFT_IO;
    for (uint32_t i = 0; i < WAITS_MAX && status == WEFT_IO; i++) {
        pause_ms(i == 0 ? 0 : WAIT_MS);
        status = directory_keep(directory, self, error);
    }
    return status;
}

static void keep(struct directory *directory, const struct member *self)
{
    struct weft_error error = {.status = WEFT_OK};
    must(kept(directory, self, &error), &error);
}

static void expect_lost(struct directory *directory, const struct member *self)
{
    struct weft_error error = {.status = WEFT_OK};
    assert_int_equal(kept(directory, self, &error), WEFT_LOST);
}

/* Look at @directory; if there are no news yet, when some come, or after @wait_ms. */
static void look_within(struct directory *directory, uint32_t wait_ms)
{
    struct weft_error error = {.status = WEFT_OK};
    enum weft_status status = WEFT_IO;
    for (uint32_t i = 0; i < WAITS_MAX && status == WEFT_IO; i++) {
        pause_ms(i == 0 ? 0 : WAIT_MS);
        status = directory_list(directory, wait_ms, &list, &error);
    }
    must(status, &error);
}

static void look(struct directory *directory)
{
    look_within(directory, /* wait_ms */ 0);
}

/* @directory does not let this one in, and says @cause. */
static void expect_refusal(struct directory *directory, const char *cause)
{
    struct weft_error error = {.status = WEFT_OK};
    for (uint32_t i = 0; i < WAITS_MAX && strstr(error.message, cause) == NULL; i++) {
        assert_int_equal(directory_list(directory, /* wait_ms */ 0, &list, &error), WEFT_IO);
        pause_ms(WAIT_MS);
    }
    assert_non_null(strstr(error.message, cause));
}

/* Look until @name is a member, or is none, while @self, which may be NULL, is kept. */
static void wait_for(
    struct directory *directory, const char *name, bool is_member, const struct member *self)
{
    for (uint32_t i = 0; i < WAITS_MAX; i++) {
        if (self != NULL) {
            keep(directory, self);
        }
        look(directory);
        if ((member_find(&list, name) != NULL) == is_member) {
            return;
        }
        pause_ms(WAIT_MS);
    }
    fail_msg("'%s' is %s", name, is_member ? "no member" : "still a member");
}

static void a_member_is_seen_with_all_that_it_says(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < kind_count; i++) {
        char where[PATH_BYTES];
        kinds[i].where(where);
        struct directory *first = open_at(where);
        struct directory *second = open_at(where);
        struct member b = member_of("b-1");
        struct member a = member_of("#1"); /* A number, of one that is called otherwise. */
        (void)snprintf(a.title, sizeof(a.title), "a.dotted");
        look(first);
        assert_int_equal(list.count, 0);
        join(first, &b);
        join(second, &a);
        assert_true(a.incarnation > 0 && b.incarnation > 0);
        (void)snprintf(b.address, sizeof(b.address), "[::1]:4711");
        (void)snprintf(b.http, sizeof(b.http), "host \"x\":80");
        keep(first, &b);
        look(second);
        assert_int_equal(list.count, 2);
        assert_string_equal(list.items[0].name, "#1");
        assert_string_equal(member_title(&list.items[0]), "a.dotted");
        assert_ptr_equal(member_find_title(&list, "a.dotted"), &list.items[0]);
        assert_string_equal(member_title(&list.items[1]), "b-1");
        assert_string_equal(list.items[0].address, "");
        assert_string_equal(list.items[1].name, "b-1");
        assert_string_equal(list.items[1].address, "[::1]:4711");
        assert_string_equal(list.items[1].http, "host \"x\":80");
        assert_string_equal(list.items[1].version, "1.2.3");
        assert_int_equal(list.items[1].agreement, b.agreement);
        assert_int_equal(list.items[1].incarnation, b.incarnation);
        assert_false(list.items[1].drains);
        directory_destroy(first);
        directory_destroy(second);
    }
    directory_destroy(NULL);
}

/* A name that is held, by a thread that keeps it. */
struct held {
    struct directory *directory;
    struct member self;
    pthread_mutex_t lock;
    bool ends;
};

static void *hold(void *argument)
{
    struct held *held = argument;
    bool ends = false;
    while (!ends) {
        (void)directory_keep(held->directory, &held->self, NULL);
        pause_ms(200);
        (void)pthread_mutex_lock(&held->lock);
        ends = held->ends;
        (void)pthread_mutex_unlock(&held->lock);
    }
    return NULL;
}

static void expect_held(struct directory *directory, struct member *self)
{
    struct weft_error error = {.status = WEFT_OK};
    enum weft_status status = WEFT_IO;
    for (uint32_t i = 0; i < WAITS_MAX && status == WEFT_IO; i++) {
        pause_ms(i == 0 ? 0 : WAIT_MS);
        status = directory_join(directory, self, &error);
    }
    assert_int_equal(status, WEFT_EXISTS);
    assert_non_null(strstr(error.message, "the name 'a' is held by another process"));
}

static void a_name_is_held_once(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < kind_count; i++) {
        char where[PATH_BYTES];
        pthread_t thread;
        kinds[i].where(where);
        struct held held = {.directory = open_at(where), .self = member_of("a")};
        struct directory *second = open_at(where);
        struct member other = member_of("a");
        (void)pthread_mutex_init(&held.lock, NULL);
        join(held.directory, &held.self);
        assert_int_equal(pthread_create(&thread, NULL, hold, &held), 0);
        expect_held(second, &other);
        (void)pthread_mutex_lock(&held.lock);
        held.ends = true;
        (void)pthread_mutex_unlock(&held.lock);
        assert_int_equal(pthread_join(thread, NULL), 0);
        directory_leave(held.directory, &held.self);
        join(second, &other); /* At once: it was given back. */
        assert_true(other.incarnation > held.self.incarnation);
        expect_lost(held.directory, &held.self);
        keep(second, &other);
        directory_destroy(held.directory);
        directory_destroy(second);
        (void)pthread_mutex_destroy(&held.lock);
    }
}

/* Processes that all want one name. */
struct rival {
    pthread_t thread;
    struct directory *directory;
    struct member self;
    enum weft_status status;
};

static void *compete(void *argument)
{
    struct rival *rival = argument;
    rival->status = directory_join(rival->directory, &rival->self, NULL);
    for (uint32_t i = 0; i < 35 && rival->status == WEFT_OK; i++) {
        pause_ms(200);
        (void)directory_keep(rival->directory, &rival->self, NULL);
    }
    return NULL;
}

/* Let some rivals join at once: how many did. None if one does not know whether it did. */
static uint32_t holders_of(const char *where)
{
    struct rival rivals[RIVALS];
    uint32_t holders = 0;
    bool is_known = true;
    for (uint32_t k = 0; k < RIVALS; k++) {
        rivals[k] = (struct rival){.directory = open_at(where), .self = member_of("a")};
        assert_int_equal(pthread_create(&rivals[k].thread, NULL, compete, &rivals[k]), 0);
    }
    for (uint32_t k = 0; k < RIVALS; k++) {
        assert_int_equal(pthread_join(rivals[k].thread, NULL), 0);
        holders += rivals[k].status == WEFT_OK ? 1 : 0;
        is_known = is_known && rivals[k].status != WEFT_IO;
        assert_true(
            rivals[k].status == WEFT_IO || rivals[k].status == WEFT_OK ||
            rivals[k].status == WEFT_EXISTS);
        directory_destroy(rivals[k].directory);
    }
    assert_true(holders == 1 || (holders == 0 && !is_known));
    return holders;
}

static void of_many_that_join_at_once_one_does(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < kind_count; i++) {
        char where[PATH_BYTES];
        uint32_t holders = 0;
        for (uint32_t k = 0; k < ROUNDS_MAX && holders == 0; k++) {
            kinds[i].where(where);
            holders = holders_of(where);
        }
        assert_int_equal(holders, 1);
    }
}

static void who_keeps_nothing_is_gone_and_hears_it(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < kind_count; i++) {
        char where[PATH_BYTES];
        kinds[i].where(where);
        struct directory *still = open_at(where);
        struct directory *alive = open_at(where);
        struct member a = member_of("a");
        struct member b = member_of("b");
        join(still, &a);
        join(alive, &b);
        wait_for(alive, "a", /* is_member */ true, &b);
        wait_for(alive, "a", /* is_member */ false, &b); /* It stands still. */
        expect_lost(still, &a);
        look(alive);
        assert_null(member_find(&list, "a"));
        const uint64_t before = a.incarnation;
        join(still, &a);
        assert_true(a.incarnation > before);
        keep(still, &a);
        look(alive);
        assert_int_equal(member_find(&list, "a")->incarnation, a.incarnation);
        directory_destroy(still);
        directory_destroy(alive);
    }
}

/* Where all stood still, nobody's silence means anything. */
static void who_stood_still_itself_condemns_nobody(ATTR_UNUSED void **state)
{
    char where[PATH_BYTES];
    file_where(where);
    struct directory *directory = open_at(where);
    struct directory *other = open_at(where);
    struct member a = member_of("a");
    join(directory, &a);
    look(other);
    pause_ms(DIRECTORY_LEASE_MS + 500);
    look(other);
    assert_non_null(member_find(&list, "a"));
    keep(directory, &a);
    directory_destroy(directory);
    directory_destroy(other);
}

static void a_holder_that_died_is_followed(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < kind_count; i++) {
        char where[PATH_BYTES];
        kinds[i].where(where);
        struct directory *dead = open_at(where);
        struct directory *next = open_at(where);
        struct member a = member_of("a");
        struct member again = member_of("a");
        join(dead, &a);
        directory_destroy(dead);
        join(next, &again); /* After its lease. */
        assert_true(again.incarnation > a.incarnation);
        directory_destroy(next);
    }
}

static void a_member_hears_that_it_should_leave(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < kind_count; i++) {
        char where[PATH_BYTES];
        struct weft_error error;
        kinds[i].where(where);
        struct directory *directory = open_at(where);
        struct directory *operator= open_at(where);
        struct member a = member_of("a");
        join(directory, &a);
        look(operator);
        enum weft_status status = WEFT_IO;
        for (uint32_t k = 0; k < WAITS_MAX && status == WEFT_IO; k++) {
            pause_ms(k == 0 ? 0 : WAIT_MS);
            status = directory_ask_to_drain(operator, member_find(&list, "a"), &error);
        }
        must(status, &error);
        keep(directory, &a);
        look(directory);
        assert_true(member_find(&list, "a")->drains);
        directory_leave(directory, &a);
        look(operator);
        assert_null(member_find(&list, "a"));
        join(directory, &a); /* Another life, which was asked nothing. */
        look(directory);
        assert_false(member_find(&list, "a")->drains);
        directory_destroy(directory);
        directory_destroy(operator);
    }
}

static void an_outage_says_nothing_about_members(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < kind_count; i++) {
        char where[PATH_BYTES];
        struct weft_error error;
        kinds[i].where(where);
        struct directory *directory = open_at(where);
        struct member a = member_of("a");
        struct member b = member_of("b");
        join(directory, &a);
        look(directory);
        kinds[i].take_away();
        assert_int_equal(directory_keep(directory, &a, &error), WEFT_IO);
        list.count = 99;
        assert_int_equal(directory_list(directory, /* wait_ms */ 500, &list, &error), WEFT_IO);
        assert_int_equal(list.count, 99);
        assert_int_equal(directory_join(directory, &b, &error), WEFT_IO);
        pause_ms(DIRECTORY_LEASE_MS + 500); /* Longer than a lease. */
        kinds[i].bring_back();
        keep(directory, &a);
        look(directory);
        assert_int_equal(member_find(&list, "a")->incarnation, a.incarnation);
        directory_destroy(directory);
    }
}

static void news_are_waited_for(ATTR_UNUSED void **state)
{
    for (uint32_t i = 0; i < kind_count; i++) {
        char where[PATH_BYTES];
        kinds[i].where(where);
        struct directory *directory = open_at(where);
        struct directory *other = open_at(where);
        struct member a = member_of("a");
        look(directory);
        join(other, &a);
        look_within(directory, /* wait_ms */ 500);
        assert_non_null(member_find(&list, "a"));
        directory_destroy(directory);
        directory_destroy(other);
    }
}

static void refuse(const char *where, const char *user_file, const char *message)
{
    const struct directory_options options = {.where = where, .user_file = user_file};
    struct directory *directory = NULL;
    struct weft_error error = {.status = WEFT_OK};
    assert_int_not_equal(directory_open(&options, &directory, &error), WEFT_OK);
    assert_string_equal(error.message, message);
}

static void what_names_no_directory_is_refused(ATTR_UNUSED void **state)
{
    refuse(
        "zookeeper://x", NULL,
        "'zookeeper://x' is not a directory; use file:FOLDER, etcd://HOST:PORT or "
        "etcds://HOST:PORT");
    refuse("etcd://", NULL, "'' is not a list of HOST:PORT,HOST:PORT");
    refuse("etcd://a:1,b", NULL, "'a:1,b' is not a list of HOST:PORT,HOST:PORT");
    refuse("etcd://a:1", "/no/file", "/no/file: cannot be read: No such file or directory");
    refuse("etcd://a:1", "/dev/null", "/dev/null: must be one line, USER:PASSWORD");
    refuse(
        "file:/no/such/folder", NULL, "/no/such/folder: cannot be made: No such file or directory");
}

/* What others leave in the folder is not a member. */
static void foreign_files_are_ignored(ATTR_UNUSED void **state)
{
    static const char *const names[] = {
        "README",    ".hidden.1.member", "a.0.member", "a.x.member",
        "a.1.other", ".1.member",        "b.3.member", "c.99999999999999999999999.member"};
    char where[PATH_BYTES];
    file_where(where);
    struct directory *directory = open_at(where);
    for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[2 * PATH_BYTES];
        (void)snprintf(path, sizeof(path), "%s/%s", place, names[i]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs("{\"address\": 7}", file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    look(directory);
    assert_int_equal(list.count, 0);
    struct member b = member_of("b");
    join(directory, &b);
    assert_int_equal(b.incarnation, 4);
    look(directory);
    assert_int_equal(list.count, 1);
    directory_destroy(directory);
}

/* Everything was removed while a process ran: its next life is larger all the same. */
static void incarnations_grow_even_in_an_emptied_folder(ATTR_UNUSED void **state)
{
    char where[PATH_BYTES];
    char command[2 * PATH_BYTES];
    file_where(where);
    struct directory *directory = open_at(where);
    struct member a = member_of("a");
    join(directory, &a);
    directory_leave(directory, &a);
    join(directory, &a);
    assert_int_equal(a.incarnation, 2);
    (void)snprintf(command, sizeof(command), "rm -r %s; mkdir %s", place, place);
    assert_int_equal(system(command), 0);
    expect_lost(directory, &a);
    directory_destroy(directory);
    directory = open_at(where);
    join(directory, &a);
    assert_int_equal(a.incarnation, 3);
    directory_destroy(directory);
}

/* A new etcd in place of the old one, whose members others still remember. */
static void incarnations_grow_even_in_a_wiped_etcd(ATTR_UNUSED void **state)
{
    char where[PATH_BYTES];
    if (kind_count < 2) {
        skip();
    }
    etcd_where(where);
    struct directory *directory = open_at(where);
    struct member a = member_of("a");
    join(directory, &a);
    const uint64_t first = a.incarnation;
    directory_leave(directory, &a);
    join(directory, &a);
    assert_int_equal(a.incarnation, first + 1);
    directory_leave(directory, &a);
    pause_ms(2100); /* Two lives in as many seconds, at least. */
    etcd_ask(&etcd, 0, "/v3/kv/deleterange", "{\"key\":\"AA==\",\"range_end\":\"AA==\"}");
    struct member restarted = member_of("a");
    join(directory, &restarted);
    assert_true(restarted.incarnation > a.incarnation);
    look(directory);
    assert_int_equal(member_find(&list, "a")->incarnation, restarted.incarnation);
    directory_destroy(directory);
}

static void revisions_that_were_compacted_away_do_no_harm(ATTR_UNUSED void **state)
{
    char where[PATH_BYTES];
    if (kind_count < 2) {
        skip();
    }
    etcd_where(where);
    struct directory *directory = open_at(where);
    struct directory *other = open_at(where);
    struct member a = member_of("a");
    look(directory);
    join(other, &a);
    directory_leave(other, &a);
    join(other, &a);
    etcd_compact(&etcd, 0);
    look_within(directory, /* wait_ms */ 500);
    assert_int_equal(member_find(&list, "a")->incarnation, a.incarnation);
    directory_destroy(directory);
    directory_destroy(other);
}

static void a_dead_endpoint_and_a_lost_leader_are_survived(ATTR_UNUSED void **state)
{
    struct etcd_processes three = {.count = 0};
    char where[PATH_BYTES];
    if (kind_count < 2) {
        skip();
    }
    etcd_start(&three, 3);
    (void)snprintf(
        where, sizeof(where), "etcd://127.0.0.1:1,127.0.0.1:%u,127.0.0.1:%u,127.0.0.1:%u",
        three.client_ports[0], three.client_ports[1], three.client_ports[2]);
    struct directory *directory = open_at(where);
    struct member a = member_of("a");
    join(directory, &a);
    for (uint32_t i = 0; i < 3; i++) { /* One of them was the leader. */
        etcd_kill_one(&three, i);
        keep(directory, &a);
        look(directory);
        assert_int_equal(member_find(&list, "a")->incarnation, a.incarnation);
        etcd_start_one(&three, i);
        etcd_wait(&three);
    }
    directory_destroy(directory);
    etcd_stop(&three);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void ask_for_passwords(const struct etcd_processes *secured)
{
    etcd_ask(secured, 0, "/v3/auth/user/add", "{\"name\":\"root\",\"password\":\"p:w\"}");
    etcd_ask(secured, 0, "/v3/auth/role/add", "{\"name\":\"root\"}");
    etcd_ask(secured, 0, "/v3/auth/user/grant", "{\"user\":\"root\",\"role\":\"root\"}");
    etcd_ask(secured, 0, "/v3/auth/enable", "{}");
}

static void certificates_and_passwords_are_used(ATTR_UNUSED void **state)
{
    char paths[4][PATH_BYTES];
    static const char *const names[] = {"ca.pem", "cert.pem", "key.pem", "user"};
    if (kind_count < 2) {
        skip();
    }
    for (uint32_t i = 0; i < 4; i++) {
        (void)snprintf(paths[i], PATH_BYTES, "%s/%s", folder, names[i]);
    }
    struct authority *authority = authority_create(paths[0]);
    authority_sign(authority, "localhost", paths[1], paths[2]);
    struct etcd_processes secured = {
        .certificate = paths[1], .key = paths[2], .authority = paths[0]};
    etcd_start(&secured, 1);
    ask_for_passwords(&secured);
    char where[PATH_BYTES];
    (void)snprintf(where, sizeof(where), "etcds://localhost:%u", secured.client_ports[0]);
    write_text(paths[3], "root:p:w\n");
    struct directory_options options = {.where = where, .ca_file = paths[0], .user_file = paths[3]};
    struct directory *directory = NULL;
    struct weft_error error = {.status = WEFT_OK};
    must(directory_open(&options, &directory, &error), &error);
    struct member a = member_of("a");
    join(directory, &a);
    etcd_kill_one(&secured, 0); /* It forgets who signed in. */
    etcd_start_one(&secured, 0);
    keep(directory, &a);
    look(directory);
    assert_non_null(member_find(&list, "a"));
    directory_destroy(directory);

    write_text(paths[3], "root:wrong\n");
    must(directory_open(&options, &directory, &error), &error);
    expect_refusal(directory, "authentication failed");
    directory_destroy(directory);
    options.ca_file = NULL; /* The system does not know this authority. */
    must(directory_open(&options, &directory, &error), &error);
    expect_refusal(directory, "certificate verify failed");
    directory_destroy(directory);
    authority_destroy(authority);
    etcd_stop(&secured);
}

static int setup(ATTR_UNUSED void **state)
{
    assert_non_null(mkdtemp(folder));
    if (etcd_is_installed()) {
        etcd_start(&etcd, 1);
    } else {
        print_message("skipped: etcd, which is not installed\n");
        kind_count--;
    }
    return 0;
}

static int teardown(ATTR_UNUSED void **state)
{
    char command[64];
    if (kind_count == 2) {
        etcd_stop(&etcd);
    }
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_seen_with_all_that_it_says),
        cmocka_unit_test(a_name_is_held_once),
        cmocka_unit_test(of_many_that_join_at_once_one_does),
        cmocka_unit_test(who_keeps_nothing_is_gone_and_hears_it),
        cmocka_unit_test(who_stood_still_itself_condemns_nobody),
        cmocka_unit_test(a_holder_that_died_is_followed),
        cmocka_unit_test(a_member_hears_that_it_should_leave),
        cmocka_unit_test(an_outage_says_nothing_about_members),
        cmocka_unit_test(news_are_waited_for),
        cmocka_unit_test(what_names_no_directory_is_refused),
        cmocka_unit_test(foreign_files_are_ignored),
        cmocka_unit_test(incarnations_grow_even_in_an_emptied_folder),
        cmocka_unit_test(incarnations_grow_even_in_a_wiped_etcd),
        cmocka_unit_test(revisions_that_were_compacted_away_do_no_harm),
        cmocka_unit_test(a_dead_endpoint_and_a_lost_leader_are_survived),
        cmocka_unit_test(certificates_and_passwords_are_used),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
