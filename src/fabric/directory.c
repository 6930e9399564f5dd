#include "fabric/directory.h"

#include <stddef.h>

const struct members *directory_members(const struct directory *directory)
{
    return directory->ops->members(directory);
}

void directory_destroy(struct directory *directory)
{
    if (directory != NULL) {
        directory->ops->destroy(directory);
    }
}
