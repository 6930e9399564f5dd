/* local_index.h - a served repository as the server tells clients of it. */
#ifndef CLI_LOCAL_INDEX_H
#define CLI_LOCAL_INDEX_H

#include "cli/measure_repository.h"
#include "server/server.h"

/*
 * What clients are told of the models in @measured, which is borrowed: versions, what could
 * not be loaded and why, and types of outputs as far as models say them. What could not be
 * loaded is tried again when somebody asks for it.
 */
struct server_repository local_index(struct measured *measured);

#endif /* CLI_LOCAL_INDEX_H */
