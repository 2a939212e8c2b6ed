/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that answers the socket and sees processes end. Nobody can hold it up: every socket is non-blocking, a
 * connection that says nothing is closed after a second, there are only so many of them, and one user, or all users
 * that are not on the list, have only a part of those. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "recorder/address.h"
#include "recorder/listener.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif

#define CONNECTION_NS_MAX 1000000000ull
#define EVENTS_MAX        64
#define KEPT_MAX          64u  /* of those who asked for the end: more do not wait for it */
#define WELCOMED_MAX      512u /* between two looks at who says something */
/* Of one user who is neither root nor the daemon's owner, and of all users who are not on the list. */
#define CONNECTIONS_OF_USER_MAX 32u

int trib_listener_watch(struct trib_listener *listener, int fd, uint64_t tag) {
    struct epoll_event event = {.events = EPOLLIN | (tag & TRIB_TAG_PROCESS ? EPOLLONESHOT : 0), .data.u64 = tag};

    return epoll_ctl(listener->poll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* Before it is closed: whoever else has the descriptor would keep it in the poll, under a tag that others get. */
void trib_listener_unwatch(struct trib_listener *listener, int fd) {
    (void)epoll_ctl(listener->poll, EPOLL_CTL_DEL, fd, NULL);
}

/* ---- other requests ---- */

static void answer_status(struct trib_listener *listener, struct trib_connection *connection, uint32_t format) {
    const struct trib_recorder_config *config = &listener->recorder->config;
    long length =
        config->status ? config->status(config->status_arg, format, listener->answer, TRIB_ANSWER_BYTES_MAX) : 0;

    (void)send(connection->fd, listener->answer, length > 0 ? (size_t)length : 0, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Whoever asked for the end waits for this connection to close, which the kernel does when the process is gone: state,
 * trace and socket are then free for another daemon. Nobody closes it before. */
static void keep_to_the_end(struct trib_listener *listener, int connection) {
    if (listener->kept_count < KEPT_MAX && fcntl(connection, F_DUPFD_CLOEXEC, 0) >= 0)
        listener->kept_count++;
}

static void control(struct trib_listener *listener, struct trib_connection *connection, uint32_t what) {
    struct trib_recorder *recorder = listener->recorder;
    struct trib_answer answer = {.magic = TRIB_WIRE_MAGIC, .version = TRIB_WIRE_VERSION};

    if (connection->peer.uid != 0 && connection->peer.uid != geteuid())
        answer.code = -EACCES;
    else if (what == TRIB_CONTROL_STOP) {
        keep_to_the_end(listener, connection->fd);
        atomic_store(&recorder->asked_to_stop, true);
    } else if (what == TRIB_CONTROL_PAUSE || what == TRIB_CONTROL_RESUME)
        trib_recorder_pause(recorder, what == TRIB_CONTROL_PAUSE);
    else
        answer.code = -EINVAL;
    (void)trib_exchange_send(connection->fd, &answer, -1, -1);
}

/* ---- connections ---- */

/* From now on nobody can send a descriptor here, where the kernel knows how to say that (6.16); what was sent before
 * still waits. */
static void want_no_descriptors(struct trib_connection *connection) {
    const int no = 0;
    char byte;

    connection->is_bare = setsockopt(connection->fd, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof no) == 0 &&
                          recv(connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static void end_connection(struct trib_listener *listener, struct trib_connection *connection) {
    trib_listener_unwatch(listener, connection->fd);
    if (connection->is_bare)
        close(connection->fd);
    else
        trib_closer_add(listener, connection->fd);
    connection->fd = -1;
    connection->joined = NULL;
    listener->connection_count--;
}

static void refuse(struct trib_listener *listener, struct trib_connection *connection, int code) {
    struct trib_answer answer = {.magic = TRIB_WIRE_MAGIC, .version = TRIB_WIRE_VERSION, .code = code};

    trib_recorder_refuse(listener->recorder, &connection->peer, code);
    (void)trib_exchange_send(connection->fd, &answer, -1, -1);
    end_connection(listener, connection);
}

/* What is watched by a pidfd that others have, too, is theirs to prolong: its last close goes through all of it. */
static void drop(struct trib_listener *listener, int process) {
    if (process >= 0)
        trib_closer_add_later(listener, process);
}

/* Nothing is received of somebody who is not on the list: his message is closed with the connection, which waits for
 * him to read the answer, as that would be lost with the socket. */
static void turn_away(struct trib_listener *listener, struct trib_connection *connection) {
    struct trib_answer answer = {.magic = TRIB_WIRE_MAGIC, .version = TRIB_WIRE_VERSION, .code = -EACCES};
    struct epoll_event hangup = {.data.u64 = TRIB_TAG_CONNECTION | (uint64_t)(connection - listener->connections)};

    if (!connection->is_refused && trib_exchange_send(connection->fd, &answer, -1, -1) &&
        epoll_ctl(listener->poll, EPOLL_CTL_MOD, connection->fd, &hangup) == 0) {
        connection->is_refused = true;
        trib_recorder_refuse(listener->recorder, &connection->peer, -EACCES);
    } else {
        end_connection(listener, connection);
    }
}

/* A whole request of somebody who is on the list. Keeps or closes the pidfd. */
static void answer(struct trib_listener *listener, struct trib_connection *connection,
                   const struct trib_request *request, int process) {
    if (!connection->is_bare)
        want_no_descriptors(connection);
    if (request->kind == TRIB_REQUEST_JOIN) {
        trib_listener_join(listener, connection, request, process);
        return;
    }
    drop(listener, process);
    if (request->kind == TRIB_REQUEST_STATUS)
        answer_status(listener, connection, request->detail);
    else if (request->kind == TRIB_REQUEST_CONTROL)
        control(listener, connection, request->detail);
    else if (request->kind == TRIB_REQUEST_FAILED)
        trib_listener_take_back(listener, connection, request->detail);
    else
        refuse(listener, connection, -EPROTO);
}

static void serve(struct trib_listener *listener, struct trib_connection *connection) {
    struct trib_request request;
    int process, foreign;

    if (!connection->is_allowed) {
        turn_away(listener, connection);
        return;
    }
    if (!trib_closer_has_room(connection->peer.uid)) {
        end_connection(listener, connection); /* unread */
        return;
    }
    long length = trib_exchange_receive(connection->fd, &request, &process, &foreign);
    if (length == -EAGAIN || length == -EINTR)
        return;
    if (foreign >= 0)
        trib_closer_park(connection->peer.uid, foreign);
    bool is_whole = trib_exchange_is_whole(&request, length) && request.version == TRIB_WIRE_VERSION;
    if (length > 0 && is_whole) {
        answer(listener, connection, &request, process);
        return;
    }
    drop(listener, process);
    if (length <= 0 && length != -EBADMSG)
        end_connection(listener, connection);
    else /* only now: an answer before the question would be lost with the socket */
        refuse(listener, connection, -EPROTO);
}

/* May this user have one more? Users who are not on the list count as one: whoever may make many is no better off. */
static bool has_room_for(const struct trib_listener *listener, const struct ucred *peer, bool is_allowed) {
    unsigned of_user = 0;

    if (peer->uid == 0 || peer->uid == geteuid())
        return true;
    for (unsigned i = 0; i < TRIB_CONNECTIONS_MAX; i++) {
        const struct trib_connection *other = &listener->connections[i];
        if (other->fd >= 0 && other->is_allowed == is_allowed && (!is_allowed || other->peer.uid == peer->uid))
            of_user++;
    }
    return of_user < CONNECTIONS_OF_USER_MAX;
}

/* Without a descriptor to accept with, the poll would return at once, over and over. */
static void rest_if_exhausted(int error) {
    const struct timespec pause = {.tv_nsec = 10000000};

    if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS)
        nanosleep(&pause, NULL);
}

/* False: nobody else waits. */
static bool welcome(struct trib_listener *listener) {
    const struct trib_access *access = &listener->recorder->config.access;
    struct ucred peer;
    socklen_t length = sizeof peer;
    unsigned index = 0;
    int fd = accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        rest_if_exhausted(errno);
        return false;
    }
    while (index < TRIB_CONNECTIONS_MAX && listener->connections[index].fd >= 0)
        index++;
    bool is_known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    bool is_allowed = is_known && trib_access_allows(access, peer.uid, peer.gid);
    if (!is_known || index == TRIB_CONNECTIONS_MAX || !has_room_for(listener, &peer, is_allowed) ||
        trib_listener_watch(listener, fd, TRIB_TAG_CONNECTION | index) != 0) {
        atomic_fetch_add(&listener->recorder->refused, 1);
        trib_closer_add(listener, fd);
        return true;
    }
    listener->connections[index] =
        (struct trib_connection){.fd = fd, .since_ns = trib_now_ns(), .peer = peer, .is_allowed = is_allowed};
    listener->connection_count++;
    return true;
}

/* Many at a time: whoever connects faster than one a turn must not keep the others waiting. */
static void welcome_all(struct trib_listener *listener) {
    unsigned welcomed = 0;

    while (welcomed < WELCOMED_MAX && welcome(listener))
        welcomed++;
}

static void end_idle_connections(struct trib_listener *listener) {
    uint64_t now_ns = trib_now_ns();

    for (unsigned i = 0; i < TRIB_CONNECTIONS_MAX && listener->connection_count; i++) {
        struct trib_connection *connection = &listener->connections[i];
        if (connection->fd >= 0 && now_ns - connection->since_ns > CONNECTION_NS_MAX)
            end_connection(listener, connection);
    }
}

/* ---- the thread ---- */

static void note_end(struct trib_listener *listener, uint64_t tag) {
    struct trib_source *source = &listener->recorder->sources[tag & 0xffff];
    uint32_t generation = (uint32_t)(tag >> 16) & 0xffffff;

    if (atomic_load_explicit(&source->state, memory_order_acquire) != TRIB_SOURCE_TAKEN ||
        (source->generation & 0xffffff) != generation)
        return;
    atomic_store_explicit(&source->gone, true, memory_order_release);
}

/* It says that joins are answered (wire.h). Where it may not, processes have less patience. */
static void touch_socket(struct trib_listener *listener) {
    uint64_t now_ns = trib_now_ns();

    if (now_ns - listener->touched_ns < TRIB_TOUCH_NS)
        return;
    listener->touched_ns = now_ns;
    (void)utimensat(AT_FDCWD, listener->recorder->config.address, NULL, AT_SYMLINK_NOFOLLOW);
}

static void *listen_for_ever(void *arg) {
    struct trib_listener *listener = arg;
    struct epoll_event events[EVENTS_MAX];

    pthread_setname_np(pthread_self(), "tributary-join");
    while (!atomic_load(&listener->stop)) {
        int count = epoll_wait(listener->poll, events, EVENTS_MAX, TRIB_TOUCH_NS / 1000000);
        touch_socket(listener);
        for (int i = 0; i < count; i++) {
            uint64_t tag = events[i].data.u64;
            if (tag == TRIB_TAG_LISTENER)
                welcome_all(listener);
            else if (tag & TRIB_TAG_PROCESS)
                note_end(listener, tag);
            else if (tag & TRIB_TAG_CONNECTION && listener->connections[tag & 0xffff].fd >= 0)
                serve(listener, &listener->connections[tag & 0xffff]);
        }
        end_idle_connections(listener);
        if (listener->is_somebody_waiting || count <= 0)
            trib_closer_run(listener);
        trib_stock_fill(listener);
    }
    return NULL;
}

/* ---- open and close ---- */

int trib_listener_start(struct trib_listener *listener) {
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = -pthread_create(&listener->thread, NULL, listen_for_ever, listener);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    listener->is_running = code == 0;
    return code;
}

static int listen_at_path(struct trib_listener *listener, struct trib_error *error) {
    const struct trib_recorder_config *config = &listener->recorder->config;
    int code = trib_address_listen(config->address, &config->access, &listener->socket, error);
    struct stat status;

    if (code || lstat(config->address, &status) != 0)
        return code;
    memcpy(listener->path, config->address, strlen(config->address) + 1);
    listener->path_device = status.st_dev;
    listener->path_inode = status.st_ino;
    return 0;
}

int trib_listener_open(struct trib_listener **out, struct trib_recorder *recorder, struct trib_error *error) {
    struct trib_listener *listener = calloc(1, sizeof *listener);

    if (!listener)
        return trib_fail(error, -ENOMEM, "out of memory for a listener");
    *out = listener;
    listener->recorder = recorder;
    for (unsigned i = 0; i < TRIB_CONNECTIONS_MAX; i++)
        listener->connections[i].fd = -1;
    listener->poll = epoll_create1(EPOLL_CLOEXEC);
    listener->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    listener->socket = recorder->config.listener;
    if (listener->socket >= 0) /* systemd's waits: all who are there are accepted, until there is nobody */
        (void)fcntl(listener->socket, F_SETFL, fcntl(listener->socket, F_GETFL) | O_NONBLOCK);
    int code = listener->socket < 0 ? listen_at_path(listener, error) : 0;
    if (code == 0 && (code = trib_listener_watch(listener, listener->socket, TRIB_TAG_LISTENER)) == 0)
        code = trib_listener_watch(listener, listener->wake, TRIB_TAG_WAKE);
    if (code == 0)
        trib_stock_fill(listener);
    if (code && !error->text[0])
        trib_fail(error, code, "cannot listen: %s", strerror(-code));
    return code;
}

/* Under the lock, so that nobody takes the path between the look and the removal. */
static void leave_path(struct trib_listener *listener) {
    char lock_path[sizeof listener->path + sizeof ".lock"];
    struct stat status;
    int lock = -1;

    if (!listener->path[0])
        return;
    snprintf(lock_path, sizeof lock_path, "%s.lock", listener->path);
    (void)trib_address_lock(lock_path, true, &lock);
    if (lstat(listener->path, &status) == 0 && status.st_dev == listener->path_device &&
        status.st_ino == listener->path_inode)
        unlink(listener->path);
    trib_address_unlock(lock_path, lock);
}

void trib_listener_stop(struct trib_listener *listener) {
    uint64_t one = 1;

    if (!listener || listener->socket < 0)
        return;
    atomic_store(&listener->stop, true);
    if (listener->is_running && write(listener->wake, &one, sizeof one) == sizeof one)
        pthread_join(listener->thread, NULL);
    listener->is_running = false;
    leave_path(listener);
    trib_closer_add(listener, listener->socket); /* with whoever nobody has accepted yet */
    listener->socket = -1;
    for (unsigned i = 0; i < TRIB_CONNECTIONS_MAX; i++)
        if (listener->connections[i].fd >= 0)
            end_connection(listener, &listener->connections[i]);
    trib_closer_run(listener);
}

void trib_listener_close(struct trib_listener *listener) {
    if (!listener)
        return;
    trib_listener_stop(listener);
    trib_stock_drop(listener);
    if (listener->poll >= 0)
        close(listener->poll);
    if (listener->wake >= 0)
        close(listener->wake);
    free(listener);
}
