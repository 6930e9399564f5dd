/*
 * editions.h - when the nodes of a cluster go from one edition of their repository to the next.
 *
 * An edition says which version of every model is served, and which are unloaded. Each node says
 * four numbers of itself, which all others hear some time later; what it does follows from those
 * of all. So a job is never accepted under an edition that some member cannot run, and none is
 * dropped that a job still names. Editions are ordered, and 0 is before all others.
 */
#ifndef VIEW_EDITIONS_H
#define VIEW_EDITIONS_H

#include <stdint.h>

/* What a node says of itself. */
struct edition_said {
    uint32_t newest; /* Of all that it has heard of. */
    uint32_t held;   /* The newest that it can run. Those that others serve, it can run as well. */
    uint32_t serves; /* Under this it accepts jobs. */
    uint32_t oldest; /* That it serves, or that any job names which it has to do with. */
};

/* What node @node calls an edition that comes after @newest. 0: there are no more numbers. */
uint32_t edition_next(uint32_t newest, uint32_t node);

/* The newest that @self or any of the other @members has heard of. */
uint32_t editions_newest(
    const struct edition_said *self, const struct edition_said *members, uint32_t count);

/* Under which edition a node that says @self should accept jobs from now on. */
uint32_t editions_to_serve(
    const struct edition_said *self, const struct edition_said *members, uint32_t count);

/* Editions before this one, and after none that is served, are named by no job. */
uint32_t editions_oldest(
    const struct edition_said *self, const struct edition_said *members, uint32_t count);

#endif /* VIEW_EDITIONS_H */
