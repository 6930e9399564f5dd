#include "policy/weighed.h"

#include "base/assert.h"

static uint16_t find_lacking(
    const struct view *view, const struct workflow_task *task, uint32_t worker)
{
    for (uint32_t i = 0; i < task->model_count; i++) {
        if (!view_holds_model(view, worker, task->models[i])) {
            return (uint16_t)task->models[i];
        }
    }
    return WEIGHED_LACKS_NOTHING;
}

/* The entry to write: that of the same worker, a new one, or the worst. NULL: none is worse. */
static struct weighed_worker *find_place(
    struct weighed *weighed, const struct weighed_worker *noted)
{
    struct weighed_worker *worst = NULL;
    for (uint32_t i = weighed->first; i < weighed->count; i++) {
        struct weighed_worker *known = &weighed->items[i];
        if (known->worker == noted->worker && known->config.batch == noted->config.batch &&
            known->config.gpu == noted->config.gpu) {
            return noted->end_ns < known->end_ns ? known : NULL;
        }
        worst = worst == NULL || known->end_ns > worst->end_ns ? known : worst;
    }
    if (weighed->count - weighed->first < WEIGHED_PER_TASK) {
        return &weighed->items[weighed->count++];
    }
    ASSERT(worst != NULL); /* It is one of WEIGHED_PER_TASK. */
    return noted->end_ns < worst->end_ns ? worst : NULL;
}

void weighed_note(
    const struct policy_input *input, const struct workflow_task *task, uint32_t number,
    uint32_t worker, const struct config *config, int64_t end_ns)
{
    struct weighed *weighed = input->weighed;
    const struct weighed_worker noted = {
        .task = number,
        .worker = worker,
        .end_ns = end_ns,
        .lacks = find_lacking(input->view, task, worker),
        .config = config == NULL ? (struct config){.batch = 0} : *config,
    };
    if (weighed->count > 0 && weighed->items[weighed->count - 1].task != number) {
        weighed->first = weighed->count;
    }
    if (weighed->first + WEIGHED_PER_TASK > sizeof(weighed->items) / sizeof(weighed->items[0])) {
        return;
    }
    struct weighed_worker *place = find_place(weighed, &noted);
    if (place != NULL) {
        *place = noted;
    }
}
