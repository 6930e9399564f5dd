/*
 * repository_profile.h - the profiles of a repository: FOLDER/profiles/NAME.profile.json.
 *
 * One file for each kind of device and version of the library that ran the models: what was
 * measured with another says nothing. A file is replaced only by a whole one, so that an
 * interruption loses nothing.
 */
#ifndef DOCUMENT_REPOSITORY_PROFILE_H
#define DOCUMENT_REPOSITORY_PROFILE_H

#include "document/profile_document.h"
#include "document/repository.h"

/*
 * What was measured on devices of kind @device, which @fleet has, with @library; an empty
 * profile if nothing was. Functions of Weft itself are in it. On success the caller owns
 * document_out->profile.
 *
 * Errors: those of tree_load() and profile_read().
 */
enum weft_status repository_profile_load(
    const struct repository *repository, struct fleet *fleet, const char *device,
    const char *library, struct profile_document *document_out, struct weft_error *error);

/*
 * Keep the listed models of @document, which is of @device alone, there, in a folder that is made
 * if it must be.
 *
 * Errors: those of profile_save(); WEFT_IO if that folder cannot be made.
 */
enum weft_status repository_profile_save(
    const struct repository *repository, const struct fleet *fleet, const char *device,
    const char *library, const struct profile_document *document, struct weft_error *error);

/*
 * The device to emulate if none is named: the first that the first profile has figures for.
 * Its name in @device_out and the profile's path, which belongs to @repository.
 *
 * Errors: WEFT_NOT_FOUND if there is no profile, or it has no device.
 */
enum weft_status repository_profile_any(
    struct repository *repository, const char *wanted, char device_out[NAME_BYTES_MAX],
    const char **path_out, struct weft_error *error);

/*
 * Read the profile at @path for the devices of @fleet, and see that every task has a run
 * time: for emulated workers. On success the caller owns document_out->profile.
 *
 * Errors: also WEFT_NOT_FOUND if a model has none.
 */
enum weft_status repository_profile_read(
    const struct repository *repository, struct fleet *fleet, const char *path,
    struct profile_document *document_out, struct weft_error *error);

#endif /* DOCUMENT_REPOSITORY_PROFILE_H */
