#include "cli/samples_report.h"

#include <inttypes.h>

#include "base/units.h"
#include "console/table.h"

static void add_share(struct table *table, uint64_t part, uint64_t whole)
{
    if (whole == 0) {
        table_add(table, "-");
    } else {
        table_add(table, "%.2f", 100 * (double)part / (double)whole);
    }
}

/* Whether anything was answered at all. */
static bool have_run(const struct samples *samples, const struct catalogue *catalogue)
{
    bool have = false;
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct samples_score *score = samples_score(samples, i);
        have = have || (score != NULL &&
                        score->answers + score->refused + score->given_up + score->failed > 0);
    }
    return have;
}

void samples_print(const struct samples *samples, const struct catalogue *catalogue, FILE *file)
{
    static const struct table_column columns[] = {
        {"workflow", false},        {"files", true},    {"right", true},
        {"refused", true},          {"given up", true}, {"failed", true},
        {"letters wrong, %", true},
    };
    struct table table;
    bool has_letters = false;
    if (!have_run(samples, catalogue)) {
        return; /* It ended before that, and the cause was printed. */
    }
    table_init(&table, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct samples_score *score = samples_score(samples, i);
        if (score == NULL) {
            continue;
        }
        table_add(&table, "%s", catalogue->workflows[i]->name);
        table_add(&table, "%" PRIu32, score->files);
        table_add(&table, "%" PRIu64 " of %" PRIu64, score->right, score->answers);
        table_add(&table, "%" PRIu64, score->refused);
        table_add(&table, "%" PRIu64, score->given_up);
        table_add(&table, "%" PRIu64, score->failed);
        add_share(&table, score->letter_edits, score->letters);
        has_letters = has_letters || score->letters > 0;
    }
    table_print(&table, file);
    table_deinit(&table);
    if (has_letters) {
        (void)fprintf(file, "A text is right if at most a quarter of its letters is wrong.\n");
    }
    for (uint32_t i = 0; i < catalogue->workflow_count; i++) {
        const struct samples_score *score = samples_score(samples, i);
        if (score != NULL && score->right < score->answers) {
            (void)fprintf(file, "%s wrong: %s\n", catalogue->workflows[i]->name, score->wrong);
        }
        if (score != NULL && score->failed > 0) {
            (void)fprintf(file, "%s failed: %s\n", catalogue->workflows[i]->name, score->cause);
        }
    }
}
