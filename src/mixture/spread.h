/*
 * spread.h - between patterns on sites and placements on workers.
 *
 * A pattern on a site stands for placements on each of its machines, with equal chances: no
 * machine of a site is used more than another. The way back finds the machines of a mixture
 * that are used alike.
 */
#ifndef MIXTURE_SPREAD_H
#define MIXTURE_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

struct attempt;
struct mixture;
struct program_input;
struct program_report;
struct sites;
struct workload;

/* How often a pattern is spread over its sites, each time with other pairs of machines. */
enum { SPREAD_TURNS_MAX = 8 };

/*
 * The mixture of a solved @attempt whose sizes are whole, with its predictions. Shares that
 * are as good as nothing are left out. The caller owns it; it is sealed.
 */
struct mixture *spread_out(
    const struct attempt *attempt, const struct program_input *input, uint32_t turns);

/*
 * Machines that are alike, and that the sealed @mixture uses alike, as sites; all of them
 * apart if not @joined. The caller owns them.
 */
struct sites *spread_sites(
    const struct mixture *mixture, const struct program_input *input, bool joined);

/*
 * Patterns and shares of @mixture into @attempt, whose sites are those of spread_sites(). What
 * has less than @least of an even share of its workflow is left out.
 *
 * Errors: WEFT_NOT_FOUND if a task is placed where it was never measured, or a stream has no
 * pattern.
 */
enum weft_status spread_in(
    struct attempt *attempt, const struct mixture *mixture, double least, struct weft_error *error);

/* Times and loads of an evaluated @attempt into @mixture; INFINITY where a queue has no end. */
void spread_predictions(const struct attempt *attempt, struct mixture *mixture);

#endif /* MIXTURE_SPREAD_H */
