#include "fabric/local_socket.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128 };

/* Write the address of @name: its length, 0 if the name is too long. */
static socklen_t name_address(const char *name, struct sockaddr_un *address_out)
{
    *address_out = (struct sockaddr_un){.sun_family = AF_UNIX};
    char *text = address_out->sun_path + 1; /* After a 0 byte: not a file. */
    const size_t room = sizeof(address_out->sun_path) - 1;
    const int length = snprintf(text, room, "weft/%s", name);
    if (length < 0 || (size_t)length >= room) {
        return 0;
    }
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int local_socket_listen(const char *name)
{
    struct sockaddr_un address;
    const socklen_t length = name_address(name, &address);
    if (length == 0) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0) {
        return -1;
    }
    if (bind(made, (const struct sockaddr *)&address, length) != 0 || listen(made, BACKLOG) != 0) {
        const int cause = errno;
        (void)close(made);
        errno = cause;
        return -1;
    }
    return made;
}

int local_socket_dial(const char *name)
{
    struct sockaddr_un address;
    const socklen_t length = name_address(name, &address);
    const int made =
        length == 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0) {
        return -1;
    }
    if (connect(made, (const struct sockaddr *)&address, length) != 0 ||
        !local_socket_is_own(made)) {
        (void)close(made);
        return -1;
    }
    return made;
}

bool local_socket_is_own(int socket)
{
    struct ucred other;
    socklen_t length = sizeof(other);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &length) == 0 &&
           other.uid == geteuid();
}
