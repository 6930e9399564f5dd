/*
 * whole_folder.h - a new folder that is there with all its files or not at all.
 *
 * Files are written into a folder beside the one that is wanted, which takes its name at
 * whole_folder_commit(). A folder that has anything in it is not replaced.
 */
#ifndef CONSOLE_WHOLE_FOLDER_H
#define CONSOLE_WHOLE_FOLDER_H

#include <weft/status.h>

struct whole_folder {
    char *path;      /* Where it is to be; owned. */
    char *temporary; /* Where it is; owned. */
};

/* Errors: WEFT_IO, WEFT_EXISTS; @error names the path and the cause. */
enum weft_status whole_folder_open(
    struct whole_folder *whole, const char *path, struct weft_error *error);

/* The path that the file @name of the folder has now. The caller owns it: free(). */
char *whole_folder_file(const struct whole_folder *whole, const char *name);

/* Give the folder its name. Errors: WEFT_IO; nothing is left then. */
enum weft_status whole_folder_commit(struct whole_folder *whole, struct weft_error *error);

/* Remove the folder and its files. For one that is closed already, nothing. */
void whole_folder_discard(struct whole_folder *whole);

#endif /* CONSOLE_WHOLE_FOLDER_H */
