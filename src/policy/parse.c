/*
 * parse.c - a composition from its text.
 *
 *   composition   part { "," part }, where each part but the first names its role
 *   part          [role "="] policy { ":" option ["=" value] }
 *
 * A first part without a role fills all roles that its policy has and no other part names.
 *
 * Nothing is written before the whole text has been understood.
 */
#include "policy/compose.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/suggest.h"
#include "base/text.h"

enum { VALUE_BYTES_MAX = 32, LIST_BYTES_MAX = 192, WORD_BYTES = 48 };

struct span {
    const char *bytes;
    size_t length;
};

/* For "%.*s". */
#define SPAN(span) (int)(span).length, (span).bytes

static bool span_equals(struct span span, const char *text)
{
    return strlen(text) == span.length && memcmp(span.bytes, text, span.length) == 0;
}

static bool span_has(struct span span, char byte)
{
    return span.length > 0 && memchr(span.bytes, byte, span.length) != NULL;
}

/* Take what stands before @stop, which goes too, out of @rest; all of it if there is none. */
static struct span take_until(struct span *rest, char stop)
{
    const char *at = rest->length == 0 ? NULL : memchr(rest->bytes, stop, rest->length);
    const size_t length = at == NULL ? rest->length : (size_t)(at - rest->bytes);
    const struct span taken = {rest->bytes, length};
    const size_t gone = at == NULL ? length : length + 1;
    rest->bytes += gone;
    rest->length -= gone;
    return taken;
}

static void list_add(struct text *list, const char *name)
{
    text_add(list, "%s%s", list->length > 0 ? ", " : "", name);
}

/* NULL if no policy has this name. */
static const struct policy *find_policy(struct span name)
{
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        if (span_equals(name, policy_registry[i]->name)) {
            return policy_registry[i];
        }
    }
    return NULL;
}

static enum weft_status unknown_policy(struct span name, struct weft_error *error)
{
    char bytes[LIST_BYTES_MAX];
    char wrong[WORD_BYTES];
    struct text list;
    text_init(&list, bytes, sizeof(bytes));
    (void)snprintf(wrong, sizeof(wrong), "%.*s", SPAN(name)); /* More is nothing like a name. */
    struct suggestion suggestion = suggest_for(wrong);
    for (uint32_t i = 0; policy_registry[i] != NULL; i++) {
        list_add(&list, policy_registry[i]->name);
        suggest_consider(&suggestion, policy_registry[i]->name);
    }
    if (suggestion.name != NULL) {
        return error_set(
            error, WEFT_NOT_FOUND, "policy '%.*s' is not known; did you mean '%s'?", SPAN(name),
            suggestion.name);
    }
    return error_set(
        error, WEFT_NOT_FOUND, "policy '%.*s' is not known; known: %s", SPAN(name), bytes);
}

static enum weft_status unknown_option(
    const struct policy *policy, struct span name, struct weft_error *error)
{
    char bytes[LIST_BYTES_MAX];
    struct text list;
    text_init(&list, bytes, sizeof(bytes));
    for (uint32_t i = 0; policy->options != NULL && policy->options[i].name != NULL; i++) {
        list_add(&list, policy->options[i].name);
    }
    return error_set(
        error, WEFT_NOT_FOUND, "policy '%s' has no option '%.*s'; it has %s", policy->name,
        SPAN(name), policy->options == NULL ? "none" : bytes);
}

static enum weft_status find_role(
    struct span name, enum policy_role *role_out, struct weft_error *error)
{
    char bytes[LIST_BYTES_MAX];
    struct text list;
    text_init(&list, bytes, sizeof(bytes));
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        const char *known = policy_role_name((enum policy_role)role);
        if (span_equals(name, known)) {
            *role_out = (enum policy_role)role;
            return WEFT_OK;
        }
        list_add(&list, known);
    }
    return error_set(
        error, WEFT_NOT_FOUND, "role '%.*s' is not known; roles: %s", SPAN(name), bytes);
}

/* UINT32_MAX if @policy has no such option. */
static uint32_t find_option(const struct policy *policy, struct span name)
{
    for (uint32_t i = 0; policy->options != NULL && policy->options[i].name != NULL; i++) {
        if (span_equals(name, policy->options[i].name)) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* A finite number and nothing else. */
static bool read_number(struct span text, double *value_out)
{
    char bytes[VALUE_BYTES_MAX];
    if (text.length == 0 || text.length >= sizeof(bytes) || text.bytes[0] == ' ') {
        return false;
    }
    memcpy(bytes, text.bytes, text.length);
    bytes[text.length] = '\0';
    char *end = NULL;
    const double value = strtod(bytes, &end);
    if (end != bytes + text.length || !(value >= -DBL_MAX && value <= DBL_MAX)) {
        return false;
    }
    *value_out = value;
    return true;
}

/* Whether @value may be asked for. Here and nowhere else: policies take what they are given. */
static enum weft_status check_range(
    const struct policy *policy, const struct policy_option *option, double value,
    struct weft_error *error)
{
    const bool is_whole = value >= -0x1p53 && value <= 0x1p53 && (double)(int64_t)value == value;
    if (value >= option->minimum && value <= option->maximum && (is_whole || !option->is_whole)) {
        return WEFT_OK;
    }
    if (option->is_whole && option->minimum == 0 && option->maximum == 1) {
        return error_set(
            error, WEFT_INVALID, "option '%s' of policy '%s' is %g; it must be 0 or 1",
            option->name, policy->name, value);
    }
    return error_set(
        error, WEFT_INVALID,
        "option '%s' of policy '%s' is %.10g; it must be a %s from %.10g to "
        "%.10g",
        option->name, policy->name, value, option->is_whole ? "whole number" : "number",
        option->minimum, option->maximum);
}

/*
 * Read "option[=value]" into every role of @alone, whose only policy is @policy, and note in
 * @given that it was written.
 */
static enum weft_status read_option(
    struct span text, const struct policy *policy, struct policy_set *alone, uint32_t *given,
    struct weft_error *error)
{
    struct span value_text = text;
    const struct span name = take_until(&value_text, '=');
    const uint32_t index = find_option(policy, name);
    if (index == UINT32_MAX) {
        return unknown_option(policy, name, error);
    }
    double value = 1.0;
    if (span_has(text, '=') && !read_number(value_text, &value)) {
        return error_set(
            error, WEFT_INVALID, "option '%.*s' of policy '%s' is '%.*s'; it must be a number",
            SPAN(name), policy->name, SPAN(value_text));
    }
    for (uint32_t role = 0; role < POLICY_ROLES; role++) {
        alone->roles[role].options[index] = value;
    }
    *given |= UINT32_C(1) << index;
    return check_range(policy, &policy->options[index], value, error);
}

/* Those of a policy that stands alone: the same in each of its roles. */
static const double *options_of(const struct policy_set *alone)
{
    uint32_t role = 0;
    while (alone->roles[role].policy == NULL) {
        role++;
        ASSERT(role < POLICY_ROLES);
    }
    return alone->roles[role].options;
}

/* Read "NAME[:option[=value]...]" as if it stood alone. */
static enum weft_status read_policy(
    struct span text, struct policy_set *alone_out, struct weft_error *error)
{
    struct span options = text;
    const struct span name = take_until(&options, ':');
    const struct policy *policy = find_policy(name);
    if (policy == NULL) {
        return unknown_policy(name, error);
    }
    policy_set_single(policy, alone_out);
    if (span_has(text, ':') && options.length == 0) {
        return error_set(error, WEFT_INVALID, "'%.*s' ends without an option", SPAN(text));
    }
    enum weft_status status = WEFT_OK;
    uint32_t given = 0;
    while (status == WEFT_OK && options.length > 0) {
        status = read_option(take_until(&options, ':'), policy, alone_out, &given, error);
    }
    if (status != WEFT_OK || given == 0 || policy->check == NULL) {
        return status;
    }
    return policy->check(options_of(alone_out), given, error);
}

/* Whether @part begins with "role=". An equals sign after a colon belongs to an option. */
static bool names_a_role(struct span part)
{
    struct span rest = part;
    return span_has(take_until(&rest, ':'), '=');
}

/* Read "role=NAME[:...]" into its place in @set. */
static enum weft_status read_role(
    struct span part, struct policy_set *set, struct weft_error *error)
{
    if (!names_a_role(part)) {
        return error_set(
            error, WEFT_INVALID, "'%.*s' in '%s' names no role; write role=policy", SPAN(part),
            set->text);
    }
    struct span text = part;
    enum policy_role role = POLICY_ROLES;
    const struct span name = take_until(&text, '=');
    enum weft_status status = find_role(name, &role, error);
    if (status != WEFT_OK) {
        return status;
    }
    if (set->named & UINT32_C(1) << role) {
        return error_set(error, WEFT_INVALID, "role '%.*s' is given twice", SPAN(name));
    }
    set->named |= UINT32_C(1) << role;
    struct policy_set alone = {0};
    status = read_policy(text, &alone, error);
    if (status != WEFT_OK) {
        return status;
    }
    if (alone.roles[role].policy == NULL) {
        return error_set(
            error, WEFT_INVALID, "policy '%s' does not fill role '%.*s'", alone.text, SPAN(name));
    }
    set->roles[role] = alone.roles[role];
    return WEFT_OK;
}

enum weft_status policy_set_parse(
    const char *text, struct policy_set *set_out, struct weft_error *error)
{
    ASSERT(text != NULL && set_out != NULL);
    struct span rest = {text, strlen(text)};
    if (rest.length == 0) {
        return error_set(error, WEFT_INVALID, "the name of a policy is empty");
    }
    if (rest.length >= POLICY_TEXT_BYTES_MAX) {
        return error_set(
            error, WEFT_INVALID, "the text of a policy has %zu bytes; the most is %d", rest.length,
            POLICY_TEXT_BYTES_MAX - 1);
    }

    struct policy_set set = {0};
    enum weft_status status = WEFT_OK;
    struct span behind = rest;
    const struct span first = take_until(&behind, ',');
    bool more = true; /* A comma at the end promises a part that is not there. */
    if (first.length > 0 && !names_a_role(first)) {
        more = span_has(rest, ',');
        rest = behind;
        status = read_policy(first, &set, error);
    }
    memcpy(set.text, text, strlen(text) + 1);
    while (status == WEFT_OK && more) {
        more = span_has(rest, ',');
        status = read_role(take_until(&rest, ','), &set, error);
    }
    if (status == WEFT_OK) {
        *set_out = set;
    }
    return status;
}
