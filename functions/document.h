/*
 * document.h - what the functions of document.so share.
 */
#ifndef DOCUMENT_H
#define DOCUMENT_H

#include <weft/function.h>

enum {
    BOX_FLOATS = 10, /* Of a line of text: four corners, clockwise from where reading begins, */
    BOX_ROW = 8,     /* the row of the page that it belongs to, and the detector's score. */
};

/* The last function: from probabilities of letters to text. */
enum weft_status document_text(const struct weft_call *call);

#endif /* DOCUMENT_H */
