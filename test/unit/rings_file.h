/*
 * rings_file.h - shared memory as a peer could pass it, of any size and with any contents.
 */
#ifndef UNIT_RINGS_FILE_H
#define UNIT_RINGS_FILE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* A file in memory. The caller closes it. */
static inline int rings_file(size_t bytes, bool is_sealed)
{
    const int file = memfd_create("rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (ftruncate(file, (off_t)bytes) != 0 ||
        (is_sealed && fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)) {
        (void)close(file);
        return -1;
    }
    return file;
}

/* Pass the first @count of @files over @socket, with one byte. */
static inline bool rings_file_pass(int socket, const int *files, size_t count)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control = {.bytes = {0}};
    char byte = 0;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(head), files, count * sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

/* Receive the file that rings_create() has passed over @socket. */
static inline int rings_file_receive(int socket)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    char byte;
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes)};
    int file = -1;
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message) != NULL) {
        memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(file));
    }
    return file;
}

#endif /* UNIT_RINGS_FILE_H */
