/*
 * editions.c - new versions of models, which nodes tell each other of through the directory.
 *
 * What a node says is in the directory at once, and the others look there every now and then. To
 * get the files takes each of them another time. When all have them, view/editions.h says who goes
 * on when. Every edition replaces one model, which is then loaded again wherever it is in memory.
 */
#include "view/editions.h"
#include "sim/editions.h"

#include "base/numbers.h"
#include "sim/inside.h"

#define LOOK_NS (100 * NS_PER_MS) /* Between two looks of a node at the directory. */

/* What a node has of them. */
struct held_editions {
    struct edition_said said; /* As the directory has it. */
    uint32_t held[EDITIONS_MAX];
    uint32_t count;
    int64_t fetch_ns;  /* How long it takes to get the newest. */
    int64_t has_it_ns; /* When it will be there. */
    bool looks;        /* A look is due. */
};

struct sim_editions {
    struct held_editions *nodes;
    struct edition_said *list; /* What others say, while a node looks. */
    struct map made;           /* By live tensor: editions_made(). */
};

void editions_deinit(struct sim *sim)
{
    if (sim->editions != NULL) {
        map_deinit(&sim->editions->made);
    }
}

uint32_t editions_served(const struct sim *sim, uint32_t node)
{
    return sim->editions == NULL ? 0 : sim->editions->nodes[node].said.serves;
}

static void look_later(struct sim *sim, uint32_t node, int64_t after_ns)
{
    struct held_editions *own = &sim->editions->nodes[node];
    if (!own->looks) {
        own->looks = true;
        schedule(sim, sim->now_ns + after_ns, payload_of(TIMED_EDITION, 0, node, 0));
    }
}

/* What all other members say. Returns how many. */
static uint32_t list(const struct sim *sim, uint32_t node, struct edition_said *said)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sim->options.fleet->node_count; i++) {
        if (i != node && members_is_up(sim->members, i)) {
            said[count++] = sim->editions->nodes[i].said;
        }
    }
    return count;
}

static bool holds(const struct held_editions *own, uint32_t edition)
{
    bool is_held = false;
    for (uint32_t i = 0; i < own->count; i++) {
        is_held = is_held || own->held[i] == edition;
    }
    return is_held;
}

static void hold(struct held_editions *own, uint32_t edition)
{
    if (!holds(own, edition)) {
        ASSERT(own->count < EDITIONS_MAX); /* Scripts keep to that. */
        own->held[own->count++] = edition;
    }
}

/* Tell the node of @node what it can run. */
static void tell(struct sim *sim, uint32_t node)
{
    const struct held_editions *own = &sim->editions->nodes[node];
    struct event event = {.kind = EVENT_EDITIONS};
    event.held.count = own->count;
    event.held.editions = own->held;
    sim_step(sim, node, &event);
}

/* And that the model which @edition replaces is another from now on. */
static void tell_change(struct sim *sim, uint32_t node, uint32_t edition)
{
    struct event change = {.kind = EVENT_REPOSITORY_CHANGED};
    change.repository.model = edition % sim->options.catalogue->model_count;
    change.repository.available = true;
    tell(sim, node);
    sim_step(sim, node, &change);
}

void editions_init(struct sim *sim)
{
    const uint32_t node_count = sim->options.fleet->node_count;
    bool has_any = false;
    for (uint32_t i = 0; i < sim->fault_count; i++) {
        has_any = has_any || sim->fault_list[i].kind == FAULT_VERSION;
    }
    if (!has_any) {
        return;
    }
    sim->editions = arena_alloc(&sim->arena, sizeof(*sim->editions));
    sim->editions->nodes = arena_alloc(&sim->arena, node_count * sizeof(struct held_editions));
    sim->editions->list = arena_alloc(&sim->arena, node_count * sizeof(struct edition_said));
    map_init(&sim->editions->made, 16);
    for (uint32_t i = 0; i < node_count; i++) {
        sim->editions->nodes[i] = (struct held_editions){.count = 1}; /* Edition 0. */
        tell(sim, i);
    }
}

/* Drop what no job names. */
static void drop(struct sim *sim, uint32_t node, uint32_t oldest)
{
    struct held_editions *own = &sim->editions->nodes[node];
    uint32_t kept = 0;
    uint32_t dropped = UINT32_MAX;
    for (uint32_t i = 0; i < own->count; i++) {
        if (own->held[i] >= oldest || own->held[i] == own->said.serves) {
            own->held[kept++] = own->held[i];
        } else {
            dropped = own->held[i];
        }
    }
    own->count = kept;
    if (dropped != UINT32_MAX) {
        tell_change(sim, node, dropped);
    }
}

void editions_begin(struct sim *sim, uint32_t node, int64_t for_ns)
{
    const uint32_t node_count = sim->options.fleet->node_count;
    struct edition_said *said = sim->editions->list;
    struct held_editions *own = &sim->editions->nodes[node];
    if (sim->nodes[node].node == NULL || own->count == EDITIONS_MAX) {
        return;
    }
    const uint32_t count = list(sim, node, said);
    own->said.newest = edition_next(editions_newest(&own->said, said, count), node);
    own->has_it_ns = sim->now_ns;
    for (uint32_t i = 0; i < node_count; i++) {
        sim->editions->nodes[i].fetch_ns = for_ns / node_count * (i + 1);
        look_later(sim, i, i == node ? 0 : LOOK_NS);
    }
}

/* Whether the directory can be reached from @node. */
static bool can_look(const struct sim *sim, uint32_t node)
{
    return sim->nodes[node].cuts == 0 && sim->directory_away_until_ns <= sim->now_ns;
}

static bool is_settled(
    const struct held_editions *own, const struct edition_said *said, uint32_t count)
{
    bool is_alike = own->count == 1;
    for (uint32_t i = 0; i <= count; i++) {
        const struct edition_said *one = i == count ? &own->said : &said[i];
        is_alike = is_alike && one->held == own->said.newest && one->serves == one->held &&
                   one->oldest == one->held && one->newest == one->held;
    }
    return is_alike;
}

/* What one member accepts jobs under, all can run: see view/editions.h. */
static void check_served(const struct sim *sim, uint32_t edition)
{
    for (uint32_t i = 0; i < sim->options.fleet->node_count; i++) {
        ASSERT(
            !members_is_up(sim->members, i) || sim->nodes[i].node == NULL ||
            holds(&sim->editions->nodes[i], edition));
    }
}

void editions_look(struct sim *sim, uint32_t node)
{
    struct edition_said *said = sim->editions->list;
    struct held_editions *own = &sim->editions->nodes[node];
    own->looks = false;
    if (sim->nodes[node].node == NULL || !sim_is_awaited(sim)) {
        return; /* It looks when it comes back; and no client is left to see it. */
    }
    if (!can_look(sim, node)) {
        look_later(sim, node, LOOK_NS);
        return;
    }
    const uint32_t count = list(sim, node, said);
    const uint32_t newest = editions_newest(&own->said, said, count);
    if (newest != own->said.newest) {
        own->said.newest = newest;
        own->has_it_ns = sim->now_ns + own->fetch_ns;
    }
    if (own->said.held != newest && own->has_it_ns <= sim->now_ns && own->count < EDITIONS_MAX) {
        hold(own, newest);
        own->said.held = newest;
        tell_change(sim, node, newest);
    }
    const uint32_t before = own->said.serves;
    own->said.serves = editions_to_serve(&own->said, said, count);
    if (sim->options.check && own->said.serves != before) {
        check_served(sim, own->said.serves);
    }
    own->said.oldest = min_u32(own->said.serves, node_oldest_edition(sim->nodes[node].node));
    drop(sim, node, editions_oldest(&own->said, said, count));
    if (!is_settled(own, said, count)) {
        look_later(sim, node, LOOK_NS);
    }
}

void editions_join(struct sim *sim, uint32_t node)
{
    if (sim->editions == NULL) {
        return;
    }
    struct edition_said *said = sim->editions->list;
    struct held_editions *own = &sim->editions->nodes[node];
    const uint32_t count = list(sim, node, said);
    const uint32_t newest = editions_newest(&own->said, said, count);
    own->said.newest = newest;
    own->said.held = newest;
    own->count = 0;
    hold(own, newest);
    uint32_t serves = count == 0 ? newest : 0;
    for (uint32_t i = 0; i < count && own->count < EDITIONS_MAX; i++) {
        hold(own, said[i].serves);
        serves = max_u32(serves, said[i].serves);
    }
    own->said.serves = serves;
    own->said.oldest = serves;
    tell_change(sim, node, newest);
    look_later(sim, node, LOOK_NS);
}

uint32_t editions_made(const struct sim *sim, struct handle tensor)
{
    const uint32_t made = sim->editions == NULL || !sim->options.check
                              ? MAP_NONE
                              : map_get(&sim->editions->made, tensor.id);
    return made == MAP_NONE ? 0 : made;
}

void editions_note(struct sim *sim, struct handle tensor, uint32_t made)
{
    if (sim->editions != NULL && sim->options.check && made != 0) {
        (void)map_reserve(&sim->editions->made, 1);
        map_put(&sim->editions->made, tensor.id, made);
    }
}

void editions_forget(struct sim *sim, struct handle tensor)
{
    if (sim->editions != NULL) {
        (void)map_remove(&sim->editions->made, tensor.id);
    }
}

void editions_check_launch(const struct sim *sim, uint32_t node, const struct effect_launch *launch)
{
    const struct node *host = sim->nodes[node].node;
    if (sim->editions == NULL) {
        return;
    }
    ASSERT(holds(&sim->editions->nodes[node], launch->edition));
    for (uint32_t i = 0; i < launch->task_count; i++) {
        const struct batch_task task = node_batch_task(host, launch->batch, i);
        ASSERT(job_edition(task.job) == launch->edition);
        for (uint32_t input = 0; input < task.input_count; input++) {
            const uint32_t made =
                editions_made(sim, node_batch_input(host, launch->batch, i, input));
            ASSERT(made == 0 || made == launch->edition + 1); /* A request's, or of its own. */
        }
    }
}

void editions_check_answer(const struct sim *sim, const struct effect_answer *answer)
{
    for (uint32_t i = 1; i < answer->output_count; i++) {
        ASSERT(editions_made(sim, answer->outputs[i]) == editions_made(sim, answer->outputs[0]));
    }
}
