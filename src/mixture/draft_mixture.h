/*
 * draft_mixture.h - between a draft, on sites, and a mixture, on workers.
 *
 * A pattern on a site stands for placements on each of its machines, with equal chances: no
 * machine of a site is used more than another. The way back finds the machines of a mixture
 * that are used alike.
 */
#ifndef MIXTURE_DRAFT_MIXTURE_H
#define MIXTURE_DRAFT_MIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/status.h>

struct draft;
struct mixture;
struct program_input;
struct sites;

/*
 * The mixture of a solved @draft whose sizes are whole, with its predictions. Shares that
 * are as good as nothing are left out. The caller owns it; it is sealed.
 */
struct mixture *draft_to_mixture(const struct draft *draft, const struct program_input *input);

/*
 * Machines that are alike, and that the sealed @mixture uses alike, as sites; all of them
 * apart if not @joined. The caller owns them.
 */
struct sites *draft_sites_of(
    const struct mixture *mixture, const struct program_input *input, bool joined);

/*
 * Patterns and shares of @mixture into @draft, whose sites are those of draft_sites_of(). What
 * has less than @least of an even share of its workflow is left out.
 *
 * Errors: WEFT_NOT_FOUND if a task is placed where it was never measured, or a stream has no
 * pattern.
 */
enum weft_status draft_from_mixture(
    struct draft *draft, const struct mixture *mixture, double least, struct weft_error *error);

/* Times and loads of an evaluated @draft into @mixture; INFINITY where a queue has no end. */
void draft_predict(const struct draft *draft, struct mixture *mixture);

#endif /* MIXTURE_DRAFT_MIXTURE_H */
