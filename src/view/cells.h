/*
 * cells.h - which nodes show each other their rows.
 *
 * Rows from every node to every other cost each node more with every node that joins. So a large
 * cluster is divided into cells: a node shows its rows to its own cell, and places tasks there.
 * Messages still go to any node. Below 2 * CELL_NODES members there is one cell.
 */
#ifndef VIEW_CELLS_H
#define VIEW_CELLS_H

#include "model/fleet.h"
#include "view/members.h"

/*
 * Members of a cell, at least. Sixty-four devices share a load nearly as well as any number of
 * them, and their rows cost a node some per cent of a core at the default interval.
 */
enum { CELL_NODES = 64 };

/*
 * Into how many cells @members are divided, so that each has @nodes_min or more. A power of two:
 * cells are split and joined in pairs as members come and go.
 */
static inline uint32_t cells_count(const struct members *members, uint32_t nodes_min)
{
    uint32_t count = 1;
    while (members->up_count / 2 / count >= nodes_min) {
        count *= 2;
    }
    return count;
}

/* The cell of @node, of @cell_count. Neighbours in a list are often alike, so it is dealt out. */
static inline uint32_t cells_of(uint32_t node, uint32_t cell_count)
{
    return node % cell_count;
}

/*
 * Whether all machines of @fleet have the same devices: then every cell can run what the cluster
 * can. Otherwise there must be one cell.
 */
bool cells_are_alike(const struct fleet *fleet);

#endif /* VIEW_CELLS_H */
