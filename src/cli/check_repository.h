/* check_repository.h - `weft check FOLDER`: what a repository holds, or what is wrong with it. */
#ifndef CLI_CHECK_REPOSITORY_H
#define CLI_CHECK_REPOSITORY_H

#include <stdbool.h>

/* Print it; problems go to stderr, one line a bad file. False if there is any. */
bool check_repository(const char *folder);

#endif /* CLI_CHECK_REPOSITORY_H */
