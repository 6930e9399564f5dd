#include "lab/generate_folder.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "document/workflow_document.h"

enum weft_status generate_open(
    const struct whole_folder *folder, const char *name, struct whole_file *file_out,
    struct weft_error *error)
{
    ASSERT(strchr(name, '/') == NULL);
    char *path = whole_folder_file(folder, name);
    const enum weft_status status = whole_file_open(file_out, path, error);
    free(path);
    return status;
}

enum weft_status generate_save(
    const struct catalogue *catalogue, const struct whole_folder *folder, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;

    for (uint32_t i = 0; i < catalogue->workflow_count && status == WEFT_OK; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        char name[2 * NAME_BYTES_MAX];
        struct whole_file file;
        (void)snprintf(name, sizeof(name), "%s.yaml", workflow->name);
        status = generate_open(folder, name, &file, error);
        if (status == WEFT_OK) {
            workflow_print(workflow, catalogue, file.stream);
            status = whole_file_commit(&file, error);
        }
    }
    return status;
}
