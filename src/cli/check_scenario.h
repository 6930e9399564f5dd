/* check_scenario.h - the load that a scenario offers, as `weft check` prints it. */
#ifndef CLI_CHECK_SCENARIO_H
#define CLI_CHECK_SCENARIO_H

struct scenario;

void check_scenario_print(const struct scenario *scenario);

#endif /* CLI_CHECK_SCENARIO_H */
