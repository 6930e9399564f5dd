/*
 * budget.c - parts of a graph, each with its interval, divided until only tasks are left.
 *
 * All tasks lie in one array. A part is a range of it with an interval; dividing a part
 * rearranges its range and leaves smaller parts on a stack, so nothing is recursive.
 */
#include "configs/budget.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "model/digraph.h"
#include "model/dominators.h"
#include "model/workflow.h"

__extension__ typedef __int128 budget_product;

struct part {
    uint32_t first; /* Into the array of tasks. */
    uint32_t count;
    int64_t start_ns;
    int64_t end_ns;
    bool connected; /* It is one branch; otherwise its branches are yet to be found. */
};

struct split {
    const struct workflow *workflow;
    const struct dominators *tree;
    const int64_t *lengths;
    struct budget_task *tasks; /* The result. */
    uint32_t *array;           /* Tasks, each part in topological order. */
    uint32_t *scratch;
    uint32_t *label;  /* By task of the part in hand: the piece that it goes to. */
    uint32_t *root;   /* By task: towards the one that stands for its branch. */
    uint32_t *owner;  /* By task: the number of the last part that had it in hand. */
    uint32_t number;  /* Of the part in hand. */
    uint32_t *firsts; /* By piece: where it begins. */
    int64_t *spans;   /* By piece: its length. */
    int64_t *up;      /* By task: the longest way within its piece that ends with it. */
    int64_t *down;    /* By task: the longest one that begins with it. */
    struct part *stack;
    uint32_t stack_count;
};

static bool is_inside(const struct split *split, uint32_t task)
{
    return split->owner[task] == split->number;
}

/* @part of @of of @whole. */
static int64_t scaled(int64_t whole, int64_t part, int64_t of)
{
    ASSERT(of != 0);
    return (int64_t)((budget_product)whole * part / of);
}

/* Rearrange the range of @part by labels, keeping the order within each of them. */
static void arrange(struct split *split, const struct part *part, uint32_t piece_count)
{
    uint32_t *range = split->array + part->first;
    for (uint32_t piece = 0; piece <= piece_count; piece++) {
        split->firsts[piece] = 0;
    }
    for (uint32_t i = 0; i < part->count; i++) {
        split->scratch[i] = range[i];
        split->firsts[split->label[range[i]] + 1]++;
    }
    for (uint32_t piece = 0; piece < piece_count; piece++) {
        split->firsts[piece + 1] += split->firsts[piece];
    }
    for (uint32_t i = 0; i < part->count; i++) {
        range[split->firsts[split->label[split->scratch[i]]]++] = split->scratch[i];
    }
    for (uint32_t piece = piece_count; piece > 0; piece--) { /* Each is now the next one's. */
        split->firsts[piece] = split->firsts[piece - 1];
    }
    split->firsts[0] = 0;
}

static uint32_t root_of(uint32_t *root, uint32_t task)
{
    while (root[task] != task) {
        root[task] = root[root[task]];
        task = root[task];
    }
    return task;
}

/* Tasks of the part that an edge inside it connects stand for one another. */
static void connect(struct split *split, const uint32_t *range, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        split->root[range[i]] = range[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t in = 0; in < split->workflow->tasks[range[i]].in_count; in++) {
            const uint32_t from = workflow_in(split->workflow, range[i], in)->from;
            if (is_inside(split, from)) {
                split->root[root_of(split->root, from)] = root_of(split->root, range[i]);
            }
        }
    }
}

/* Push the branches of @part: what is connected without leaving it. All get its interval. */
static void split_branches(struct split *split, const struct part *part)
{
    const uint32_t *range = split->array + part->first;
    uint32_t branch_count = 0;
    connect(split, range, part->count);
    for (uint32_t i = 0; i < part->count; i++) {
        split->label[range[i]] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < part->count; i++) { /* By the first task of each. */
        const uint32_t root = root_of(split->root, range[i]);
        if (split->label[root] == UINT32_MAX) {
            split->label[root] = branch_count++;
        }
    }
    for (uint32_t i = 0; i < part->count; i++) {
        split->label[range[i]] = split->label[root_of(split->root, range[i])];
    }
    arrange(split, part, branch_count);
    for (uint32_t branch = 0; branch < branch_count; branch++) {
        split->stack[split->stack_count++] = (struct part){
            .first = part->first + split->firsts[branch],
            .count = split->firsts[branch + 1] - split->firsts[branch],
            .start_ns = part->start_ns,
            .end_ns = part->end_ns,
            .connected = true,
        };
    }
}

/* The task nearest to its end that every way through the part passes; VERTEX_NONE of none. */
static uint32_t last_of_all(const struct split *split, const struct part *part)
{
    uint32_t nearest = VERTEX_NONE;
    for (uint32_t i = 0; i < part->count; i++) {
        const uint32_t task = split->array[part->first + i];
        bool is_last = true;
        for (uint32_t out = 0; out < split->workflow->tasks[task].out_count; out++) {
            is_last &= !is_inside(split, workflow_out(split->workflow, task, out)->to);
        }
        if (is_last) {
            nearest =
                nearest == VERTEX_NONE ? task : dominators_nearest(split->tree, nearest, task);
        }
    }
    return nearest < split->tree->root && is_inside(split, nearest) ? nearest : VERTEX_NONE;
}

/*
 * Label what all ways pass with 1, 3, 5, … in their order, and what lies before, between and
 * after them with 0, 2, 4, … Returns the number of labels.
 */
static uint32_t label_row(struct split *split, const struct part *part, uint32_t last)
{
    uint32_t passed = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        split->label[split->array[part->first + i]] = UINT32_MAX;
    }
    for (uint32_t task = last; task < split->tree->root && is_inside(split, task);
         task = split->tree->parent[task]) {
        passed++;
    }
    uint32_t place = passed;
    for (uint32_t task = last; place > 0; task = split->tree->parent[task]) {
        split->label[task] = 2 * --place + 1;
    }
    for (uint32_t i = 0; i < part->count; i++) { /* Dominators come before what they dominate. */
        const uint32_t task = split->array[part->first + i];
        const uint32_t above = split->tree->parent[task];
        if (split->label[task] == UINT32_MAX) {
            const bool begins = above >= split->tree->root || !is_inside(split, above);
            split->label[task] = begins ? 0 : (split->label[above] + 1) / 2 * 2;
        }
    }
    return 2 * passed + 1;
}

/* The longest way that ends with @task and stays among tasks of its label. */
static int64_t longest_up(const struct split *split, uint32_t task)
{
    int64_t before = 0;
    for (uint32_t in = 0; in < split->workflow->tasks[task].in_count; in++) {
        const uint32_t from = workflow_in(split->workflow, task, in)->from;
        if (is_inside(split, from) && split->label[from] == split->label[task]) {
            before = split->up[from] > before ? split->up[from] : before;
        }
    }
    return before + split->lengths[task];
}

/* Divide the interval of @part among the pieces of its row, in proportion to their lengths. */
static void split_row(struct split *split, const struct part *part, uint32_t piece_count)
{
    int64_t whole = 0;
    int64_t passed = 0;
    for (uint32_t piece = 0; piece < piece_count; piece++) {
        split->spans[piece] = 0;
    }
    for (uint32_t i = 0; i < part->count; i++) {
        const uint32_t task = split->array[part->first + i];
        int64_t *span = &split->spans[split->label[task]];
        split->up[task] = longest_up(split, task);
        *span = split->up[task] > *span ? split->up[task] : *span;
    }
    for (uint32_t piece = 0; piece < piece_count; piece++) {
        whole += split->spans[piece];
    }
    arrange(split, part, piece_count);
    for (uint32_t piece = 0; piece < piece_count; piece++) {
        const int64_t width_ns = part->end_ns - part->start_ns;
        const struct part own = {
            .first = part->first + split->firsts[piece],
            .count = split->firsts[piece + 1] - split->firsts[piece],
            .start_ns = part->start_ns + scaled(width_ns, passed, whole),
            .end_ns = part->start_ns + scaled(width_ns, passed + split->spans[piece], whole),
        };
        passed += split->spans[piece];
        if (piece % 2 == 1) {
            struct budget_task *task = &split->tasks[split->array[own.first]];
            task->start_ns = own.start_ns;
            task->end_ns = own.end_ns;
        } else if (own.count > 0) {
            split->stack[split->stack_count++] = own;
        }
    }
}

/* Edges across: each task ends where it would if the longest way through it filled @part. */
static void split_each(struct split *split, const struct part *part)
{
    const uint32_t *range = split->array + part->first;
    const int64_t width_ns = part->end_ns - part->start_ns;
    for (uint32_t i = 0; i < part->count; i++) {
        split->label[range[i]] = 0;
    }
    for (uint32_t i = 0; i < part->count; i++) {
        split->up[range[i]] = longest_up(split, range[i]);
    }
    for (uint32_t i = part->count; i-- > 0;) {
        int64_t after = 0;
        for (uint32_t out = 0; out < split->workflow->tasks[range[i]].out_count; out++) {
            const uint32_t to = workflow_out(split->workflow, range[i], out)->to;
            if (is_inside(split, to)) {
                after = split->down[to] > after ? split->down[to] : after;
            }
        }
        split->down[range[i]] = after + split->lengths[range[i]];
    }
    for (uint32_t i = 0; i < part->count; i++) {
        const uint32_t task = range[i];
        const int64_t through = split->up[task] + split->down[task] - split->lengths[task];
        int64_t start_ns = part->start_ns;
        for (uint32_t in = 0; in < split->workflow->tasks[task].in_count; in++) {
            const uint32_t from = workflow_in(split->workflow, task, in)->from;
            if (is_inside(split, from) && split->tasks[from].end_ns > start_ns) {
                start_ns = split->tasks[from].end_ns;
            }
        }
        split->tasks[task].start_ns = start_ns;
        split->tasks[task].end_ns = part->start_ns + scaled(width_ns, split->up[task], through);
    }
}

static void split_part(struct split *split, const struct part *part)
{
    split->number++;
    for (uint32_t i = 0; i < part->count; i++) {
        split->owner[split->array[part->first + i]] = split->number;
    }
    if (!part->connected) {
        split_branches(split, part);
        return;
    }
    const uint32_t last = last_of_all(split, part);
    if (last == VERTEX_NONE) {
        split_each(split, part);
        return;
    }
    const uint32_t piece_count = label_row(split, part, last);
    split_row(split, part, piece_count);
}

/* Tasks in a row, with neither a fork nor a join between them, at most @group_max together. */
static void form_groups(
    const struct workflow *workflow, uint32_t group_max, struct budget_task *tasks)
{
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        tasks[i].next = TASK_NONE;
        tasks[i].left = 0; /* First: how many come before it in its group. */
    }
    for (uint32_t i = 0; i < workflow->task_count; i++) {
        const uint32_t task = workflow->order[i];
        if (workflow->tasks[task].in_count != 1) {
            continue;
        }
        const uint32_t from = workflow_in(workflow, task, 0)->from;
        if (workflow->tasks[from].out_count == 1 && tasks[from].left + 1 < group_max) {
            tasks[task].left = tasks[from].left + 1;
            tasks[from].next = task;
        }
    }
    for (uint32_t i = workflow->task_count; i-- > 0;) {
        const uint32_t task = workflow->order[i];
        tasks[task].left = tasks[task].next == TASK_NONE ? 1 : tasks[tasks[task].next].left + 1;
    }
}

void budget_lengths(
    const int64_t *run_ns, uint32_t task_count, uint32_t config_count, int64_t *lengths_out)
{
    const double unit = (double)(INT64_C(1) << 40);
    for (uint32_t task = 0; task < task_count; task++) {
        lengths_out[task] = 1;
    }
    for (uint32_t config = 0; config < config_count; config++) {
        const int64_t *row = run_ns + (size_t)config * task_count;
        double whole = 0;
        for (uint32_t task = 0; task < task_count; task++) {
            whole += (double)row[task];
        }
        for (uint32_t task = 0; task < task_count && whole > 0; task++) {
            lengths_out[task] += (int64_t)(unit * (double)row[task] / whole / config_count);
        }
    }
}

void budget_split(
    const struct workflow *workflow, const int64_t *lengths, int64_t whole_ns, uint32_t group_max,
    struct budget_task *tasks_out)
{
    ASSERT(workflow->sealed);
    ASSERT(group_max > 0);
    const uint32_t count = workflow->task_count;
    struct digraph *graph = digraph_from_workflow(workflow, NULL, /* items */ 1);
    struct dominators *tree = dominators_create(graph);
    uint32_t *words = memory_zeroed((size_t)count * 8 + 4, sizeof(*words));
    int64_t *sums = memory_zeroed((size_t)count * 5 + 4, sizeof(*sums));
    struct split split = {
        .workflow = workflow,
        .tree = tree,
        .lengths = lengths,
        .tasks = tasks_out,
        .array = words,
        .scratch = words + count,
        .label = words + (size_t)2 * count,
        .root = words + (size_t)3 * count,
        .owner = words + (size_t)4 * count,
        .firsts = words + (size_t)5 * count, /* Twice as many pieces as tasks, and two. */
        .up = sums,
        .down = sums + count,
        .spans = sums + (size_t)2 * count,
        .stack = memory_zeroed(count, sizeof(*split.stack)),
    };
    for (uint32_t i = 0; i < count; i++) {
        ASSERT(lengths[i] > 0);
        split.array[i] = workflow->order[i];
    }
    split.stack[split.stack_count++] = (struct part){.count = count, .end_ns = whole_ns};
    while (split.stack_count > 0) {
        const struct part part = split.stack[--split.stack_count];
        split_part(&split, &part);
    }
    form_groups(workflow, group_max, tasks_out);
    free(split.stack);
    free(sums);
    free(words);
    dominators_destroy(tree);
    digraph_destroy(graph);
}
