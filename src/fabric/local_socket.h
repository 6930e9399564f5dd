/*
 * local_socket.h - Unix sockets between processes of one user on one machine, found by name.
 *
 * Names are those of the network namespace, not of files: a process that has ended leaves none
 * behind, and containers with a network of their own do not find each other.
 */
#ifndef FABRIC_LOCAL_SOCKET_H
#define FABRIC_LOCAL_SOCKET_H

#include <stdbool.h>

/* A socket that listens under @name and never blocks. -1, with errno, if there is none. */
int local_socket_listen(const char *name);

/* A socket connected to a process of the same user that listens under @name. -1: there is none. */
int local_socket_dial(const char *name);

/* Whether the process at the other end belongs to the user of this one. */
bool local_socket_is_own(int socket);

#endif /* FABRIC_LOCAL_SOCKET_H */
