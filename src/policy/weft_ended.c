#include "policy/weft_ended.h"

#include "configs/configs.h"
#include "policy/weft_home.h"

/* How long @ended was to run, beside whatever else ran on its device. */
static int64_t planned_ns(const struct policy_input *input, const struct ended_facts *ended)
{
    const struct fleet *fleet = input->view->fleet;
    const struct weft_plan *plan = input->plan;
    const uint32_t device = fleet->workers[ended->worker].device;
    const uint32_t model = input->catalogue->workflows[ended->workflow]->tasks[ended->task].run;
    const struct estimate planned =
        profile_run(input->profile, model, device, ended->items, ended->config);
    return configs_beside_ns(
        fleet, plan->sharers[device], ended->config.gpu, planned.run_ns, planned.interference);
}

void weft_ended_home(const struct policy_input *input, const struct ended_facts *ended)
{
    struct weft_state *state = input->state;
    const struct workflow *workflow = input->catalogue->workflows[ended->workflow];
    const struct weft_batch batch = {
        .queue = workflow->queue_first + ended->task,
        .model = workflow->tasks[ended->task].run,
        .worker = ended->worker,
        .device = input->view->fleet->workers[ended->worker].device,
        .config = ended->config,
    };
    if (ended->completed) {
        weft_learn_note(
            &state->learn, &batch, planned_ns(input, ended), ended->run_ns, input->view->now_ns);
    }
}

void weft_ended_here(const struct policy_input *input, const struct ended_facts *ended)
{
    struct weft_state *state = input->state;
    const struct weft_plan *plan = input->plan;
    const struct workflow *workflow = input->catalogue->workflows[ended->workflow];
    if (plan->shares[workflow->queue_first + ended->task]) {
        weft_learn_ran(
            &state->learn, workflow->tasks[ended->task].run, planned_ns(input, ended),
            ended->run_ns);
    }
}
