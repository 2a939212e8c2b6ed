/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that answers the socket and sees processes end. It gives rings out of a small stock, so that a process
 * that joins does not wait for memory to be made. Nobody can hold it up: every socket is non-blocking, a connection
 * that says nothing is closed after a second, and there are only so many of them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/options.h"
#include "log/log.h"
#include "recorder/source.h"

#define STOCK_MAX         32u
#define CONNECTIONS_MAX   128u
#define CONNECTION_NS_MAX 1000000000ull
#define EVENTS_MAX        64
#define ANSWER_BYTES_MAX  (128u << 10)
/* Of one user who is neither root nor the daemon's owner. */
#define RINGS_OF_USER_MAX 512u

#define TAG_LISTENER      1ull
#define TAG_WAKE          2ull
#define TAG_CONNECTION    (1ull << 60) /* | index */
#define TAG_PROCESS       (2ull << 60) /* | generation << 16 | index */

struct stock {
    void *memory;
    int fd;
};

struct connection {
    int fd; /* -1: free */
    uint64_t since_ns;
    struct ucred peer;
    bool is_allowed;
    struct trib_source *joined; /* what it was given, until it says that it cannot use it */
    uint32_t generation;
};

struct trib_listener {
    struct trib_recorder *recorder;
    int socket, poll, wake;
    bool owns_path;
    _Atomic(bool) stop;
    bool is_running;
    pthread_t thread;
    struct stock stock[STOCK_MAX];
    unsigned stock_count;
    struct connection connections[CONNECTIONS_MAX];
    unsigned connection_count;
    uint32_t next_number;
    char answer[ANSWER_BYTES_MAX];
};

/* The end of a process is told once: its descriptor stays readable. */
static int watch(struct trib_listener *listener, int fd, uint64_t tag) {
    struct epoll_event event = {.events = EPOLLIN | (tag & TAG_PROCESS ? EPOLLONESHOT : 0), .data.u64 = tag};

    return epoll_ctl(listener->poll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* ---- the stock of rings ---- */

static void fill_stock(struct trib_listener *listener) {
    while (listener->stock_count < STOCK_MAX) {
        struct stock *next = &listener->stock[listener->stock_count];
        if (trib_memory_make("tributary-ring", listener->recorder->ring_bytes, &next->memory, &next->fd) != 0)
            return;
        listener->stock_count++;
    }
}

static bool take_stock(struct trib_listener *listener, struct stock *out) {
    if (listener->stock_count == 0)
        fill_stock(listener);
    if (listener->stock_count == 0)
        return false;
    *out = listener->stock[--listener->stock_count];
    return true;
}

/* ---- programs ---- */

/* Only this thread adds; the merger reads what the count covers. */
static uint16_t number_of_program(struct trib_recorder *recorder, const char *path, size_t length) {
    uint64_t key = trib_hash(path, length);
    uint32_t count = atomic_load_explicit(&recorder->program_count, memory_order_relaxed);
    const size_t room = sizeof recorder->programs[0];

    for (uint32_t i = 0; i < count; i++)
        if (recorder->program_keys[i] == key)
            return (uint16_t)i;
    if (count == TRIB_PROGRAMS_MAX)
        return TRIB_PROGRAMS_MAX - 1;
    recorder->program_keys[count] = key;
    size_t kept = length < room ? length : room - 1; /* the end tells more than the beginning */
    memcpy(recorder->programs[count], path + length - kept, kept);
    atomic_store_explicit(&recorder->program_count, count + 1, memory_order_release);
    return (uint16_t)count;
}

/* ---- joining ---- */

/* The process behind a pidfd as the kernel numbers it here; 0 = not visible, or no pidfd. */
static pid_t pid_of(int process) {
    char path[48], text[512], *line;
    int fd;
    ssize_t got = 0;

    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", process);
    if (process < 0 || (fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        return 0;
    got = read(fd, text, sizeof text - 1);
    close(fd);
    text[got > 0 ? got : 0] = '\0';
    line = strstr(text, "\nPid:\t");
    return line && atol(line + 6) > 0 ? (pid_t)atol(line + 6) : 0;
}

/* What an earlier program of the same process left behind when it called exec. */
static void release_former(struct trib_recorder *recorder, const struct trib_source *mine) {
    uint32_t used = atomic_load(&recorder->sources_used);

    for (uint32_t i = 0; i < used && mine->pid; i++) {
        struct trib_source *other = &recorder->sources[i];
        if (other != mine && atomic_load_explicit(&other->state, memory_order_acquire) == TRIB_SOURCE_TAKEN &&
            other->pid == mine->pid && other->user == mine->user && other->image != mine->image)
            atomic_store_explicit(&other->gone, true, memory_order_release);
    }
}

/* The lowest free one. NULL: all are taken, or as many as this user may have. */
static struct trib_source *find_source(struct trib_recorder *recorder, uid_t user) {
    bool is_trusted = user == 0 || user == geteuid();
    struct trib_source *found = NULL;
    uint32_t used = atomic_load(&recorder->sources_used), of_user = 0;

    for (uint32_t i = 0; i < TRIB_PROCESSES_MAX && (i < used || !found); i++) {
        struct trib_source *source = &recorder->sources[i];
        bool is_free = atomic_load_explicit(&source->state, memory_order_acquire) == TRIB_SOURCE_FREE;
        of_user += !is_free && source->user == user;
        found = is_free && !found ? source : found;
    }
    return is_trusted || of_user < RINGS_OF_USER_MAX ? found : NULL;
}

static void set_up(struct trib_listener *listener, struct trib_source *source, const struct stock *ring,
                   const struct trib_request *request) {
    struct trib_recorder *recorder = listener->recorder;
    uint32_t index = (uint32_t)(source - recorder->sources);

    source->memory = ring->memory;
    trib_ring_bind(&source->ring, (char *)ring->memory + TRIB_PAGE_BYTES, recorder->ring_events);
    source->texts =
        (struct trib_text_ring){(uint8_t *)ring->memory + trib_ring_text_at(recorder->ring_events), ring->memory};
    source->image = request->image;
    source->number = listener->next_number++ & ((1u << (32 - TRIB_THREAD_BITS)) - 1);
    source->program = number_of_program(recorder, request->program, request->program_bytes);
    source->head = source->cursor = source->end = source->last_ns = source->text_at = 0;
    source->counted_events = source->counted_bytes = 0;
    source->counted_broken = 0;
    source->damaged = source->is_gone = false;
    atomic_store_explicit(&source->gone, false, memory_order_relaxed);
    if (index >= atomic_load(&recorder->sources_used))
        atomic_store(&recorder->sources_used, index + 1);
}

/* A process whose end nobody would ever tell must not get a ring for ever. */
static int watch_process(struct trib_listener *listener, struct trib_source *source, int process,
                         const struct ucred *peer, const struct trib_request *request) {
    uint64_t index = (uint64_t)(source - listener->recorder->sources);
    uint64_t tag = TAG_PROCESS | (uint64_t)(source->generation & 0xffffffu) << 16 | index;

    source->user = peer->uid;
    source->pid = pid_of(process);
    source->process = -1;
    if (process >= 0 && source->pid >= 0 && watch(listener, process, tag) == 0)
        source->process = process;
    else if (peer->pid > 0 && request->pid) /* a kernel without pidfds: same namespace, or it would not be visible */
        source->pid = (pid_t)request->pid;
    else
        return -EPROTO;
    return 0;
}

static void count_join(struct trib_recorder *recorder, const struct trib_request *request) {
    atomic_fetch_add(&recorder->processes, 1);
    if (request->epoch)
        atomic_fetch_add(&recorder->rejoined, 1);
    if (request->missed_events && request->missed_events <= UINT32_MAX)
        trib_recorder_count_drops(recorder, request->missed_events, request->missed_bytes);
}

/* 0: `fd` is the ring's, to be sent and closed. */
static int give_ring(struct trib_listener *listener, struct connection *connection, const struct trib_request *request,
                     int process, int *fd) {
    struct trib_recorder *recorder = listener->recorder;
    struct trib_source *source = find_source(recorder, connection->peer.uid);
    struct stock ring;

    if (!source)
        return -EUSERS;
    int code = watch_process(listener, source, process, &connection->peer, request);
    if (code)
        return code;
    if (!take_stock(listener, &ring))
        return -ENOMEM;
    set_up(listener, source, &ring, request);
    release_former(recorder, source);
    connection->joined = source;
    connection->generation = source->generation;
    atomic_store_explicit(&source->state, TRIB_SOURCE_TAKEN, memory_order_release);
    *fd = ring.fd;
    return 0;
}

static bool send_answer(int socket, const struct trib_answer *answer, int ring, int table) {
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

static void join(struct trib_listener *listener, struct connection *connection, const struct trib_request *request,
                 int process) {
    struct trib_recorder *recorder = listener->recorder;
    struct trib_answer answer = {.magic = TRIB_WIRE_MAGIC,
                                 .version = TRIB_WIRE_VERSION,
                                 .ring_events = recorder->ring_events,
                                 .ring_bytes = (uint32_t)recorder->ring_bytes,
                                 .table_bytes = sizeof *recorder->table,
                                 .epoch = recorder->table->epoch};
    int ring = -1;

    if (request->epoch == recorder->table->epoch)
        answer.code = -EALREADY;
    else if (connection->joined)
        answer.code = -EPROTO;
    else
        answer.code = give_ring(listener, connection, request, process, &ring);
    if (answer.code == 0)
        answer.program = connection->joined->program;
    else if (answer.code != -EALREADY)
        atomic_fetch_add(&recorder->refused, 1);
    bool has_got_it = send_answer(connection->fd, &answer, ring, recorder->table_fd);
    if (answer.code == 0 && has_got_it)
        count_join(recorder, request);
    else if (answer.code == 0) /* it has given up waiting */
        atomic_store_explicit(&connection->joined->gone, true, memory_order_release);
    if (ring >= 0)
        close(ring);
    if (process >= 0 && (answer.code || connection->joined->process != process))
        close(process);
}

/* ---- other requests ---- */

static void answer_status(struct trib_listener *listener, struct connection *connection, uint32_t format) {
    const struct trib_recorder_config *config = &listener->recorder->config;
    long length = config->status ? config->status(config->status_arg, format, listener->answer, ANSWER_BYTES_MAX) : 0;

    (void)send(connection->fd, listener->answer, length > 0 ? (size_t)length : 0, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void control(struct trib_listener *listener, struct connection *connection, uint32_t what) {
    struct trib_recorder *recorder = listener->recorder;
    struct trib_answer answer = {.magic = TRIB_WIRE_MAGIC, .version = TRIB_WIRE_VERSION};

    if (connection->peer.uid != 0 && connection->peer.uid != geteuid())
        answer.code = -EACCES;
    else if (what == TRIB_CONTROL_STOP)
        atomic_store(&recorder->asked_to_stop, true);
    else if (what == TRIB_CONTROL_PAUSE || what == TRIB_CONTROL_RESUME)
        trib_recorder_pause(recorder, what == TRIB_CONTROL_PAUSE);
    else
        answer.code = -EINVAL;
    (void)send_answer(connection->fd, &answer, -1, -1);
}

/* The process could not map its ring. */
static void take_back(struct trib_listener *listener, struct connection *connection) {
    struct trib_source *source = connection->joined;

    if (source && source->generation == connection->generation)
        atomic_store_explicit(&source->gone, true, memory_order_release);
    connection->joined = NULL;
    atomic_fetch_add(&listener->recorder->refused, 1);
}

/* ---- connections ---- */

static void end_connection(struct trib_listener *listener, struct connection *connection) {
    close(connection->fd);
    connection->fd = -1;
    connection->joined = NULL;
    listener->connection_count--;
}

/* Descriptor that came along, or -1; the message's length, 0 = end, or -errno. More descriptors than one are closed. */
static long receive(int socket, struct trib_request *request, int *process) {
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

static bool is_whole(const struct trib_request *request, long length) {
    return length >= (long)TRIB_REQUEST_BYTES_MIN && request->magic == TRIB_WIRE_MAGIC &&
           request->program_bytes <= TRIB_PROGRAM_BYTES_MAX &&
           length == (long)TRIB_REQUEST_BYTES_MIN + request->program_bytes;
}

static void refuse(struct trib_listener *listener, struct connection *connection, int code) {
    struct trib_answer answer = {.magic = TRIB_WIRE_MAGIC, .version = TRIB_WIRE_VERSION, .code = code};

    atomic_fetch_add(&listener->recorder->refused, 1);
    (void)send_answer(connection->fd, &answer, -1, -1);
    end_connection(listener, connection);
}

static void serve(struct trib_listener *listener, struct connection *connection) {
    struct trib_request request;
    int process;
    long length = receive(connection->fd, &request, &process);

    if (length == -EAGAIN || length == -EINTR)
        return;
    bool keeps_process = false;
    if (length <= 0) {
        end_connection(listener, connection);
    } else if (!connection->is_allowed) { /* only now: an answer before the question would be lost with the socket */
        refuse(listener, connection, -EACCES);
    } else if (!is_whole(&request, length) || request.version != TRIB_WIRE_VERSION) {
        refuse(listener, connection, -EPROTO);
    } else if (request.kind == TRIB_REQUEST_JOIN) {
        keeps_process = true;
        join(listener, connection, &request, process);
    } else if (request.kind == TRIB_REQUEST_STATUS) {
        answer_status(listener, connection, request.detail);
    } else if (request.kind == TRIB_REQUEST_CONTROL) {
        control(listener, connection, request.detail);
    } else if (request.kind == TRIB_REQUEST_FAILED) {
        take_back(listener, connection);
    } else {
        refuse(listener, connection, -EPROTO);
    }
    if (process >= 0 && !keeps_process)
        close(process);
}

static void welcome(struct trib_listener *listener) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    unsigned index = 0;
    int fd = accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    while (index < CONNECTIONS_MAX && listener->connections[index].fd >= 0)
        index++;
    if (index == CONNECTIONS_MAX || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
        watch(listener, fd, TAG_CONNECTION | index) != 0) {
        close(fd);
        return;
    }
    struct connection *connection = &listener->connections[index];
    *connection = (struct connection){.fd = fd, .since_ns = trib_now_ns(), .peer = peer};
    connection->is_allowed = trib_access_allows(&listener->recorder->config.access, peer.uid, peer.gid);
    listener->connection_count++;
}

static void end_idle_connections(struct trib_listener *listener) {
    uint64_t now_ns = trib_now_ns();

    for (unsigned i = 0; i < CONNECTIONS_MAX && listener->connection_count; i++) {
        struct connection *connection = &listener->connections[i];
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

static void *listen_for_ever(void *arg) {
    struct trib_listener *listener = arg;
    struct epoll_event events[EVENTS_MAX];

    pthread_setname_np(pthread_self(), "tributary-join");
    while (!atomic_load(&listener->stop)) {
        int count = epoll_wait(listener->poll, events, EVENTS_MAX, listener->connection_count ? 250 : -1);
        for (int i = 0; i < count; i++) {
            uint64_t tag = events[i].data.u64;
            if (tag == TAG_LISTENER)
                welcome(listener);
            else if (tag & TAG_PROCESS)
                note_end(listener, tag);
            else if (tag & TAG_CONNECTION && listener->connections[tag & 0xffff].fd >= 0)
                serve(listener, &listener->connections[tag & 0xffff]);
        }
        end_idle_connections(listener);
        fill_stock(listener);
    }
    return NULL;
}

/* ---- open and close ---- */

static int address_of(struct sockaddr_un *out, const char *path, struct trib_error *error) {
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof out->sun_path)
        return trib_fail(error, -ENAMETOOLONG, "socket %.64s...: a path has at most %zu bytes", path,
                         sizeof out->sun_path - 1);
    memcpy(out->sun_path, path, strlen(path) + 1);
    return 0;
}

/* Nobody answers at a socket that is there: its daemon was killed. */
static bool is_stale(const struct sockaddr_un *address) {
    struct stat status;
    int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused =
        probe >= 0 && connect(probe, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;

    if (probe >= 0)
        close(probe);
    return refused && lstat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode);
}

static int bind_path(struct trib_listener *listener, struct trib_error *error) {
    const struct trib_recorder_config *config = &listener->recorder->config;
    struct sockaddr_un address;
    int code = address_of(&address, config->address, error);

    if (code)
        return code;
    listener->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->socket < 0)
        return trib_fail(error, -errno, "no socket: %s", strerror(errno));
    const struct sockaddr *where = (const struct sockaddr *)&address;
    mode_t before = umask(trib_access_has_others(&config->access) ? 0111 : 0177);
    code = bind(listener->socket, where, sizeof address) ? -errno : 0;
    if (code == -EADDRINUSE && is_stale(&address) && unlink(address.sun_path) == 0)
        code = bind(listener->socket, where, sizeof address) ? -errno : 0;
    umask(before);
    if (code)
        return trib_fail(error, code, "socket %s: %s", config->address,
                         code == -EADDRINUSE ? "another daemon has it" : strerror(-code));
    listener->owns_path = true;
    if (listen(listener->socket, 128) != 0)
        return trib_fail(error, -errno, "socket %s: %s", config->address, strerror(errno));
    return 0;
}

static int start(struct trib_listener *listener) {
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = -pthread_create(&listener->thread, NULL, listen_for_ever, listener);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    listener->is_running = code == 0;
    return code;
}

int trib_listener_open(struct trib_listener **out, struct trib_recorder *recorder, struct trib_error *error) {
    struct trib_listener *listener = calloc(1, sizeof *listener);

    if (!listener)
        return trib_fail(error, -ENOMEM, "out of memory for a listener");
    *out = listener;
    listener->recorder = recorder;
    for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
        listener->connections[i].fd = -1;
    listener->poll = epoll_create1(EPOLL_CLOEXEC);
    listener->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    listener->socket = recorder->config.listener;
    int code = listener->socket < 0 ? bind_path(listener, error) : 0;
    if (code == 0 && (code = watch(listener, listener->socket, TAG_LISTENER)) == 0)
        code = watch(listener, listener->wake, TAG_WAKE);
    if (code == 0)
        fill_stock(listener);
    if (code == 0)
        code = start(listener);
    if (code && !error->text[0])
        trib_fail(error, code, "cannot listen: %s", strerror(-code));
    return code;
}

void trib_listener_stop(struct trib_listener *listener) {
    uint64_t one = 1;

    if (!listener || !listener->is_running)
        return;
    atomic_store(&listener->stop, true);
    if (write(listener->wake, &one, sizeof one) == sizeof one)
        pthread_join(listener->thread, NULL);
    listener->is_running = false;
    if (listener->owns_path)
        unlink(listener->recorder->config.address);
    close(listener->socket);
    listener->socket = -1;
    for (unsigned i = 0; i < CONNECTIONS_MAX; i++)
        if (listener->connections[i].fd >= 0)
            end_connection(listener, &listener->connections[i]);
}

void trib_listener_close(struct trib_listener *listener) {
    if (!listener)
        return;
    trib_listener_stop(listener);
    for (unsigned i = 0; i < listener->stock_count; i++) {
        munmap(listener->stock[i].memory, listener->recorder->ring_bytes);
        close(listener->stock[i].fd);
    }
    if (listener->socket >= 0)
        close(listener->socket);
    if (listener->poll >= 0)
        close(listener->poll);
    if (listener->wake >= 0)
        close(listener->wake);
    free(listener);
}
