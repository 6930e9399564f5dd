#include "conformance/net_cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "conformance/authority.h"

enum { ROUNDS_MAX = 40000, ROUND_US = 250 };

static struct fleet_worker workers[CLUSTER_WORKERS] = {
    {.node = 0, .gpu_units = 1}, {.node = 0, .gpu_units = 1}, {.node = 1, .gpu_units = 1},
    {.node = 1, .gpu_units = 1}, {.node = 2, .gpu_units = 1}, {.node = 2, .gpu_units = 1},
};

static struct fleet_node nodes[CLUSTER_NODES] = {
    {.worker_first = 0, .worker_count = 2},
    {.worker_first = 2, .worker_count = 2},
    {.worker_first = 4, .worker_count = 2},
};

/* The place that @context, of a net or a cluster, means by @node. */
static struct place *place_of(struct place *place, uint32_t node)
{
    return place->cluster->form == NET_FORM_INPROC ? &place->cluster->places[node] : place;
}

static void on_row(void *context, uint32_t to, const struct row *row)
{
    struct place *place = place_of(context, to);
    struct row *kept = &place->rows[row->worker];
    assert_false(place->cluster->in_operation);
    assert_int_equal(place->node, to);
    place->row_count++;
    kept->worker = row->worker;
    kept->parts |= row->parts;
    if ((row->parts & ROW_LOAD) != 0) {
        assert_true(row->load.sequence >= kept->load.sequence);
        kept->load = row->load;
    }
    if ((row->parts & ROW_CACHE) != 0) {
        kept->cache = row->cache;
    }
}

static void on_message(void *context, uint32_t to, const struct message *message, uint64_t tensor)
{
    struct place *place = place_of(context, to);
    assert_false(place->cluster->in_operation);
    assert_int_equal(place->node, to);
    assert_true(place->message_count < PLACE_KEPT_MAX);
    struct kept_message *kept = &place->messages[place->message_count++];
    *kept = (struct kept_message){.message = *message, .tensor = tensor};
    for (uint32_t i = 0; i < message_placement_count(message); i++) {
        kept->placement[i] = message->work.placement[i];
    }
}

static void release(void *context, uint64_t tensor)
{
    struct place *place = context;
    struct made_tensor *made = &place->tensors[tensor - 1];
    assert_true(tensor > 0 && tensor <= PLACE_TENSORS_MAX && made->is_used);
    for (uint32_t i = 0; i < made->part_count; i++) {
        free(made->parts[i].data);
    }
    *made = (struct made_tensor){.is_used = false};
    place->tensor_count--;
}

static void on_peer(void *context, uint32_t peer, enum net_peer_state state)
{
    struct place *place = context;
    assert_false(place->cluster->in_operation);
    switch (state) {
    case NET_PEER_BROKEN:
    case NET_PEER_UNMET:
    case NET_PEER_RESTORED:
        assert_int_equal(place->is_broken[peer], state == NET_PEER_RESTORED);
        place->is_broken[peer] = state != NET_PEER_RESTORED;
        place->broken_count += state != NET_PEER_RESTORED;
        return;
    case NET_PEER_BLOCKED:
    case NET_PEER_READY:
        assert_int_equal(place->is_blocked[peer], state == NET_PEER_READY);
        place->is_blocked[peer] = state == NET_PEER_BLOCKED;
        return;
    }
}

static uint64_t take_tensor(struct place *place)
{
    for (uint32_t i = 0; i < PLACE_TENSORS_MAX; i++) {
        if (!place->tensors[i].is_used) {
            place->tensors[i] = (struct made_tensor){.is_used = true};
            place->tensor_count++;
            return i + 1;
        }
    }
    fail_msg("too many tensors");
    return 0;
}

static size_t tensor_head(void *context, uint64_t tensor, uint8_t *head)
{
    const struct made_tensor *made = &((struct place *)context)->tensors[tensor - 1];
    if (made->is_pretended) {
        return 0;
    }
    head[0] = (uint8_t)made->part_count;
    for (uint32_t i = 0; i < made->part_count; i++) {
        memcpy(head + 1 + 8 * (size_t)i, &made->parts[i].bytes, 8);
    }
    return 1 + 8 * (size_t)made->part_count;
}

static bool tensor_part(void *context, uint64_t tensor, uint32_t index, struct net_part *part_out)
{
    const struct made_tensor *made = &((struct place *)context)->tensors[tensor - 1];
    assert_true(made->is_used);
    if (index >= made->part_count) {
        return false;
    }
    *part_out = made->parts[index];
    return true;
}

static uint64_t tensor_make(void *context, const uint8_t *head, size_t head_bytes, uint64_t bytes)
{
    struct place *place = context;
    if (place->refuses_tensors) {
        return 0;
    }
    const uint64_t tensor = take_tensor(place);
    struct made_tensor *made = &place->tensors[tensor - 1];
    made->is_pretended = head == NULL;
    made->bytes = bytes;
    if (head != NULL) {
        made->part_count = head[0];
        assert_int_equal(head_bytes, 1 + 8 * (size_t)made->part_count);
        for (uint32_t i = 0; i < made->part_count; i++) {
            memcpy(&made->parts[i].bytes, head + 1 + 8 * (size_t)i, 8);
            made->parts[i].data = malloc(made->parts[i].bytes + 1);
        }
    }
    return tensor;
}

static bool tensor_check(ATTR_UNUSED void *context, ATTR_UNUSED uint64_t tensor)
{
    return true;
}

static int64_t inproc_now_ns(ATTR_UNUSED void *context)
{
    return 0;
}

static void wake_at(void *context, int64_t at_ns, uint64_t token)
{
    event_queue_push(&((struct place *)context)->cluster->queue, at_ns, token);
}

static void rows_ready(void *context)
{
    ((struct place *)context)->cluster->rows_ready = true;
}

static bool shows(void *context, uint32_t from, uint32_t to)
{
    const struct net_cluster *cluster = ((const struct place *)context)->cluster;
    return !cluster->is_apart || from + to != CLUSTER_NODES - 1;
}

static struct net_host host_of(struct place *place)
{
    return (struct net_host){
        .context = place,
        .on_row = on_row,
        .shows = shows,
        .on_message = on_message,
        .release = release,
        .now_ns = inproc_now_ns,
        .wake_at = wake_at,
        .wake_first_at = wake_at,
        .rows_ready = rows_ready,
        .on_peer = on_peer,
        .tensor_head = tensor_head,
        .tensor_part = tensor_part,
        .tensor_make = tensor_make,
        .tensor_check = tensor_check,
    };
}

static bool has_certificates(enum net_form form)
{
    return form == NET_FORM_TLS || form == NET_FORM_SHM_TLS || form == NET_FORM_UCX_TLS;
}

enum net_carrier cluster_carrier(const struct net_cluster *cluster)
{
    static const enum net_carrier carriers[] = {
        [NET_FORM_SECRET] = NET_CARRIER_TCP,  [NET_FORM_TLS] = NET_CARRIER_TCP,
        [NET_FORM_SHM] = NET_CARRIER_SHM,     [NET_FORM_SHM_TLS] = NET_CARRIER_SHM,
        [NET_FORM_AUTO] = NET_CARRIER_AUTO,   [NET_FORM_UCX] = NET_CARRIER_UCX,
        [NET_FORM_UCX_TLS] = NET_CARRIER_UCX,
    };
    return carriers[cluster->form];
}

static struct trust *make_trust(const struct net_cluster *cluster, uint32_t node)
{
    char paths[3][PATH_BYTES + 32];
    struct trust *trust;
    (void)snprintf(paths[0], sizeof(paths[0]), "%s/node%u.pem", cluster->folder, node);
    (void)snprintf(paths[1], sizeof(paths[1]), "%s/node%u.key", cluster->folder, node);
    (void)snprintf(
        paths[2], sizeof(paths[2]), "%s/%s", cluster->folder,
        has_certificates(cluster->form) ? "authority.pem" : "secret");
    const struct trust_files tls = {
        .certificate = paths[0], .key = paths[1], .authority = paths[2]};
    const struct trust_files secret = {.secret = paths[2]};
    assert_int_equal(
        trust_create(has_certificates(cluster->form) ? &tls : &secret, &trust, NULL), WEFT_OK);
    return trust;
}

void place_start(struct place *place, const struct net_stream_options *changes)
{
    struct net_cluster *cluster = place->cluster;
    assert_null(place->net);
    place->trust = make_trust(cluster, place->node);
    struct net_stream_options options = {
        .node = place->node,
        .incarnation = place->incarnation,
        .fleet = &cluster->fleet,
        .trust = place->trust,
        .listen = "127.0.0.1:0",
        .agreement = 77,
        .carrier = cluster_carrier(cluster),
        .loop = &place->loop,
        .host = host_of(place),
    };
    if (changes != NULL) {
        options.agreement = changes->agreement;
        options.carrier = changes->carrier;
        options.trust = changes->trust == NULL ? options.trust : changes->trust;
    }
    struct weft_error error;
    assert_int_equal(net_stream_create(&options, &place->net, &error), WEFT_OK);
}

void place_stop(struct place *place)
{
    net_destroy(place->net);
    place->net = NULL;
    (void)uv_run(&place->loop, UV_RUN_DEFAULT);
    trust_destroy(place->trust);
    place->trust = NULL;
    memset(place->is_broken, 0, sizeof(place->is_broken));
    memset(place->is_blocked, 0, sizeof(place->is_blocked));
}

void cluster_address(const struct net_cluster *cluster, uint32_t node, char address_out[32])
{
    (void)snprintf(address_out, 32, "127.0.0.1:%u", net_stream_port(cluster->places[node].net));
}

static void introduce(struct place *place, const struct place *other, const char *address)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "node%u", other->node);
    const struct net_stream_peer peer = {
        .node = other->node, .incarnation = other->incarnation, .address = address, .name = name};
    net_stream_set_peer(place->net, &peer);
}

void cluster_introduce_at(struct net_cluster *cluster, uint32_t node, const char *address)
{
    for (uint32_t i = 0; i < CLUSTER_NODES; i++) {
        if (i != node && cluster->places[i].net != NULL) {
            introduce(&cluster->places[i], &cluster->places[node], address);
        }
    }
}

void cluster_introduce(struct net_cluster *cluster, uint32_t node)
{
    char address[32];
    cluster_address(cluster, node, address);
    cluster_introduce_at(cluster, node, address);
    for (uint32_t i = 0; i < CLUSTER_NODES; i++) {
        if (i != node && cluster->places[i].net != NULL) {
            cluster_address(cluster, i, address);
            introduce(&cluster->places[node], &cluster->places[i], address);
        }
    }
}

static void write_files(struct net_cluster *cluster)
{
    char path[PATH_BYTES + 32];
    char key[PATH_BYTES + 32];
    (void)snprintf(path, sizeof(path), "%s/secret", cluster->folder);
    FILE *file = fopen(path, "wb");
    assert_true(file != NULL && fputs("a secret of this cluster", file) >= 0 && fclose(file) == 0);
    (void)snprintf(path, sizeof(path), "%s/authority.pem", cluster->folder);
    struct authority *authority = authority_create(path);
    for (uint32_t i = 0; i < CLUSTER_NODES; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "node%u", i);
        (void)snprintf(path, sizeof(path), "%s/%s.pem", cluster->folder, name);
        (void)snprintf(key, sizeof(key), "%s/%s.key", cluster->folder, name);
        authority_sign(authority, name, path, key);
    }
    authority_destroy(authority);
}

void cluster_open(struct net_cluster *cluster, enum net_form form)
{
    memset(cluster, 0, sizeof(*cluster));
    cluster->form = form;
    cluster->fleet = (struct fleet){
        .node_count = CLUSTER_NODES,
        .worker_count = CLUSTER_WORKERS,
        .nodes = nodes,
        .workers = workers,
    };
    event_queue_init(&cluster->queue);
    for (uint32_t i = 0; i < CLUSTER_NODES; i++) {
        struct place *place = &cluster->places[i];
        place->cluster = cluster;
        place->node = i;
        place->incarnation = 1;
        assert_int_equal(uv_loop_init(&place->loop), 0);
    }
    if (form == NET_FORM_INPROC) {
        const struct net_inproc_options options = {
            .node_count = CLUSTER_NODES,
            .worker_count = CLUSTER_WORKERS,
            .host = host_of(&cluster->places[0]),
        };
        cluster->places[0].net = net_inproc_create(&options);
        return;
    }
    (void)snprintf(cluster->folder, sizeof(cluster->folder), "/tmp/weft-nets-XXXXXX");
    assert_non_null(mkdtemp(cluster->folder));
    write_files(cluster);
    for (uint32_t i = 0; i < CLUSTER_NODES; i++) {
        place_start(&cluster->places[i], NULL);
    }
    for (uint32_t i = 0; i < CLUSTER_NODES; i++) {
        cluster_introduce(cluster, i);
    }
    cluster_settle(cluster);
}

static void remove_files(const struct net_cluster *cluster)
{
    static const char *const names[] = {"secret",    "authority.pem", "node0.pem", "node1.pem",
                                        "node2.pem", "node0.key",     "node1.key", "node2.key"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[PATH_BYTES + 32];
        (void)snprintf(path, sizeof(path), "%s/%s", cluster->folder, names[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(cluster->folder), 0);
}

void cluster_close(struct net_cluster *cluster)
{
    for (uint32_t i = 0; i < CLUSTER_NODES; i++) {
        struct place *place = &cluster->places[i];
        if (place->net != NULL) {
            place_stop(place);
        }
        for (uint32_t t = 0; t < PLACE_TENSORS_MAX; t++) {
            if (place->tensors[t].is_used) {
                release(place, t + 1);
            }
        }
        (void)uv_run(&place->loop, UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&place->loop), 0);
    }
    event_queue_deinit(&cluster->queue);
    if (cluster->folder[0] != '\0') {
        remove_files(cluster);
    }
}

/* One look at everything. */
static void run_once(struct net_cluster *cluster)
{
    struct timed_item item;
    while (event_queue_pop(&cluster->queue, &item)) {
        net_wake(cluster->places[0].net, item.payload);
    }
    if (cluster->rows_ready) {
        cluster->rows_ready = false;
        net_flush_rows(cluster->places[0].net);
    }
    for (uint32_t i = 0; i < CLUSTER_NODES; i++) {
        if (!cluster->places[i].is_stopped) {
            (void)uv_run(&cluster->places[i].loop, UV_RUN_NOWAIT);
        }
    }
}

bool cluster_run(struct net_cluster *cluster, bool (*is_done)(struct net_cluster *cluster))
{
    for (uint32_t i = 0; i < ROUNDS_MAX; i++) {
        run_once(cluster);
        if (is_done(cluster)) {
            return true;
        }
        (void)usleep(i % 16 == 0 ? ROUND_US : 0);
    }
    return false;
}

static bool is_settled(struct net_cluster *cluster)
{
    for (uint32_t i = 0; i < CLUSTER_NODES; i++) {
        for (uint32_t k = 0; k < CLUSTER_NODES; k++) {
            if (cluster->places[i].is_broken[k]) {
                return false;
            }
        }
    }
    return true;
}

void cluster_settle(struct net_cluster *cluster)
{
    if (cluster->form != NET_FORM_INPROC) {
        run_once(cluster); /* At first no node has said that another is broken. */
        run_once(cluster);
    }
    assert_true(cluster_run(cluster, is_settled));
}

void cluster_run_ms(struct net_cluster *cluster, uint32_t ms)
{
    const uint64_t until_ns = uv_hrtime() + (uint64_t)ms * 1000000;
    while (uv_hrtime() < until_ns) {
        run_once(cluster);
        (void)usleep(ROUND_US);
    }
}

struct place *cluster_table(struct net_cluster *cluster, uint32_t node)
{
    return &cluster->places[cluster->form == NET_FORM_INPROC ? 0 : node];
}

void cluster_send(
    struct net_cluster *cluster, uint32_t from, uint32_t to, const struct message *message,
    uint64_t tensor)
{
    cluster->in_operation = true;
    net_send(cluster_table(cluster, from)->net, to, message, tensor);
    cluster->in_operation = false;
}

/*
 * What a part holds repeats after a prime number of bytes, so that no piece that a net may cut has
 * the length of a period, and whole parts are made and compared at the speed of memory: loops over
 * bytes took most of the time under the sanitizers.
 */
enum { PERIOD_BYTES = 4093 };

static uint8_t byte_at(uint32_t seed, uint32_t part, uint64_t index)
{
    return (uint8_t)((index * 2654435761U >> 13) + index + seed * 31U + part * 7U);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t cluster_tensor(
    struct net_cluster *cluster, uint32_t node, uint32_t part_count, const uint64_t *bytes,
    uint32_t seed)
{
    struct place *place = cluster_table(cluster, node);
    const uint64_t tensor = take_tensor(place);
    struct made_tensor *made = &place->tensors[tensor - 1];
    made->part_count = part_count;
    for (uint32_t i = 0; i < part_count; i++) {
        uint8_t *data = malloc(bytes[i] + 1);
        for (uint64_t k = 0; k < least(bytes[i], PERIOD_BYTES); k++) {
            data[k] = byte_at(seed, i, k);
        }
        for (uint64_t k = PERIOD_BYTES; k < bytes[i]; k += PERIOD_BYTES) {
            memcpy(data + k, data, least(bytes[i] - k, PERIOD_BYTES));
        }
        made->parts[i] = (struct net_part){.data = data, .bytes = bytes[i]};
    }
    return tensor;
}

bool cluster_tensor_is(
    struct net_cluster *cluster, uint32_t node, uint64_t tensor, uint32_t part_count,
    const uint64_t *bytes, uint32_t seed)
{
    const struct made_tensor *made = &cluster_table(cluster, node)->tensors[tensor - 1];
    bool is_same = tensor != 0 && made->is_used && made->part_count == part_count;
    for (uint32_t i = 0; is_same && i < part_count; i++) {
        const uint8_t *data = made->parts[i].data;
        is_same = made->parts[i].bytes == bytes[i];
        for (uint64_t k = 0; is_same && k < least(bytes[i], PERIOD_BYTES); k++) {
            is_same = data[k] == byte_at(seed, i, k);
        }
        if (is_same && bytes[i] > PERIOD_BYTES) {
            is_same = memcmp(data, data + PERIOD_BYTES, bytes[i] - PERIOD_BYTES) == 0;
        }
    }
    return is_same;
}

void cluster_release(struct net_cluster *cluster, uint32_t node, uint64_t tensor)
{
    release(cluster_table(cluster, node), tensor);
}
