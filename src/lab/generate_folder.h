/* generate_folder.h - the files that every folder of workflows has. */
#ifndef LAB_GENERATE_FOLDER_H
#define LAB_GENERATE_FOLDER_H

#include "console/whole_file.h"
#include "console/whole_folder.h"

struct catalogue;

/* Begin the file @name of @folder. Errors: those of whole_file_open(). */
enum weft_status generate_open(
    const struct whole_folder *folder, const char *name, struct whole_file *file_out,
    struct weft_error *error);

/* Write every workflow of @catalogue to a file of its name. Errors: WEFT_IO. */
enum weft_status generate_save(
    const struct catalogue *catalogue, const struct whole_folder *folder, struct weft_error *error);

#endif /* LAB_GENERATE_FOLDER_H */
