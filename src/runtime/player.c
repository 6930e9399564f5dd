#include "runtime/player.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/memory.h"
#include "model/catalogue.h"

struct played;

struct player {
    struct player_options options;
    struct arrival_stream stream;
    struct arrival next;
    bool more;  /* The next one will come. */
    bool ended; /* And has been told of. */
    struct player_counts counts;
    struct list waiting; /* All that have not been answered. */
};

/* One request, until it is answered or the player is released. */
struct played {
    struct player *player;
    struct list_link link;
    uint32_t workflow;
    uint32_t number;
};

static void play(void *context);
static void schedule_next(void *context);

static void check_end(struct player *player)
{
    if (player->more || player->ended || player->counts.answered < player->counts.arrived) {
        return;
    }
    player->ended = true;
    if (player->options.ended != NULL) {
        player->options.ended(player->options.context);
    }
}

static void schedule(struct player *player)
{
    const struct player_options *options = &player->options;
    player->more = (options->jobs == 0 || player->counts.arrived < options->jobs) &&
                   arrival_stream_next(&player->stream, &player->next) &&
                   (options->until_ns == 0 || player->next.at_ns <= options->until_ns);
    if (player->more) {
        runtime_call_at(options->runtime, player->next.at_ns, /* background */ false, play, player);
        runtime_call_at(
            options->runtime, player->next.at_ns, /* background */ false, schedule_next, player);
    }
}

static struct played *note(struct player *player, uint32_t workflow)
{
    struct played *played = memory_zeroed(1, sizeof(*played));
    *played = (struct played){.player = player, .workflow = workflow};
    list_push_front(&player->waiting, &played->link);
    return played;
}

static void forget(struct player *player, struct played *played)
{
    list_remove(&player->waiting, &played->link);
    ASSERT(player->waiting.first != &played->link);
    free(played);
}

static void answered(void *context, const struct runtime_answer *answer)
{
    struct played *played = context;
    struct player *player = played->player;
    if (player->options.on_answer != NULL) {
        player->options.on_answer(
            player->options.inputs_context, player->options.runtime, played->workflow,
            played->number, answer);
    }
    forget(player, played);
    player->counts.answered++;
    player->counts.failed += answer->status != WEFT_OK ? 1 : 0;
    for (uint32_t i = 0; i < answer->output_count; i++) {
        runtime_release(player->options.runtime, answer->outputs[i]);
    }
    check_end(player);
}

static struct handle make_inputs(
    const struct player_options *options, const struct arrival *arrival, uint32_t *number_out)
{
    if (options->make_inputs != NULL) {
        return options->make_inputs(
            options->inputs_context, options->runtime, arrival->workflow, arrival->items,
            number_out);
    }
    const uint64_t bytes = options->catalogue->workflows[arrival->workflow]->input_bytes;
    return runtime_tensor(options->runtime, NULL, bytes, NULL);
}

/* The key of the next request: that of the simulator. */
static struct request_key key_of(const struct player *player)
{
    const uint64_t number = player->counts.arrived;
    return player->options.has_keys
               ? (struct request_key){{hash_mix(player->options.seed, number), number + 1}}
               : (struct request_key){{0}};
}

static void play(void *context)
{
    struct player *player = context;
    const struct player_options *options = &player->options;
    if (!player->more) {
        return; /* Stopped meanwhile. */
    }
    const struct arrival arrival = player->next;
    struct played *played = note(player, arrival.workflow);
    const struct runtime_request request = {
        .workflow = arrival.workflow,
        .items = arrival.items,
        .slo_ns = arrival_deadline_ns(options->arrivals, &arrival),
        .inputs = make_inputs(options, &arrival, &played->number),
        .key = key_of(player),
        .inputs_hash = key_of(player).words[0],
        .answered = answered,
        .context = played,
    };
    player->counts.arrived++;
    (void)runtime_request(options->runtime, NODE_NONE, &request);
}

/* A node has seen the last request by now: the order is that of the simulator. */
static void schedule_next(void *context)
{
    struct player *player = context;
    if (player->more) {
        schedule(player);
        check_end(player);
    }
}

struct player *player_create(const struct player_options *options)
{
    struct player *player = memory_zeroed(1, sizeof(*player));
    player->options = *options;
    arrival_stream_init(&player->stream, options->arrivals, options->catalogue, options->seed);
    schedule(player);
    return player;
}

void player_destroy(struct player *player)
{
    while (player != NULL && player->waiting.first != NULL) {
        forget(player, LIST_ITEM(player->waiting.first, struct played, link));
    }
    free(player);
}

void player_stop(struct player *player)
{
    player->more = false;
    check_end(player);
}

struct player_counts player_counts(const struct player *player)
{
    return player->counts;
}
