/*
 * near.h - a thread that stays on one processor for a while.
 *
 * Two threads that hand work to each other, and of which only one has something to do at a time,
 * are quicker on one processor than on two: nothing has to be woken from its sleep. The system
 * does not know that and puts the one that wakes up on an idle processor. Nor does it know that the
 * one that hands over is best interrupted by the other, which mostly is done before the first goes
 * on. Each thread has a state of its own here, and only ever moves itself.
 *
 * Processors that the process may not use are never used; who changes the affinity of a thread
 * from outside meanwhile has the last word.
 */
#ifndef ENGINE_NEAR_H
#define ENGINE_NEAR_H

#include <stdbool.h>
#include <stdint.h>

/* The processor that the calling thread is on, counted from 1. 0: not known. */
uint32_t near_here(void);

/*
 * Keep the calling thread on @processor, counted from 1, until it is told otherwise; 0: it may go
 * where it could before the first call. False if that cannot be: then it may go anywhere.
 */
bool near_stay(uint32_t processor);

/* Where the calling thread stays; 0: it does not. */
uint32_t near_where(void);

/*
 * Let the calling thread go before others of its processor when it wakes up, for as short a turn as
 * the system knows, or no longer. Its share of the processor stays the same. Linux does so since
 * 6.12; elsewhere nothing happens.
 */
void near_hurry(bool is_wanted);

/* In a process that was forked: go where the process that forked it could, and without hurry. */
void near_forked(void);

#endif /* ENGINE_NEAR_H */
