/*
 * Editions of a repository: who serves which, and that the tasks of a job run as it names it.
 *
 * Covers: src/view/editions.c src/node/dispatch.c src/node/claims.c src/node/grants.c
 *         src/node/keys.c src/node/routing.c src/node/inspect.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lone_claim.h"
#include "node/keys.h"
#include "node/keys_table.h"
#include "view/editions.h"

enum { OLD = 4, NEW = 5 };

static void take_all(
    const struct policy_input *input, const struct queue_facts *queue,
    struct dispatch_answer *answer_out)
{
    (void)input;
    *answer_out = (struct dispatch_answer){.count = 1, .configs = {{.batch = queue->items}}};
}

static const struct policy batching = {.name = "batching", .dispatch = take_all};

static struct job_id job_of(uint32_t edition, uint64_t count)
{
    return (struct job_id){.node = 1, .number = job_number(edition, count)};
}

static void a_number_has_an_edition_and_a_count(void **state)
{
    (void)state;
    const struct job_id job = {.number = job_number(0xabcdef, 12345)};
    assert_int_equal(job_edition(job), 0xabcdef);
    assert_int_equal(job_count(job), 12345);
    assert_int_equal(job_edition((struct job_id){.number = 7}), 0);
}

static void editions_of_two_nodes_have_different_numbers(void **state)
{
    (void)state;
    const uint32_t first = edition_next(0, 3);
    const uint32_t second = edition_next(0, 200);
    assert_true(first > 0 && second > 0 && first != second);
    assert_true(edition_next(first, 0) > second);
    assert_int_equal(edition_next(UINT32_C(0xffff00), 1), 0); /* The last. */
}

static void an_edition_is_served_when_every_member_holds_it(void **state)
{
    (void)state;
    struct edition_said self = {.newest = NEW, .held = NEW, .serves = OLD, .oldest = OLD};
    struct edition_said others[] = {self, self};
    assert_int_equal(editions_to_serve(&self, others, 2), NEW);
    others[1].held = OLD;
    assert_int_equal(editions_to_serve(&self, others, 2), OLD);
    others[1].held = NEW;
    others[0].newest = NEW + 1; /* It has heard of a later one. */
    assert_int_equal(editions_newest(&self, others, 2), NEW + 1);
    assert_int_equal(editions_to_serve(&self, others, 2), OLD);
    self.held = OLD;
    assert_int_equal(editions_to_serve(&self, others, 0), OLD);
}

static void an_edition_is_kept_while_a_member_serves_or_names_it(void **state)
{
    (void)state;
    const struct edition_said self = {.newest = NEW, .held = NEW, .serves = NEW, .oldest = NEW};
    struct edition_said others[] = {self, self};
    assert_int_equal(editions_oldest(&self, others, 2), NEW);
    others[1].oldest = OLD;
    assert_int_equal(editions_oldest(&self, others, 2), OLD);
    others[1] = (struct edition_said){.newest = NEW, .held = NEW, .serves = OLD, .oldest = NEW};
    assert_int_equal(editions_oldest(&self, others, 2), OLD);
}

static void give_input(struct lone *lone, struct job_id job)
{
    const struct message input = lone_message(lone, MESSAGE_INPUT, job, FLOW_A, 0);
    lone_deliver(lone, &input);
}

static void jobs_of_two_editions_do_not_share_a_batch(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = &batching});
    lone_editions(&lone, OLD, NEW);
    give_input(&lone, job_of(OLD, 1));
    give_input(&lone, job_of(OLD, 2));
    give_input(&lone, job_of(NEW, 3));
    give_input(&lone, job_of(NEW, 4));
    lone_load_done(&lone, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.task_count, 2);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.items, 2);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.edition, OLD);
    lone_batch_done(&lone, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.task_count, 2);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.edition, NEW);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void what_a_node_cannot_run_goes_back_to_its_owner(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_editions(&lone, OLD, NEW);
    give_input(&lone, job_of(NEW + 1, 1));
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_FAILED)->reason, REASON_EDITION);
    assert_false(lone_is_asked(&lone, EFFECT_LAUNCH));
    assert_false(lone_is_asked(&lone, EFFECT_LOAD));
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void an_owner_places_again_what_another_node_cannot_run(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){0});
    lone_editions(&lone, OLD, NEW);
    lone.edition = NEW;
    lone_plan(1, 1, 1, 1);
    const struct job_id job = lone_request(&lone, FLOW_F);
    assert_int_equal(job_edition(job), NEW);
    assert_int_equal(job_edition(lone_sent(&lone, 1, MESSAGE_INPUT)->job), NEW);
    assert_int_equal(node_oldest_edition(lone.node), NEW);
    struct message failed = lone_message(&lone, MESSAGE_FAILED, job, FLOW_F, 0);
    failed.reason = REASON_EDITION;
    failed.from = 1;
    failed.worker = 1;
    lone_plan(0, 0, 0, 0);
    lone_deliver(&lone, &failed);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.edition, NEW);
    lone_settle(&lone);
    assert_int_equal(lone_find(&lone, EFFECT_ANSWER)->answer.status, WEFT_OK);
    assert_int_equal(node_oldest_edition(lone.node), UINT32_MAX);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_claim_for_an_edition_that_is_not_here_is_declined(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = policy_find("first-fit")});
    lone_editions(&lone, OLD, NEW);
    const struct message claim = claim_of(&lone, job_of(NEW + 1, 1), FLOW_A, 0, 1);
    lone_deliver(&lone, &claim);
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_DECLINE)->outcome.reason, REASON_EDITION);
    assert_int_equal(lone.pools.grants.used, 0);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

static void a_claim_that_mixes_editions_is_granted_for_the_first(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = policy_find("first-fit")});
    lone_editions(&lone, OLD, NEW);
    const struct message first = claim_of(&lone, job_of(OLD, 1), FLOW_A, 0, 2);
    const struct message second = claim_of(&lone, job_of(NEW, 2), FLOW_A, 1, 2);
    lone_deliver(&lone, &first);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_PULL), 1);
    lone_deliver(&lone, &second);
    assert_int_equal(lone_sent_count(&lone, 2, MESSAGE_PULL), 0);
    struct message input = lone_message(&lone, MESSAGE_INPUT, job_of(OLD, 1), FLOW_A, 0);
    input.work.settled = true;
    lone_deliver(&lone, &input);
    lone_load_done(&lone, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.task_count, 1);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.edition, OLD);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* It was on a slow link, and its job has ended meanwhile. */
static void what_was_claimed_and_comes_after_its_edition_has_gone_fails(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.policy = policy_find("first-fit")});
    lone_editions(&lone, OLD, NEW);
    const struct message claim = claim_of(&lone, job_of(OLD, 1), FLOW_A, 0, 1);
    lone_deliver(&lone, &claim);
    lone_load_done(&lone, WEFT_OK);
    lone_editions(&lone, NEW, NEW);
    struct message input = lone_message(&lone, MESSAGE_INPUT, job_of(OLD, 1), FLOW_A, 0);
    input.work.settled = true;
    lone_deliver(&lone, &input);
    assert_false(lone_is_asked(&lone, EFFECT_LAUNCH));
    assert_int_equal(lone_sent(&lone, 1, MESSAGE_FAILED)->reason, REASON_EDITION);
    lone_settle(&lone);
    assert_true(lone_is_empty(&lone));
    lone_close(&lone);
}

/* A request with a key is taken over under the edition that its owner accepted it under. */
static void a_deputy_goes_on_with_the_edition_of_the_owner(void **state)
{
    (void)state;
    struct lone lone;
    lone_open(&lone, &(struct lone_options){.has_deputies = true});
    lone_editions(&lone, NEW, OLD);
    lone.edition = NEW; /* This node serves the next one already. */
    struct message told = lone_message(&lone, MESSAGE_DEPUTE, job_of(OLD, 9), FLOW_A, 0);
    told.deputy =
        (struct message_deputy){.key = {{1, 2}}, .items = 1, .left_ns = INT64_MAX, .bytes = MB(1)};
    lone_deliver(&lone, &told);
    assert_int_equal(lone_sent_count(&lone, 1, MESSAGE_DEPUTED), 1);
    assert_int_equal(node_oldest_edition(lone.node), OLD);
    lone_members(&lone, 2, /* all but 1 and 2 */ 1, 0);
    (void)lone_timer(&lone, TIMER_REPAIR);
    const uint32_t slot = keys_find(lone.node, told.deputy.key);
    assert_int_equal(keyed_at(lone.node, slot)->state, KEYED_OWNED);
    assert_int_equal(job_edition(keyed_at(lone.node, slot)->job), OLD);
    lone_load_done(&lone, WEFT_OK);
    assert_int_equal(lone_find(&lone, EFFECT_LAUNCH)->launch.edition, OLD);
    lone_settle(&lone);
    assert_int_equal(node_oldest_edition(lone.node), UINT32_MAX); /* Only its answer is kept. */
    lone_close(&lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_has_an_edition_and_a_count),
        cmocka_unit_test(editions_of_two_nodes_have_different_numbers),
        cmocka_unit_test(an_edition_is_served_when_every_member_holds_it),
        cmocka_unit_test(an_edition_is_kept_while_a_member_serves_or_names_it),
        cmocka_unit_test(jobs_of_two_editions_do_not_share_a_batch),
        cmocka_unit_test(what_a_node_cannot_run_goes_back_to_its_owner),
        cmocka_unit_test(an_owner_places_again_what_another_node_cannot_run),
        cmocka_unit_test(a_claim_for_an_edition_that_is_not_here_is_declined),
        cmocka_unit_test(a_claim_that_mixes_editions_is_granted_for_the_first),
        cmocka_unit_test(what_was_claimed_and_comes_after_its_edition_has_gone_fails),
        cmocka_unit_test(a_deputy_goes_on_with_the_edition_of_the_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
