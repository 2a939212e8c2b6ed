/* SPDX-License-Identifier: Apache-2.0 */
/* Messages on the socket: whole or not at all, never blocking, at most one descriptor in. No state. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "recorder/listener.h"

#define OF_PIDFD ((idtype_t)3) /* P_PIDFD, Linux 5.4 */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

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

/* Asked of wait, which looks at what kind of file it is and runs nothing of it. Whatever asks the file itself (fstat,
 * an ioctl, its fdinfo) has others' code answer, waits for a lock that they hold, or prints all that they put in. */
static bool is_pidfd(int fd) {
    siginfo_t unused;

    return waitid(OF_PIDFD, (id_t)fd, &unused, WEXITED | WNOHANG | WNOWAIT) == 0 || errno == ECHILD;
}

int trib_exchange_peer(int socket) {
    socklen_t length = sizeof(int);
    int process;

    return getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &process, &length) == 0 ? process : -1;
}

/* The message is looked at before it is taken: with it go its descriptors, and closing those might take long. */
long trib_exchange_receive(int socket, struct trib_request *request, int *process, int *foreign) {
    struct iovec part = {request, sizeof *request};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } given = {.bytes = {0}};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &given, .msg_controllen = CMSG_LEN(sizeof(int))};
    long got = recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    int fd = -1;

    *process = *foreign = -1;
    if (got < 0)
        return -errno;
    if (message.msg_controllen >= CMSG_LEN(sizeof fd) && given.head.cmsg_level == SOL_SOCKET &&
        given.head.cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(&given.head), sizeof fd);
    *(fd >= 0 && is_pidfd(fd) ? process : foreign) = fd;
    if (*foreign >= 0 || message.msg_flags & MSG_CTRUNC)
        return -EBADMSG;
    return got ? recv(socket, request, sizeof *request, MSG_DONTWAIT) : 0;
}

bool trib_exchange_is_whole(const struct trib_request *request, long length) {
    return length >= (long)TRIB_REQUEST_BYTES_MIN && request->magic == TRIB_WIRE_MAGIC &&
           request->program_bytes <= TRIB_PROGRAM_BYTES_MAX &&
           length == (long)TRIB_REQUEST_BYTES_MIN + request->program_bytes;
}
