/* serve.h - the parts of `weft serve`: scenarios are played, repositories are served. */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "cli/command.h"
#include "service/clustered.h"
#include "service/service.h"

/* What the command line says. */
struct serve_values {
    bool emulated;
    bool admits_all;
    const char *policy;
    const char *rate;
    struct argument_count workers;
    const char *memory;
    struct argument_count gpus;
    struct argument_count seed;
    struct argument_count seconds;
    struct argument_count drain;
    const char *log_format;
    const char *log_level;
    struct argument_list sets;
    const char *trace;
    bool why;
    bool plain;
    bool json;
    struct listen_where listen;
    struct cluster_where cluster;
    const char *fetch; /* As fetch_parse() reads it. */
};

/* Serve the arrivals of @scenario, print how it went beside the prediction. The exit code. */
int serve_played(
    const struct command *command, const struct service_options *options, struct scenario *scenario,
    bool json);

/* Serve what comes, from wherever. The exit code. */
int serve_clients(const struct command *command, const struct service_options *options, bool json);

/* Serve the repository at @folder. The exit code. */
int serve_repository(
    const struct command *command, const char *folder, const struct serve_values *values,
    struct log *log);

/* How long the end may wait for answers, as struct service_options wants it. */
int64_t serve_drain_ns(const struct serve_values *values);

#endif /* CLI_SERVE_H */
