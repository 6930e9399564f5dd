/*
 * shipped.h - files that come with the program: shared libraries that it opens at run time.
 */
#ifndef BASE_SHIPPED_H
#define BASE_SHIPPED_H

#include <stdbool.h>

enum { SHIPPED_PATH_BYTES = 512 };

/*
 * Find @file, such as "ucx/libucp.so.0": under deps/ in the folder of the program or in one above
 * it, as in a build, or under lib/weft/ there, where `make install` puts it. False if it is
 * nowhere.
 */
bool shipped_find(const char *file, char path_out[SHIPPED_PATH_BYTES]);

#endif /* BASE_SHIPPED_H */
