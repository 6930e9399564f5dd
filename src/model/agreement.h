/*
 * agreement.h - one number for all that the nodes of a cluster must have alike.
 *
 * Nodes name workers, models, workflows and tasks by dense numbers. Two nodes whose agreement
 * differs would mean different things by the same number.
 */
#ifndef MODEL_AGREEMENT_H
#define MODEL_AGREEMENT_H

#include <stdint.h>

struct catalogue;
struct fleet;

uint64_t agreement_of(const struct fleet *fleet, const struct catalogue *catalogue);

#endif /* MODEL_AGREEMENT_H */
