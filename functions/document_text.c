#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "largest.h"
#include "regions.h"
#include "texts.h"

static struct lines *letters; /* Of the reader, in the order of its outputs. */
static pthread_mutex_t letters_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct lines *letters_of(const struct weft_call *call)
{
    (void)pthread_mutex_lock(&letters_lock);
    if (letters == NULL) {
        letters = lines_read(call, "document.letters.txt");
    }
    const struct lines *found = letters;
    (void)pthread_mutex_unlock(&letters_lock);
    return found;
}

__attribute__((destructor)) static void forget_letters(void)
{
    lines_release(letters);
}

/*
 * The most likely letter of every column, without repetitions and without the blank, which is
 * number 0 (connectionist temporal classification, read greedily). The letter after the last
 * of the list is the space. Returns the mean probability of what was read.
 */
static float read_line(
    const float *columns, int64_t column_count, int64_t class_count, const struct lines *known,
    struct text *line_out)
{
    int64_t before = 0;
    double sum = 0;
    uint32_t count = 0;
    for (int64_t column = 0; column < column_count; column++) {
        const float *chances = columns + column * class_count;
        const int64_t best = largest_at(chances, class_count);
        if (best != 0 && best != before) {
            const bool is_letter = best - 1 < known->count;
            const char *letter = is_letter ? known->items[best - 1] : " ";
            text_add(line_out, letter, strlen(letter));
            sum += (double)chances[best];
            count++;
        }
        before = best;
    }
    return count == 0 ? 0 : (float)(sum / count);
}

/* All lines as one text: a space between those of a row, a line break between rows. */
static void join(const struct text *lines, const float *boxes, int64_t count, struct text *text_out)
{
    float row = -1;
    for (int64_t i = 0; i < count; i++) {
        if (lines[i].length == 0) {
            continue;
        }
        const float own = boxes[i * BOX_FLOATS + BOX_ROW];
        if (text_out->length > 0) {
            text_add(text_out, own == row ? " " : "\n", 1);
        }
        text_add(text_out, lines[i].bytes, lines[i].length);
        text_out->is_short |= lines[i].is_short;
        row = own;
    }
}

static enum weft_status give_text(
    const struct weft_call *call, const struct weft_tensor *probabilities,
    const struct weft_tensor *boxes, const struct lines *known, struct text *lines)
{
    const int64_t count = probabilities->shape[0];
    const int64_t columns = probabilities->shape[1];
    const int64_t classes = probabilities->shape[2];
    const float *chances = probabilities->data;
    struct text whole = {0};
    float *scores = weft_call_output(call, "scores", WEFT_FP32, 1, &count);
    float *corners = weft_call_output(call, "boxes", WEFT_FP32, 2, boxes->shape);
    if (scores == NULL || corners == NULL) {
        return WEFT_NO_MEMORY;
    }
    memcpy(corners, boxes->data, (size_t)boxes->bytes);
    for (int64_t i = 0; i < count; i++) {
        scores[i] = read_line(chances + i * columns * classes, columns, classes, known, &lines[i]);
    }
    join(lines, boxes->data, count, &whole);
    enum weft_status status = texts_give(call, "lines", lines, (uint32_t)count);
    if (status == WEFT_OK) {
        status = texts_give(call, "text", &whole, 1);
    }
    text_release(&whole);
    weft_call_give_items(call, 1);
    return status;
}

enum weft_status document_text(const struct weft_call *call)
{
    const struct weft_tensor *probabilities = weft_call_input(call, "probabilities");
    const struct weft_tensor *boxes = weft_call_input(call, "boxes");
    if (probabilities == NULL || probabilities->dtype != WEFT_FP32 || probabilities->rank != 3 ||
        probabilities->shape[0] > REGIONS_MAX || probabilities->shape[2] < 1) {
        return weft_call_fail(
            call, "'probabilities' must be FP32 of shape [lines, columns, letters]");
    }
    if (boxes == NULL || boxes->dtype != WEFT_FP32 || boxes->rank != 2 ||
        boxes->shape[0] != probabilities->shape[0] || boxes->shape[1] != BOX_FLOATS) {
        return weft_call_fail(call, "'boxes' must be FP32 of shape [lines, 10]");
    }
    const struct lines *known = letters_of(call);
    if (known == NULL) {
        return WEFT_NOT_FOUND;
    }
    const size_t count = (size_t)probabilities->shape[0];
    struct text *lines = calloc(count + 1, sizeof(*lines));
    if (lines == NULL) {
        return WEFT_NO_MEMORY;
    }
    const enum weft_status status = give_text(call, probabilities, boxes, known, lines);
    for (size_t i = 0; i < count; i++) {
        text_release(&lines[i]);
    }
    free(lines);
    return status;
}
