/*
 * esg_order.h - what esg decides of a task or of a worker's own queue, for those who go by it.
 */
#ifndef POLICY_ESG_ORDER_H
#define POLICY_ESG_ORDER_H

#include "base/numbers.h"
#include "policy/esg_plan.h"
#include "policy/policy.h"

/* The key of @task: when its group is due; if its job cannot be in time, one deadline later. */
int64_t esg_order(const struct policy_input *input, const struct ready_facts *task);

/* A batch runs what is there, even if it was planned for more. */
static inline struct config esg_cut(struct config config, uint32_t items)
{
    config.batch = min_u32(config.batch, items);
    return config;
}

/* @queue, whose inputs are there, as plans see it that count their way: that much later. */
struct queue_facts esg_with_inputs(const struct queue_facts *queue, const struct esg_queue *known);

/*
 * Configs for a worker's own queue, of those measured on its device. @queue is as plans see it, and
 * its head shall end within @end_ns if that can be, or else in time; or, if it @hurries, as soon as
 * it can.
 */
void esg_dispatch_own(
    const struct policy_input *input, const struct queue_facts *queue, int64_t end_ns, bool hurries,
    struct dispatch_answer *answer_out);

#endif /* POLICY_ESG_ORDER_H */
