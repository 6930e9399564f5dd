/* check_scenario.h - the load that a scenario offers, as `weft check` prints it. */
#ifndef CLI_CHECK_SCENARIO_H
#define CLI_CHECK_SCENARIO_H

#include "base/error.h"

/* Print that the scenario at @path is good, and its load. Errors: as of scenario_load(). */
enum weft_status check_scenario(const char *path, struct weft_error *error);

#endif /* CLI_CHECK_SCENARIO_H */
