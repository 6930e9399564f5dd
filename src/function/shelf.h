/*
 * shelf.h - where models lay what they make for a function that asked for it.
 *
 * A file in memory, for one process of functions and for one call at a time. The host writes there
 * by the mapping that it had before the file was sealed; the function can only read, and so can
 * a process that it would pass the file on to. So what lies there needs no copy on either side: a
 * function reads it in place, and where it gives it to the next run of a model, the host knows that
 * nothing has changed. The function says where a tensor lies, the host checks that it is on the
 * shelf.
 */
#ifndef FUNCTION_SHELF_H
#define FUNCTION_SHELF_H

#include "function/function.h"

/* One side of it. A room of 0 bytes: there is no shelf, or this side cannot see it. */
struct function_shelf {
    int file; /* -1: none. */
    struct function_room room;
};

/* Make a shelf; the second side is that of the function. Without one both are empty. */
void function_shelf_open(struct function_shelf *here, struct function_shelf *there);

/* Let the function's side see the shelf, whose file it was passed. */
void function_shelf_map(struct function_shelf *shelf);

/* Give back this side's file, and its mapping. */
void function_shelf_close(struct function_shelf *shelf);

/* Another call begins: nothing lies on @shelf. */
void function_shelf_clear(struct function_shelf *shelf);

/* Lay what @tensor has onto @shelf, where it lies from now on. If there is no room it stays. */
void function_shelf_lay(struct function_shelf *shelf, struct weft_tensor *tensor);

/* Where @tensor lies on @shelf, counted from 1; 0: elsewhere. */
uint64_t function_shelf_place(const struct function_shelf *shelf, const struct weft_tensor *tensor);

/* What lies at @place, if all @bytes of it are on @shelf; NULL: they are not. */
void *function_shelf_at(const struct function_shelf *shelf, uint64_t place, uint64_t bytes);

#endif /* FUNCTION_SHELF_H */
