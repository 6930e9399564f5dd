#include "lab/generate_folder.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "console/whole_file.h"
#include "console/whole_folder.h"
#include "document/workflow_document.h"

/* Begin the file @name of @folder. Errors: those of whole_file_open(). */
static enum weft_status open_file(
    const struct whole_folder *folder, const char *name, struct whole_file *file_out,
    struct weft_error *error)
{
    ASSERT(strchr(name, '/') == NULL);
    char *path = whole_folder_file(folder, name);
    const enum weft_status status = whole_file_open(file_out, path, error);
    free(path);
    return status;
}

static enum weft_status save_workflows(
    const struct catalogue *catalogue, const struct whole_folder *folder, struct weft_error *error)
{
    enum weft_status status = WEFT_OK;

    for (uint32_t i = 0; i < catalogue->workflow_count && status == WEFT_OK; i++) {
        const struct workflow *workflow = catalogue->workflows[i];
        char name[2 * NAME_BYTES_MAX];
        struct whole_file file;
        (void)snprintf(name, sizeof(name), "%s.yaml", workflow->name);
        status = open_file(folder, name, &file, error);
        if (status == WEFT_OK) {
            workflow_print(workflow, catalogue, file.stream);
            status = whole_file_commit(&file, error);
        }
    }
    return status;
}

static enum weft_status save_files(
    const struct generated *generated, const struct whole_folder *folder, struct weft_error *error)
{
    enum weft_status status = save_workflows(generated->catalogue, folder, error);
    if (status == WEFT_OK) {
        char *path = whole_folder_file(folder, generated->profile_file);
        status =
            profile_save(path, generated->catalogue, generated->fleet, generated->profile, error);
        free(path);
    }
    if (status == WEFT_OK && generated->scenario_file != NULL) {
        struct whole_file file;
        status = open_file(folder, generated->scenario_file, &file, error);
        if (status == WEFT_OK) {
            generated->write_scenario(generated->context, file.stream);
            status = whole_file_commit(&file, error);
        }
    }
    return status;
}

enum weft_status generate_save(
    const struct generated *generated, const char *path, struct weft_error *error)
{
    struct whole_folder folder;

    enum weft_status status = whole_folder_open(&folder, path, error);
    if (status != WEFT_OK) {
        return status;
    }
    status = save_files(generated, &folder, error);
    if (status != WEFT_OK) {
        whole_folder_discard(&folder);
        return status;
    }
    return whole_folder_commit(&folder, error);
}
