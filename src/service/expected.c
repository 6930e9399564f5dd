#include "service/expected.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "document/bytes.h"
#include "document/reader.h"

enum { WRONG_ONE_IN = 4 };

struct expected {
    char *text;           /* NULL: any. */
    struct tree *outputs; /* NULL: any. Checked when it was read. */
};

static const struct reader_range any_number = {-1e15, 1e15, "between -1e15 and 1e15"};

/* A bound of @rule; @otherwise if it says none. */
static double bound_of(const struct tree_node *rule, const char *key, double otherwise)
{
    const struct tree_node *bound = tree_find(rule, key);
    double value = otherwise;
    if (bound != NULL) {
        (void)quantity_parse(QUANTITY_NUMBER, bound->text, &value); /* It was checked. */
    }
    return value;
}

static bool is_number(const struct tree_node *rule, double *value_out)
{
    return rule->kind == TREE_SCALAR && !rule->quoted &&
           quantity_parse(QUANTITY_NUMBER, rule->text, value_out);
}

static void check_rule(struct reader *reader, const struct tree_node *rule)
{
    static const char *const keys[] = {"at_least", "at_most", "has", NULL};
    const struct tree_node *texts = tree_find(rule, "has");
    if (rule->kind == TREE_SCALAR) {
        (void)reader_text(reader, rule);
        return;
    }
    reader_mapping(reader, rule, keys);
    for (const char *const *key = keys; key < keys + 2; key++) {
        const struct tree_node *bound = tree_find(rule, *key);
        if (bound != NULL) {
            (void)reader_quantity(reader, bound, QUANTITY_NUMBER, &any_number);
        }
    }
    if (texts != NULL) {
        reader_list(reader, texts);
        for (const struct tree_node *text = texts->first; text != NULL; text = text->next) {
            (void)reader_text(reader, text);
        }
    }
}

/* Whether every rule is one, and for an output that the workflow has. */
static enum weft_status check_rules(
    const struct tree_node *root, const struct workflow *workflow, struct weft_error *error)
{
    struct reader reader = {.error = error};
    const char **names = memory_zeroed(workflow->result_count + 1, sizeof(*names));
    for (uint32_t i = 0; i < workflow->result_count; i++) {
        names[i] = workflow->results[i].name;
    }
    reader_mapping(&reader, root, names);
    free(names);
    for (const struct tree_node *rule = root->first; rule != NULL && reader_is_good(&reader);
         rule = rule->next) {
        check_rule(&reader, rule);
    }
    return reader.status;
}

enum weft_status expected_load(
    const char *text_path, const char *outputs_path, const struct workflow *workflow,
    struct expected **expected_out, struct weft_error *error)
{
    struct expected *expected = memory_zeroed(1, sizeof(*expected));
    enum weft_status status = WEFT_OK;
    if (text_path != NULL) {
        size_t length;
        char *bytes = NULL;
        status = bytes_load(text_path, &bytes, &length, error);
        if (status == WEFT_OK) {
            expected->text = memory_zeroed(length + 1, 1);
            memcpy(expected->text, bytes, length);
        }
        free(bytes);
    }
    if (status == WEFT_OK && outputs_path != NULL) {
        status = tree_load(outputs_path, &expected->outputs, error);
    }
    if (status == WEFT_OK && expected->outputs != NULL) {
        status = check_rules(expected->outputs->root, workflow, error);
    }
    if (status != WEFT_OK) {
        expected_destroy(expected);
        return status;
    }
    *expected_out = expected;
    return WEFT_OK;
}

void expected_destroy(struct expected *expected)
{
    if (expected != NULL) {
        free(expected->text);
        tree_destroy(expected->outputs);
        free(expected);
    }
}

/* Element @index of @tensor; not a number for types that are not compared. */
static double element_of(const struct weft_tensor *tensor, uint64_t index)
{
    const uint64_t width = tensor_bytes(tensor->dtype, 0, NULL);
    const char *at = (const char *)tensor->data + index * width;
    union {
        int32_t int32;
        int64_t int64;
        float fp32;
        double fp64;
        uint8_t uint8;
    } value = {.int64 = 0};
    memcpy(&value, at, width <= sizeof(value) ? width : 0);
    switch (tensor->dtype) {
    case WEFT_BOOL:
    case WEFT_UINT8:
        return value.uint8;
    case WEFT_INT32:
        return value.int32;
    case WEFT_INT64:
        return (double)value.int64;
    case WEFT_FP32:
        return (double)value.fp32;
    case WEFT_FP64:
        return value.fp64;
    case WEFT_UINT16:
    case WEFT_UINT32:
    case WEFT_UINT64:
    case WEFT_INT8:
    case WEFT_INT16:
    case WEFT_FP16:
    case WEFT_BF16:
    case WEFT_BYTES:
    case WEFT_DTYPES:
    default:
        return (double)NAN;
    }
}

/* Whether all elements lie between; says which one does not. */
static bool lies_between(
    const char *name, const struct weft_tensor *tensor, double low, double high,
    char cause[EXPECTED_CAUSE_BYTES])
{
    const uint64_t width = tensor_bytes(tensor->dtype, 0, NULL);
    const uint64_t count = tensor->dtype == WEFT_BYTES ? 1 : tensor->bytes / width;
    if (count == 0) {
        (void)snprintf(cause, EXPECTED_CAUSE_BYTES, "%s is empty", name);
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        const double value = tensor->dtype == WEFT_BYTES ? (double)NAN : element_of(tensor, i);
        if (value >= low && value <= high) {
            continue;
        }
        if (low == high) {
            (void)snprintf(cause, EXPECTED_CAUSE_BYTES, "%s is %g, not %g", name, value, low);
        } else {
            (void)snprintf(
                cause, EXPECTED_CAUSE_BYTES, "%s is %g, not between %g and %g", name, value, low,
                high);
        }
        return false;
    }
    return true;
}

/* The next text of a tensor that has been checked, at *at. NULL after the last. */
static const char *next_text(const struct weft_tensor *tensor, uint64_t *at, uint32_t *length_out)
{
    const char *bytes = tensor->data;
    if (*at >= tensor->bytes) {
        return NULL;
    }
    memcpy(length_out, bytes + *at, sizeof(*length_out));
    const char *text = bytes + *at + sizeof(*length_out);
    *at += sizeof(*length_out) + *length_out;
    return text;
}

static bool is_texts(const struct weft_tensor *tensor)
{
    return tensor != NULL && tensor->dtype == WEFT_BYTES && tensor_texts_fit(tensor);
}

static bool has_text(
    const char *name, const struct weft_tensor *tensor, const char *wanted,
    char cause[EXPECTED_CAUSE_BYTES])
{
    char quoted[READER_QUOTE_BYTES];
    uint64_t at = 0;
    uint32_t length = 0;
    const char *text = is_texts(tensor) ? next_text(tensor, &at, &length) : NULL;
    for (; text != NULL; text = next_text(tensor, &at, &length)) {
        if (length == strlen(wanted) && memcmp(text, wanted, length) == 0) {
            return true;
        }
    }
    (void)snprintf(
        cause, EXPECTED_CAUSE_BYTES, "%s has no %s", name, reader_quote_text(quoted, wanted));
    return false;
}

/* Whether output @name, which is @tensor, is as @rule says. */
static bool obeys(
    const char *name, const struct weft_tensor *tensor, const struct tree_node *rule,
    char cause[EXPECTED_CAUSE_BYTES])
{
    const struct tree_node *texts = tree_find(rule, "has");
    double value = 0;
    bool is_right = true;
    if (tensor == NULL) {
        (void)snprintf(cause, EXPECTED_CAUSE_BYTES, "there is no %s", name);
        return false;
    }
    if (is_number(rule, &value)) {
        return lies_between(name, tensor, value, value, cause);
    }
    if (rule->kind == TREE_SCALAR) {
        return has_text(name, tensor, rule->text, cause);
    }
    if (tree_find(rule, "at_least") != NULL || tree_find(rule, "at_most") != NULL) {
        is_right = lies_between(
            name, tensor, bound_of(rule, "at_least", -HUGE_VAL),
            bound_of(rule, "at_most", HUGE_VAL), cause);
    }
    for (const struct tree_node *text = texts == NULL ? NULL : texts->first;
         text != NULL && is_right; text = text->next) {
        is_right = has_text(name, tensor, text->text, cause);
    }
    return is_right;
}

/* The first text of output @name, to be freed. NULL if it holds none. */
static char *first_text(const struct answer_outputs *answer, const char *name)
{
    const struct weft_tensor *tensor = answer->find(answer->context, name);
    uint64_t at = 0;
    uint32_t length = 0;
    const char *bytes = is_texts(tensor) ? next_text(tensor, &at, &length) : NULL;
    if (bytes == NULL) {
        return NULL;
    }
    char *text = memory_zeroed((size_t)length + 1, 1);
    memcpy(text, bytes, length);
    return text;
}

static void judge_text(
    const char *expected, const struct workflow *workflow, const struct answer_outputs *answer,
    struct judgement *judgement)
{
    char *text = first_text(answer, "text");
    for (uint32_t i = 0; i < workflow->result_count && text == NULL; i++) {
        text = first_text(answer, workflow->results[i].name);
    }
    judgement->letters = edit_distance_letters(text == NULL ? "" : text, expected);
    judgement->is_right = judgement->letters.edits * WRONG_ONE_IN <= judgement->letters.length;
    if (!judgement->is_right) {
        char quoted[READER_QUOTE_BYTES];
        (void)snprintf(
            judgement->cause, sizeof(judgement->cause), "the text is %s",
            reader_quote_text(quoted, text == NULL ? "" : text));
    }
    free(text);
}

void expected_judge(
    const struct expected *expected, const struct workflow *workflow,
    const struct answer_outputs *answer, struct judgement *judgement_out)
{
    ASSERT(answer->find != NULL);
    const struct tree_node *rule =
        expected->outputs == NULL ? NULL : expected->outputs->root->first;
    *judgement_out = (struct judgement){.is_right = true};
    if (expected->text != NULL) {
        judge_text(expected->text, workflow, answer, judgement_out);
    }
    for (; rule != NULL && judgement_out->is_right; rule = rule->next) {
        judgement_out->is_right =
            obeys(rule->key, answer->find(answer->context, rule->key), rule, judgement_out->cause);
    }
}
