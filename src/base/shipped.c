#include "base/shipped.h"

#include "base/units.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FOLDERS_ABOVE_MAX = 4 };

bool shipped_find(const char *file, char path_out[SHIPPED_PATH_BYTES])
{
    static const char *const places[] = {"deps", "lib/weft"};
    char folder[256];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    if (length <= 0) {
        return false;
    }
    folder[length] = '\0';
    for (uint32_t i = 0; i <= FOLDERS_ABOVE_MAX; i++) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL) {
            break;
        }
        *slash = '\0';
        for (uint32_t k = 0; k < ARRAY_COUNT(places); k++) {
            const int bytes =
                snprintf(path_out, SHIPPED_PATH_BYTES, "%s/%s/%s", folder, places[k], file);
            if (bytes < SHIPPED_PATH_BYTES && access(path_out, R_OK) == 0) {
                return true;
            }
        }
    }
    return false;
}
