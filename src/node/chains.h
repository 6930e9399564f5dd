/*
 * chains.h - models of a chain of short tasks come together on one worker.
 *
 * An engine runs the tasks of a straight chain in one go where all their models are, if handing a
 * task over takes longer than running it. Loads are planned apart from each other, because idle
 * workers load at the same time, and where models are they stay. So each time a task is handed to
 * another worker of the machine than the one where its chain began, what that costs is counted for
 * its models. When it adds up to a load, the model is loaded where the chain begins: at no time has
 * more been lost than twice what is best, whatever comes. Memory must be free for it.
 */
#ifndef NODE_CHAINS_H
#define NODE_CHAINS_H

#include "node/inside.h"

/* @batch is about to run. */
void chains_note(struct node *node, const struct batch *batch);

#endif /* NODE_CHAINS_H */
