/*
 * document.h - what the functions of document.so share.
 */
#ifndef DOCUMENT_H
#define DOCUMENT_H

#include <weft/function.h>

enum {
    /*
     * Of a line of text: four corners, clockwise from where reading begins, the row of the page
     * that it belongs to, and the detector's score.
     */
    BOX_FLOATS = 10,
    BOX_ROW = 8,
};

/* The last function: from probabilities of letters to text. */
enum weft_status document_text(const struct weft_call *call);

#endif /* DOCUMENT_H */
