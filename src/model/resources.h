/*
 * resources.h - what one machine of a fleet with slots has, as a text that other processes read.
 *
 * A machine that joins a cluster says so in the directory, and each process puts it in its place of
 * the fleet before it hears of the node: between two steps of those who read the fleet. Numbers of
 * nodes and workers stay. Kinds of devices are names, since each process numbers them as it meets
 * them. A text may come from anywhere: it is checked as a whole before anything changes.
 */
#ifndef MODEL_RESOURCES_H
#define MODEL_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include <weft/status.h>

#include "model/fleet.h"

enum {
    RESOURCES_BYTES = 1024,
    RESOURCES_SLOTS_MAX = 256, /* Of a machine. */
};

/* Write what @node of @fleet has. False if @room is too little. */
bool resources_write(const struct fleet *fleet, uint32_t node, char *out, size_t room);

/*
 * Let @node of @fleet, which has slots, have what @text says; kinds that are new are added.
 *
 * Errors: WEFT_INVALID if it makes no sense, WEFT_LIMIT if it is more than there are slots or kinds
 * for. Then the fleet is as before.
 */
enum weft_status resources_read(
    const char *text, struct fleet *fleet, uint32_t node, struct weft_error *error);

/* The same for people: "2 x cpu 1.5GiB, 1 x h200 20GiB". Cut off at @room. */
void resources_say(const char *text, char *out, size_t room);

#endif /* MODEL_RESOURCES_H */
