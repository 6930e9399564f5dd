/* Every composition that docs/POLICIES.md shows is one, and every policy has its paragraph. */
#include "unit/policy_fixture.h"

enum { LINE_BYTES_MAX = 512 };

/* Whether a line was read; the newline is cut off. */
static bool next_line(FILE *file, char *line_out)
{
    if (fgets(line_out, LINE_BYTES_MAX, file) == NULL) {
        return false;
    }
    line_out[strcspn(line_out, "\n")] = '\0';
    return true;
}

static void every_composition_parses(void **state)
{
    (void)state;
    char line[LINE_BYTES_MAX];
    uint32_t count = 0;
    bool inside = false;
    FILE *file = fopen("docs/POLICIES.md", "r");
    assert_non_null(file);
    while (next_line(file, line)) {
        if (strncmp(line, "```", 3) == 0) {
            inside = strcmp(line, "```policy") == 0;
            continue;
        }
        if (inside) {
            struct policy_set set;
            struct weft_error error = {0};
            if (policy_set_parse(line, &set, &error) != WEFT_OK) {
                fail_msg("%s", error.message);
            }
            count++;
        }
    }
    assert_int_equal(fclose(file), 0);
    assert_true(count >= 3);
}

static bool has_heading(const char *name)
{
    char line[LINE_BYTES_MAX];
    char heading[LINE_BYTES_MAX];
    bool found = false;
    (void)snprintf(heading, sizeof(heading), "### %s", name);
    FILE *file = fopen("docs/POLICIES.md", "r");
    assert_non_null(file);
    while (!found && next_line(file, line)) {
        found = strcmp(line, heading) == 0;
    }
    assert_int_equal(fclose(file), 0);
    return found;
}

static void every_policy_has_its_paragraph(void **state)
{
    (void)state;
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        if (!has_heading(policy_registry[i]->name)) {
            fail_msg("docs/POLICIES.md does not describe '%s'", policy_registry[i]->name);
        }
    }
    assert_false(has_heading("no-such-policy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_composition_parses),
        cmocka_unit_test(every_policy_has_its_paragraph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
