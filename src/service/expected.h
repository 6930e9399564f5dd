/*
 * expected.h - what the answer to a sample should be: two files that may lie beside it.
 *
 *     NAME.txt      the text of the answer, letter by letter
 *     NAME.yaml     its outputs, by name:
 *
 *         degrees: 90                             every element is this number, or one this text
 *         words: {at_least: 0.05, at_most: 0.3}   every element lies between
 *         labels: {has: [text, title]}            each is among the elements
 */
#ifndef SERVICE_EXPECTED_H
#define SERVICE_EXPECTED_H

#include <stdbool.h>

#include <weft/status.h>

#include "engine/bundle.h"
#include "model/workflow.h"
#include "service/edit_distance.h"

enum { EXPECTED_CAUSE_BYTES = 160 };

struct expected;

/* An answer: output @name of it, NULL if it has none. Borrowed. */
struct answer_outputs {
    const struct weft_tensor *(*find)(const void *context, const char *name);
    const void *context;
};

struct judgement {
    bool is_right;
    char cause[EXPECTED_CAUSE_BYTES]; /* Why not. */
    struct edit_distance letters;     /* Of the text; all zero if none is expected. */
};

/*
 * Read what is expected of @workflow; a path that is NULL says nothing. On success the caller
 * owns *expected_out.
 *
 * Errors: WEFT_IO, WEFT_INVALID or WEFT_LIMIT, with "path: cause" or "path:line: cause".
 */
enum weft_status expected_load(
    const char *text_path, const char *outputs_path, const struct workflow *workflow,
    struct expected **expected_out, struct weft_error *error);

/* NULL is allowed. */
void expected_destroy(struct expected *expected);

/*
 * Compare @answer with what is expected of it. Its text is its output called "text", or else
 * its first output of texts among those of @workflow; that is right if at most a quarter of the
 * letters and digits is wrong.
 */
void expected_judge(
    const struct expected *expected, const struct workflow *workflow,
    const struct answer_outputs *answer, struct judgement *judgement_out);

#endif /* SERVICE_EXPECTED_H */
