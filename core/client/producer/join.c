/* SPDX-License-Identifier: Apache-2.0 */
/* The way to the daemon: one request, one answer, and for a join two mappings. All of it happens aside (aside.h), so no
 * descriptor of the program is ever seen, taken or moved, whatever its limits are. */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include <tributary/signature.h>

#include "base/raw.h"
#include "producer/client.h"

#define JOIN_WAIT_MS   200 /* for the answer of a daemon that lives */
#define STALE_WAIT_MS  2   /* of one that shows no life: it may be stopped, and nobody waits for that */
#define STATUS_WAIT_MS 1000
#define GIVEN_MAX      2 /* descriptors of an answer */

struct errand {
    const char *address;
    struct trib_request request;
    struct trib_attachment *into;
    bool memory_is_free;        /* not counted when it is reserved */
    struct trib_status *status; /* NULL: a join */
};

/* Without libc's functions, which a sanitizer may stand in front of. */
static void copy(void *to, const void *from, size_t count) {
    for (size_t i = 0; i < count; i++)
        ((volatile char *)to)[i] = ((const volatile char *)from)[i];
}

static void clear(void *to, size_t count) {
    for (size_t i = 0; i < count; i++)
        ((volatile char *)to)[i] = 0;
}

/* A daemon that lives touches its socket (listener.c). Wrong clocks and sockets that it may not touch cost patience,
 * not the join. */
static int patience_ms(const char *address) {
    struct timespec now = {0, 0};
    struct stat status;

    clear(&status, sizeof status);
    if (TRIB_RAW(SYS_newfstatat, AT_FDCWD, address, &status, 0) != 0 ||
        TRIB_RAW(SYS_clock_gettime, CLOCK_REALTIME, &now) != 0)
        return STALE_WAIT_MS;
    int64_t age_ns = (int64_t)(now.tv_sec - status.st_mtim.tv_sec) * 1000000000 + now.tv_nsec - status.st_mtim.tv_nsec;
    return age_ns > (int64_t)TRIB_SILENCE_NS ? STALE_WAIT_MS : JOIN_WAIT_MS;
}

long trib_connect(const char *address) {
    struct sockaddr_un to;
    size_t length = 0;

    clear(&to, sizeof to);
    to.sun_family = AF_UNIX;
    for (; address[length] && length < sizeof to.sun_path - 1; length++)
        to.sun_path[length] = address[length];
    long fd = TRIB_RAW(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    long rc = fd < 0 ? fd : TRIB_RAW(SYS_connect, fd, &to, offsetof(struct sockaddr_un, sun_path) + length + 1);
    if (rc >= 0)
        return fd;
    if (fd >= 0)
        TRIB_RAW(SYS_close, fd);
    return rc == -EAGAIN ? -ETIMEDOUT : rc;
}

/* For two descriptors of an answer: what does not fit into a full table is lost without an error. */
static int look_for_room(long socket) {
    long one = TRIB_RAW(SYS_fcntl, socket, F_DUPFD_CLOEXEC, 0);
    long two = one < 0 ? one : TRIB_RAW(SYS_fcntl, socket, F_DUPFD_CLOEXEC, 0);

    if (one >= 0)
        TRIB_RAW(SYS_close, one);
    if (two >= 0)
        TRIB_RAW(SYS_close, two);
    return two < 0 ? (int)two : 0;
}

union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(GIVEN_MAX * sizeof(int))];
};

static void prepare(struct msghdr *message, struct iovec *part, union control *control) {
    clear(message, sizeof *message);
    clear(control, sizeof *control);
    message->msg_iov = part;
    message->msg_iovlen = 1;
}

/* With a pidfd of the process, by which the daemon sees it end. */
static long send_request(long socket, const struct trib_request *request) {
    size_t length = TRIB_REQUEST_BYTES_MIN + request->program_bytes;
    struct iovec part = {(void *)(uintptr_t)request, length};
    struct msghdr message;
    union control control;

    prepare(&message, &part, &control);
    long process = TRIB_RAW(SYS_pidfd_open, TRIB_RAW(SYS_getpid), 0);
    if (process >= 0) {
        int given = (int)process;
        control.head.cmsg_len = CMSG_LEN(sizeof given);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        copy(CMSG_DATA(&control.head), &given, sizeof given);
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof given);
    }
    long sent = TRIB_RAW(SYS_sendmsg, socket, &message, MSG_NOSIGNAL);
    if (process >= 0)
        TRIB_RAW(SYS_close, process);
    if (sent == -EPIPE)
        return 0; /* refused without a look at the request: the answer says why */
    return sent == (long)length ? 0 : sent < 0 ? sent : -EPROTO;
}

/* Bytes received; descriptors that came along, or -1. */
static long receive(long socket, void *to, size_t capacity, int given[GIVEN_MAX], int wait_ms) {
    struct timespec limit = {wait_ms / 1000, wait_ms % 1000 * 1000000l};
    struct pollfd readable = {.fd = (int)socket, .events = POLLIN};
    struct iovec part = {to, capacity};
    struct msghdr message;
    union control control;

    prepare(&message, &part, &control);
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    given[0] = given[1] = -1;
    long ready = TRIB_RAW(SYS_ppoll, &readable, 1, &limit, 0, 0);
    if (ready <= 0)
        return ready < 0 ? ready : -ETIMEDOUT;
    long got = TRIB_RAW(SYS_recvmsg, socket, &message, MSG_CMSG_CLOEXEC);
    if (got > 0 && message.msg_controllen >= CMSG_LEN(sizeof(int)) && control.head.cmsg_type == SCM_RIGHTS) {
        size_t bytes = control.head.cmsg_len - CMSG_LEN(0);
        copy(given, CMSG_DATA(&control.head), bytes < GIVEN_MAX * sizeof(int) ? bytes : GIVEN_MAX * sizeof(int));
    }
    return got > 0 ? got : got < 0 ? got : -ECONNRESET;
}

static void close_given(const int given[GIVEN_MAX]) {
    for (int i = 0; i < GIVEN_MAX; i++)
        if (given[i] >= 0)
            TRIB_RAW(SYS_close, given[i]);
}

/* Memory that cannot shrink under us: else a hostile daemon could have us killed by SIGBUS. */
static bool is_sealed(int fd, uint64_t bytes) {
    struct stat status;
    long seals = TRIB_RAW(SYS_fcntl, fd, F_GET_SEALS, 0);

    clear(&status, sizeof status);
    return seals > 0 && seals & F_SEAL_SHRINK && TRIB_RAW(SYS_fstat, fd, &status) == 0 &&
           (uint64_t)status.st_size == bytes;
}

/* In place of `former` where that is as large; a child of a fork gets no copy. */
static long map(void *former, uint64_t bytes, int access, int fd) {
    int flags = MAP_SHARED | (former ? MAP_FIXED : 0);
    long at = TRIB_RAW(SYS_mmap, former, bytes, access, flags, fd, 0);

    if (at < 0 && at > -4096)
        return at;
    (void)TRIB_RAW(SYS_madvise, at, bytes, MADV_DONTFORK);
    return at;
}

static int map_answer(struct trib_attachment *into, const struct trib_answer *answer, const int given[GIVEN_MAX]) {
    uint32_t events = answer->ring_events;
    uint64_t ring_bytes = answer->ring_bytes, table_bytes = answer->table_bytes;

    if (!trib_ring_events_fit(events) || ring_bytes != trib_ring_memory_bytes(events) ||
        table_bytes < sizeof(struct trib_shared_table) || !is_sealed(given[0], ring_bytes) ||
        !is_sealed(given[1], table_bytes))
        return -EPROTO;
    void *former = into->ring_bytes == ring_bytes ? into->head : 0;
    void *former_table = into->table_bytes == table_bytes ? (void *)(uintptr_t)into->table : 0;
    long ring = map(former, ring_bytes, PROT_READ | PROT_WRITE, given[0]);
    if (ring < 0 && ring > -4096)
        return (int)ring;
    long table = map(former_table, table_bytes, PROT_READ, given[1]);
    if (table < 0 && table > -4096) {
        if (!former)
            TRIB_RAW(SYS_munmap, ring, ring_bytes);
        return (int)table;
    }
    into->head = (struct trib_ring_head *)ring;
    into->table = (const struct trib_shared_table *)table;
    into->ring_bytes = ring_bytes;
    into->table_bytes = table_bytes;
    into->epoch = answer->epoch;
    into->program = answer->program;
    trib_ring_bind(&into->ring, (char *)ring + TRIB_PAGE_BYTES, events);
    into->texts = (struct trib_text_ring){(uint8_t *)ring + trib_ring_text_at(events), into->head};
    return 0;
}

/* The daemon counts it. */
static void give_up(long socket, struct trib_request *request, int code) {
    request->kind = TRIB_REQUEST_FAILED;
    request->detail = (uint32_t)-code;
    request->program_bytes = 0;
    (void)TRIB_RAW(SYS_sendto, socket, request, TRIB_REQUEST_BYTES_MIN, MSG_NOSIGNAL, 0, 0);
}

/* Mode 2 counts what is reserved. */
static bool is_memory_free(void) {
    char mode = '2';
    long file = TRIB_RAW(SYS_openat, AT_FDCWD, "/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return false;
    TRIB_RAW(SYS_read, file, &mode, 1);
    TRIB_RAW(SYS_close, file);
    return mode != '2';
}

static int join(long socket, struct errand *errand) {
    struct trib_answer answer;
    int given[GIVEN_MAX];

    clear(&answer, sizeof answer);
    long got = receive(socket, &answer, sizeof answer, given, patience_ms(errand->address));
    int rc = got < 0 ? (int)got : -EPROTO;
    if (got == sizeof answer && answer.magic == TRIB_WIRE_MAGIC && answer.version == TRIB_WIRE_VERSION) {
        rc = answer.code ? answer.code : map_answer(errand->into, &answer, given);
        if (rc && !answer.code)
            give_up(socket, &errand->request, rc);
        errand->memory_is_free = rc == 0 && is_memory_free();
    }
    close_given(given);
    return rc;
}

static int run(void *arg) {
    struct errand *errand = arg;
    int given[GIVEN_MAX];

    long socket = trib_connect(errand->address), rc = socket < 0 ? socket : look_for_room(socket);
    if (rc >= 0)
        rc = send_request(socket, &errand->request);
    if (rc >= 0 && errand->status) {
        long got = receive(socket, errand->status, sizeof *errand->status, given, STATUS_WAIT_MS);
        close_given(given);
        rc = got < 0 ? got : got == sizeof *errand->status ? 0 : -EPROTO;
    } else if (rc >= 0) {
        rc = join(socket, errand);
    }
    if (socket >= 0)
        TRIB_RAW(SYS_close, socket);
    return rc < 0 ? (int)rc : 0;
}

static struct trib_request request_of(const struct trib_client *client, enum trib_request_kind kind, uint32_t detail) {
    struct trib_request request = {.magic = TRIB_WIRE_MAGIC,
                                   .version = TRIB_WIRE_VERSION,
                                   .kind = (uint16_t)kind,
                                   .detail = detail,
                                   .pid = atomic_load_explicit(&client->hand->pid, memory_order_relaxed),
                                   .image = client->image};
    return request;
}

int trib_join(struct trib_client *client, uint64_t epoch, const struct trib_missed *missed,
              struct trib_attachment *into) {
    struct trib_hand *hand = client->hand;
    struct errand *errand = (struct errand *)(void *)hand->errand;

    *errand = (struct errand){.address = client->address, .into = into};
    errand->request = request_of(client, TRIB_REQUEST_JOIN, 0);
    errand->request.epoch = epoch;
    errand->request.missed_events = missed->events;
    errand->request.missed_bytes = missed->bytes;
    const char *program = trib_signature_program();
    size_t bytes = strnlen(program, sizeof errand->request.program);
    errand->request.program_bytes = (uint16_t)bytes;
    copy(errand->request.program, program, bytes);
    int rc = trib_aside(run, errand, hand->stack);
    if (errand->memory_is_free)
        trib_signature_extend();
    return rc;
}

_Static_assert(sizeof(struct errand) <= TRIB_ERRAND_BYTES, "the hand has room for it");

/* Not for write paths: takes memory of its own, as several threads may ask at once. */
int trib_client_status(struct trib_client *client, struct trib_status *out) {
    const size_t bytes = sizeof(struct errand) + TRIB_ASIDE_STACK_BYTES;
    long memory = TRIB_RAW(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct trib_status status;

    if (memory < 0 && memory > -4096)
        return (int)memory;
    struct errand *errand = (struct errand *)((char *)memory + TRIB_ASIDE_STACK_BYTES);
    *errand = (struct errand){.address = client->address, .status = &status};
    errand->request = request_of(client, TRIB_REQUEST_STATUS, TRIB_STATUS_RECORD);
    uint64_t before = trib_aside_block();
    int rc = trib_aside(run, errand, (void *)memory);
    trib_aside_unblock(before);
    TRIB_RAW(SYS_munmap, memory, bytes);
    if (rc == 0)
        *out = status;
    return rc;
}
