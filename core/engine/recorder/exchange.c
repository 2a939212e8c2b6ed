/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on the socket: whole or not at all, never blocking, at most one descriptor in. No state. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The process behind a pidfd as the kernel numbers it here; 0 = not visible; -1 = not a pidfd. It says so in /proc:
 * nobody else's code is run to ask. */
static pid_t pid_of(int fd) {
    char path[48], text[512], *line;

    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    int info = open(path, O_RDONLY | O_CLOEXEC);
    if (info < 0)
        return -1;
    ssize_t got = read(info, text, sizeof text - 1);
    close(info);
    text[got > 0 ? got : 0] = '\0';
    line = strstr(text, "\nPid:\t");
    return !line ? -1 : atol(line + 6) > 0 ? (pid_t)atol(line + 6) : 0;
}

/* The message is looked at before it is taken: with it go its descriptors, and closing those might take long. */
long trib_exchange_receive(int socket, struct trib_request *request, struct trib_caller *caller, int *foreign) {
    struct iovec part = {request, sizeof *request};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } given = {.bytes = {0}};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &given, .msg_controllen = CMSG_LEN(sizeof(int))};
    long got = recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    int fd = -1;

    *caller = (struct trib_caller){.process = -1};
    *foreign = -1;
    if (got < 0)
        return -errno;
    if (message.msg_controllen >= CMSG_LEN(sizeof fd) && given.head.cmsg_level == SOL_SOCKET &&
        given.head.cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(&given.head), sizeof fd);
    pid_t pid = fd >= 0 ? pid_of(fd) : -1;
    if (pid >= 0)
        *caller = (struct trib_caller){fd, pid};
    else
        *foreign = fd;
    if (*foreign >= 0 || message.msg_flags & MSG_CTRUNC)
        return -EBADMSG;
    return got ? recv(socket, request, sizeof *request, MSG_DONTWAIT) : 0;
}

bool trib_exchange_is_whole(const struct trib_request *request, long length) {
    return length >= (long)TRIB_REQUEST_BYTES_MIN && request->magic == TRIB_WIRE_MAGIC &&
           request->program_bytes <= TRIB_PROGRAM_BYTES_MAX &&
           length == (long)TRIB_REQUEST_BYTES_MIN + request->program_bytes;
}
