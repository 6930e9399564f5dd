/* generate_folder.h - a folder of generated workflows: theirs, their profile, their scenario. */
#ifndef LAB_GENERATE_FOLDER_H
#define LAB_GENERATE_FOLDER_H

#include <stdio.h>

#include "document/profile_document.h"

/* What goes into the folder. */
struct generated {
    const struct catalogue *catalogue; /* A file for each of its workflows. */
    const struct fleet *fleet;
    const struct profile_document *profile;
    const char *profile_file;
    const char *scenario_file; /* NULL: there is none. */
    void (*write_scenario)(const void *context, FILE *file);
    const void *context;
};

/* Write all files to the new folder @path; none if one fails. Errors: WEFT_IO, WEFT_INVALID. */
enum weft_status generate_save(
    const struct generated *generated, const char *path, struct weft_error *error);

#endif /* LAB_GENERATE_FOLDER_H */
