/* perform.c - what becomes of a node's effects in virtual time. */
#include "base/numbers.h"
#include "sim/editions.h"
#include "sim/inside.h"
#include "sim/retries.h"

static void finish_client(struct sim *sim, uint32_t node, const struct effect_answer *answer)
{
    const struct client *client = pool_at(&sim->clients, (uint32_t)answer->client);
    editions_check_answer(sim, answer);
    ASSERT(
        client->job.node == node); /* Answered by its owner, once: the slot is free after this. */
    if (!sim->options.has_deputies || !retries_answered(sim, (uint32_t)answer->client, answer)) {
        pool_give(&sim->clients, (uint32_t)answer->client);
        sim->answered++;
    }
    for (uint32_t i = 0; i < answer->output_count && !answer->is_kept; i++) {
        sim_drop_tensor(sim, node, answer->outputs[i]); /* The client has it. */
    }
}

static void publish(struct sim *sim, uint32_t node, const struct row *row)
{
    const uint32_t shown_count = node_shown_count(sim->nodes[node].node);
    sim->row_messages += shown_count;
    sim->cache_messages += (row->parts & ROW_CACHE) != 0 ? shown_count : 0;
    const bool newer = board_publish(&sim->board, row);
    ASSERT(newer); /* Rows only move forward. */
}

static void wake(struct sim *sim, uint32_t node, int64_t at_ns, const struct timer *timer)
{
    const uint32_t subject = timer->worker == WORKER_NONE ? PAYLOAD_SMALL_MAX : timer->worker;
    const uint64_t payload = payload_of(
        TIMED_TIMER, sim->nodes[node].incarnation, subject, node << 8 | (uint32_t)timer->kind);
    sim->nodes[node].timers++;
    sim->nodes[node].idle_timers += is_idle_timer(timer->kind) ? 1 : 0;
    schedule(sim, max_i64(at_ns, sim->now_ns), payload);
    sim->ticks += timer_is_background(timer->kind) ? 1 : 0;
}

static void send(struct sim *sim, uint32_t node, const struct effect *effect)
{
    const uint32_t life = effect->send.message.to_incarnation;
    if (sim->fault_count > 0 && faults_swallow(sim, node, effect->send.node, life)) {
        return;
    }
    network_send(sim, node, effect->send.node, &effect->send.message, effect->send.tensor);
}

static void perform(struct sim *sim, uint32_t node, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_ACCEPT: {
        struct client *client = pool_at(&sim->clients, (uint32_t)effect->accept.client);
        ASSERT(client->job.node == effect->accept.job.node);
        client->job = effect->accept.job;
        if (sim->options.has_deputies) {
            retries_accepted(
                sim, (uint32_t)effect->accept.client, effect->accept.job, effect->accept.deputy);
        }
        return;
    }
    case EFFECT_REFUSE:
    case EFFECT_ANSWER:
        finish_client(sim, node, &effect->answer);
        return;
    case EFFECT_SEND:
    case EFFECT_MOVE:
        send(sim, node, effect);
        return;
    case EFFECT_RELEASE:
        sim_drop_tensor(sim, node, effect->release);
        return;
    case EFFECT_LOAD:
        device_load(sim, effect->load.worker, effect->load.model);
        return;
    case EFFECT_CANCEL_LOAD:
        device_cancel_load(sim, effect->load.worker, effect->load.model);
        return;
    case EFFECT_UNLOAD:
        device_unload(sim, effect->load.worker, effect->load.model);
        return;
    case EFFECT_RESHAPE:
        device_reshape(sim, effect->reshape.worker, effect->reshape.share);
        return;
    case EFFECT_LAUNCH:
        device_launch(sim, node, &effect->launch);
        return;
    case EFFECT_CANCEL_BATCH:
        device_cancel(sim, effect->batch);
        return;
    case EFFECT_WAKE_AT:
        wake(sim, node, effect->wake.at_ns, &effect->wake.timer);
        return;
    case EFFECT_SOLVE:
        searches_start(sim, node, effect->solve.problem, effect->solve.question);
        return;
    case EFFECT_FIND:
        network_find(sim, node, effect->find.job, effect->find.asker);
        return;
    case EFFECT_KINDS:
        break;
    }
    ASSERT(false);
}

void sim_perform(struct sim *sim, uint32_t node)
{
    for (uint32_t i = 0; i < sim->effects.record_count; i++) {
        sim_record(sim, &sim->effects.records[i]);
    }
    for (uint32_t i = 0; i < sim->effects.row_count; i++) {
        publish(sim, node, sim->effects.rows[i]);
    }
    for (uint32_t i = 0; i < sim->effects.count; i++) {
        perform(sim, node, &sim->effects.items[i]);
    }
}
