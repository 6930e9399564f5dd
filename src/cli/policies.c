/* policies.c - `weft policies`: what is built in, and what each policy is about. */
#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/report_json.h"
#include "console/table.h"
#include "policy/compose.h"

struct values {
    bool json;
};

enum { ROLES_BYTES_MAX = 128 };

/* "place, order". Returns @out. */
static const char *roles_text(const struct policy *policy, char out[static ROLES_BYTES_MAX])
{
    struct text text;
    text_init(&text, out, ROLES_BYTES_MAX);
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        if (policy_fills(policy, (enum policy_role)role)) {
            text_add(
                &text, "%s%s", text.length == 0 ? "" : ", ",
                policy_role_name((enum policy_role)role));
        }
    }
    return out;
}

static void print_table(void)
{
    static const struct table_column columns[] = {
        {"POLICY", false}, {"ROLES", false}, {"RULE", false}};
    struct table table;
    table_init(&table, columns, ARRAY_COUNT(columns));
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        char roles[ROLES_BYTES_MAX];
        table_add(&table, "%s", policy_registry[i]->name);
        table_add(&table, "%s", roles_text(policy_registry[i], roles));
        table_add(&table, "%s", policy_registry[i]->summary);
    }
    table_print(&table, stdout);
    table_deinit(&table);
}

static bool has_options(const struct policy *policy)
{
    return policy->options != NULL && policy->options[0].name != NULL;
}

static void add_range(struct table *table, const struct policy_option *option)
{
    if (option->is_whole && option->minimum == 0 && option->maximum == 1) {
        table_add(table, "0 or 1");
    } else {
        table_add(
            table, "%.10g to %.10g%s", option->minimum, option->maximum,
            option->is_whole ? ", whole" : "");
    }
}

static void print_one(const struct policy *policy)
{
    char roles[ROLES_BYTES_MAX];
    (void)printf("%s: %s\n\n", policy->name, policy->summary);
    (void)printf("  roles    %s\n", roles_text(policy, roles));
    (void)printf("  source   %s\n", policy->source);
    (void)printf("  ignores  %s\n", policy->ignores);
    if (!has_options(policy)) {
        return;
    }
    static const struct table_column columns[] = {
        {"  OPTION", false}, {"DEFAULT", true}, {"RANGE", false}, {"MEANING", false}};
    struct table table;
    table_init(&table, columns, ARRAY_COUNT(columns));
    for (const struct policy_option *option = policy->options; option->name != NULL; option++) {
        table_add(&table, "  %s", option->name);
        table_add(&table, "%g", option->value);
        add_range(&table, option);
        table_add(&table, "%s", option->help);
    }
    (void)putchar('\n');
    table_print(&table, stdout);
    table_deinit(&table);
    (void)printf("\n  written as %s:%s=VALUE\n", policy->name, policy->options[0].name);
}

static json_t *policy_json(const struct policy *policy)
{
    json_t *roles = json_array();
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        if (policy_fills(policy, (enum policy_role)role)) {
            (void)json_array_append_new(
                roles, json_string(policy_role_name((enum policy_role)role)));
        }
    }
    json_t *options = json_array();
    for (uint32_t i = 0; has_options(policy) && policy->options[i].name != NULL; i++) {
        const struct policy_option *option = &policy->options[i];
        (void)json_array_append_new(
            options, json_pack(
                         "{s:s, s:f, s:f, s:f, s:b, s:s}", "name", option->name, "value",
                         option->value, "minimum", option->minimum, "maximum", option->maximum,
                         "whole", option->is_whole, "help", option->help));
    }
    return json_pack(
        "{s:s, s:o, s:s, s:s, s:s, s:o}", "name", policy->name, "roles", roles, "summary",
        policy->summary, "source", policy->source, "ignores", policy->ignores, "options", options);
}

static void print_json(const struct policy *only)
{
    if (only != NULL) {
        report_json_print(policy_json(only), stdout);
        return;
    }
    json_t *list = json_array();
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        (void)json_array_append_new(list, policy_json(policy_registry[i]));
    }
    report_json_print(list, stdout);
}

static int unknown_policy(const struct command *command, const char *name)
{
    struct weft_error error;
    struct suggestion suggestion = suggest_for(name);
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        suggest_consider(&suggestion, policy_registry[i]->name);
    }
    if (suggestion.name == NULL) {
        (void)error_set(
            &error, WEFT_NOT_FOUND, "unknown policy '%s'; 'weft policies' lists them", name);
    } else {
        (void)error_set(
            &error, WEFT_NOT_FOUND, "unknown policy '%s'; did you mean '%s'?", name,
            suggestion.name);
    }
    return command_fail(command, &error, COMMAND_WRONG);
}

static int run(const struct command *command, void *given, const struct operands *names)
{
    struct values *values = given;
    const struct policy *only = names->count == 0 ? NULL : policy_find(names->items[0]);
    if (names->count > 0 && only == NULL) {
        return unknown_policy(command, names->items[0]);
    }
    if (values->json) {
        print_json(only);
    } else if (only != NULL) {
        print_one(only);
    } else {
        print_table();
    }
    return command_flush(command);
}

static const struct argument rows[] = {
    {"--json", NULL, "print JSON", ARGUMENT_FLAG, offsetof(struct values, json)},
    {.name = NULL},
};

const struct command command_policies = {
    .name = "policies",
    .summary = "list the scheduling policies, or explain one",
    .usage = "[NAME] [--json]",
    .description = "A name takes every role that the policy fills. Policies compose:\n"
                   "--policy place=jit,order=edf,cache=lru takes each role from another, and\n"
                   "--policy weft,cache=lru takes from weft what no other policy is named for.\n",
    .arguments = {.operand = "NAME", .operand_max = 1, .rows = rows},
    .values_bytes = sizeof(struct values),
    .run = run,
};
