/*
 * etcd_process.h - an etcd of its own for a test: members on free ports, in a temporary folder.
 */
#ifndef CONFORMANCE_ETCD_PROCESS_H
#define CONFORMANCE_ETCD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { ETCD_PROCESSES_MAX = 3 };

struct etcd_processes {
    uint32_t count;
    char folder[64];
    char cluster[256]; /* As --initial-cluster wants it. */
    uint16_t client_ports[ETCD_PROCESSES_MAX];
    uint16_t peer_ports[ETCD_PROCESSES_MAX];
    pid_t pids[ETCD_PROCESSES_MAX]; /* 0: it does not run. */
    const char *certificate;        /* With the next, for TLS to clients. NULL: plain. */
    const char *key;
    const char *authority; /* Of that certificate. */
};

/* Whether there is an etcd to start. */
bool etcd_is_installed(void);

/* Start @count of them, all zero but for certificate and key before, and wait until they answer. */
void etcd_start(struct etcd_processes *etcd, uint32_t count);

/* Start member @index again, with what it has on disk. */
void etcd_start_one(struct etcd_processes *etcd, uint32_t index);

/* Kill member @index at once. */
void etcd_kill_one(struct etcd_processes *etcd, uint32_t index);

/* Wait until a member answers. */
void etcd_wait(const struct etcd_processes *etcd);

/* Ask member @index @body at @path. It must answer well. */
void etcd_ask(
    const struct etcd_processes *etcd, uint32_t index, const char *path, const char *body);

/* Let member @index forget all but the last revision. */
void etcd_compact(const struct etcd_processes *etcd, uint32_t index);

/* End all, and remove the folder. */
void etcd_stop(struct etcd_processes *etcd);

#endif /* CONFORMANCE_ETCD_PROCESS_H */
