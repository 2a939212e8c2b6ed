/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring/text.h"

static int make_memory(uint64_t bytes, int seals, void **at) {
    int fd = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (ftruncate(fd, (off_t)bytes) != 0)
        return -1;
    *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (seals)
        fcntl(fd, F_ADD_SEALS, seals);
    return fd;
}

static void send_answer(int process, const struct trib_answer *answer, const int fds[2]) {
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec part = {(void *)(uintptr_t)answer, sizeof *answer};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};

    memset(&control, 0, sizeof control);
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(&control.head), fds, 2 * sizeof(int));
    (void)!sendmsg(process, &message, MSG_NOSIGNAL);
}

static void give(int process, const struct fake_server *server, const char *program) {
    const struct fake_given *given = &server->given;
    void *ring, *memory;
    struct trib_answer answer = {.magic = TRIB_WIRE_MAGIC,
                                 .version = TRIB_WIRE_VERSION,
                                 .program = 1,
                                 .ring_events = given->events,
                                 .ring_bytes = (uint32_t)trib_ring_memory_bytes(given->events),
                                 .table_bytes = (sizeof(struct trib_shared_table) + 4095) / 4096 * 4096,
                                 .epoch = 1};
    int fds[2] = {
        make_memory((uint64_t)((int64_t)answer.ring_bytes + given->ring_more_bytes), given->ring_seals, &ring),
        make_memory((uint64_t)((int64_t)answer.table_bytes + given->table_more_bytes), given->table_seals, &memory)};
    struct trib_shared_table *table = memory;

    table->magic = TRIB_WIRE_MAGIC;
    table->version = TRIB_WIRE_VERSION;
    table->epoch = 1;
    atomic_store(&table->heartbeat_ns, (uint64_t)INT64_MAX); /* never silent */
    server->giving(server->arg, program, ring, memory);
    send_answer(process, &answer, fds);
    close(fds[0]);
    close(fds[1]);
}

int fake_serve(const struct fake_server *server, int wait_ms) {
    struct pollfd waits = {.fd = server->listener, .events = POLLIN};
    int process = poll(&waits, 1, wait_ms) == 1 ? accept4(waits.fd, NULL, NULL, SOCK_CLOEXEC) : -1, result = 0;
    struct trib_request request;
    char program[TRIB_PROGRAM_BYTES_MAX + 1] = "";

    while (process >= 0 && recv(process, &request, sizeof request, 0) > 0) {
        memcpy(program, request.program, request.program_bytes);
        program[request.program_bytes] = '\0';
        if (request.kind == TRIB_REQUEST_JOIN)
            give(process, server, program);
        else if (request.kind == TRIB_REQUEST_FAILED)
            result = -(int)request.detail;
    }
    if (process >= 0)
        close(process);
    return result;
}

static struct trib_ring_head *head_of(const void *ring) {
    return (struct trib_ring_head *)(uintptr_t)ring;
}

static struct trib_ring_ends *ends_of(const void *ring) {
    return (struct trib_ring_ends *)((uintptr_t)ring + TRIB_PAGE_BYTES);
}

uint64_t fake_events(const void *ring) {
    return atomic_load(&ends_of(ring)->tail);
}

uint32_t fake_names_lost(const void *ring) {
    return atomic_load(&head_of(ring)->names_lost);
}

uint32_t fake_broken(const void *ring) {
    return atomic_load(&head_of(ring)->broken);
}

void fake_fall_silent(void *table) {
    atomic_store(&((struct trib_shared_table *)table)->heartbeat_ns, 1);
}

void fake_spoil_tail(void *ring) {
    atomic_store(&ends_of(ring)->tail, 0x4141414141414141ull);
}

int fake_take_text(void *ring, uint32_t events, uint64_t *position, char body[2049]) {
    struct trib_text_ring texts = {(uint8_t *)ring + trib_ring_text_at(events), head_of(ring)};
    struct trib_text_head text;

    if (trib_text_take(&texts, position, atomic_load(&texts.head->text_tail), &text, (uint8_t *)body) != 1)
        return 0;
    atomic_store(&texts.head->text_head, *position);
    body[text.body_bytes] = '\0';
    return (int)text.kind;
}
