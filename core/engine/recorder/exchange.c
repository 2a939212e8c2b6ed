/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on the socket: whole or not at all, never blocking, at most one descriptor in. No state. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "recorder/listener.h"

bool trib_exchange_send(int socket, const struct trib_answer *answer, int ring, int table) {
    struct iovec part = {(void *)(uintptr_t)answer, sizeof *answer};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int given[2] = {ring, table};

    if (ring >= 0) {
        control.head.cmsg_len = CMSG_LEN(sizeof given);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        memcpy(CMSG_DATA(&control.head), given, sizeof given);
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *answer;
}

/* More descriptors than one are closed. */
long trib_exchange_receive(int socket, struct trib_request *request, int *process) {
    struct iovec part = {request, sizeof *request};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } given = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &given, .msg_controllen = sizeof given};
    long got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    *process = -1;
    if (got < 0)
        return -errno;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
            if (*process < 0)
                *process = fd;
            else
                close(fd);
        }
    }
    return got;
}

bool trib_exchange_is_whole(const struct trib_request *request, long length) {
    return length >= (long)TRIB_REQUEST_BYTES_MIN && request->magic == TRIB_WIRE_MAGIC &&
           request->program_bytes <= TRIB_PROGRAM_BYTES_MAX &&
           length == (long)TRIB_REQUEST_BYTES_MIN + request->program_bytes;
}
