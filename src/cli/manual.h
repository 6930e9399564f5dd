/*
 * manual.h - what the tables of commands and options say, for other programs: the manual page, and
 * completion in bash.
 */
#ifndef CLI_MANUAL_H
#define CLI_MANUAL_H

#include "cli/command.h"

/* A page for man(1). @commands ends with NULL. */
void manual_print_page(const struct command *const *commands);

/* A script to be sourced by bash. */
void manual_print_bash(const struct command *const *commands);

#endif /* CLI_MANUAL_H */
