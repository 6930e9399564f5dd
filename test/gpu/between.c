/* between.c - functions between the models of test/gpu/mix.py. */
#include <weft/function.h>

enum { TOKENS = 128, WORDS = 30522 };

/*
 * y FP16 [N,K] -> ids INT64 [N,128]: words for the next model. They are the same for all y, so that
 * what the next model makes of them can be foretold.
 */
static enum weft_status words(const struct weft_call *call)
{
    const struct weft_tensor *y = weft_call_input(call, "y");
    if (y == NULL || y->dtype != WEFT_FP16 || y->rank != 2) {
        return weft_call_fail(call, "'y' must be FP16 [N,K]");
    }
    const int64_t shape[2] = {y->shape[0], TOKENS};
    int64_t *ids = weft_call_output(call, "ids", WEFT_INT64, 2, shape);
    if (ids == NULL) {
        return WEFT_NO_MEMORY;
    }
    for (int64_t i = 0; i < y->shape[0] * TOKENS; i++) {
        ids[i] = i * 7919 % WORDS;
    }
    weft_call_give_items(call, (uint32_t)y->shape[0]);
    return WEFT_OK;
}

WEFT_FUNCTIONS({"words", words});
