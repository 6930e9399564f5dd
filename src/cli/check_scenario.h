/* check_scenario.h - the load that a scenario offers, as `weft check` prints it. */
#ifndef CLI_CHECK_SCENARIO_H
#define CLI_CHECK_SCENARIO_H

/* Print it for the scenario at @path, which is good. */
void check_scenario(const char *path);

#endif /* CLI_CHECK_SCENARIO_H */
