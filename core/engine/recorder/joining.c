/* SPDX-License-Identifier: Apache-2.0 */
/* How a process gets its ring. Rings come out of a small stock, so that a process that joins does not wait for memory
 * to be made; each belongs to one program of one process, until that ends. The listener's thread only. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "log/log.h"
#include "recorder/listener.h"

/* Of one user who is neither root nor the daemon's owner. */
#define RINGS_OF_USER_MAX 512u

#define REFUSALS_SAID     8u
#define REFUSALS_PAUSE_NS 60000000000ull /* between those that come later */
#define ERRORS_END        4096u

/* ---- the stock of rings ---- */

void trib_stock_fill(struct trib_listener *listener) {
    while (listener->stock_count < TRIB_STOCK_MAX) {
        struct trib_stock *next = &listener->stock[listener->stock_count];
        if (trib_memory_make("tributary-ring", listener->recorder->ring_bytes, &next->memory, &next->fd) != 0)
            return;
        listener->stock_count++;
    }
}

static bool take_stock(struct trib_listener *listener, struct trib_stock *out) {
    if (listener->stock_count == 0)
        trib_stock_fill(listener);
    if (listener->stock_count == 0)
        return false;
    *out = listener->stock[--listener->stock_count];
    return true;
}

void trib_stock_drop(struct trib_listener *listener) {
    for (unsigned i = 0; i < listener->stock_count; i++) {
        munmap(listener->stock[i].memory, listener->recorder->ring_bytes);
        close(listener->stock[i].fd);
    }
    listener->stock_count = 0;
}

/* ---- programs ---- */

/* Only this thread adds; the merger reads what the count covers. */
static uint16_t number_of_program(struct trib_recorder *recorder, const struct trib_request *request, uid_t user) {
    const char *path = request->program;
    size_t length = request->program_bytes;
    uint32_t number = trib_numbers_add(&recorder->program_numbers, trib_hash(path, length), user);
    const size_t room = sizeof recorder->programs[0];

    if (number == TRIB_NUMBERS_UNKNOWN || number < atomic_load_explicit(&recorder->program_count, memory_order_relaxed))
        return (uint16_t)number;
    size_t kept = length < room ? length : room - 1; /* the end tells more than the beginning */
    memcpy(recorder->programs[number], path + length - kept, kept);
    atomic_store_explicit(&recorder->program_count, number + 1, memory_order_release);
    return (uint16_t)number;
}
_Static_assert(TRIB_PROGRAMS_MAX == TRIB_NUMBERS, "each number has room for a name");

/* ---- joining ---- */

/* What an earlier program of the same process left behind when it called exec. Also as another user, if the process is
 * known for sure: the number is that of whoever connected, and might be another's by now. */
static void release_former(struct trib_recorder *recorder, const struct trib_source *mine, bool is_sure) {
    uint32_t used = atomic_load(&recorder->sources_used);

    for (uint32_t i = 0; i < used && mine->pid; i++) {
        struct trib_source *other = &recorder->sources[i];
        if (other != mine && atomic_load_explicit(&other->state, memory_order_acquire) == TRIB_SOURCE_TAKEN &&
            other->pid == mine->pid && other->image != mine->image && (is_sure || other->user == mine->user))
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

static void set_up(struct trib_listener *listener, struct trib_source *source, const struct trib_stock *ring,
                   const struct trib_request *request) {
    struct trib_recorder *recorder = listener->recorder;
    uint32_t index = (uint32_t)(source - recorder->sources);

    source->memory = ring->memory;
    trib_ring_bind(&source->ring, (char *)ring->memory + TRIB_PAGE_BYTES, recorder->ring_events);
    source->texts =
        (struct trib_text_ring){(uint8_t *)ring->memory + trib_ring_text_at(recorder->ring_events), ring->memory};
    source->image = request->image;
    source->number = listener->next_number++ & ((1u << (32 - TRIB_THREAD_BITS)) - 1);
    source->program = number_of_program(recorder, request, source->user);
    source->head = source->cursor = source->end = source->last_ns = source->text_at = 0;
    source->counted_events = source->counted_bytes = source->cut_bytes = 0;
    source->counted_broken = source->counted_names = 0;
    source->damaged = source->is_gone = false;
    atomic_store_explicit(&source->gone, false, memory_order_relaxed);
    if (index >= atomic_load(&recorder->sources_used))
        atomic_store(&recorder->sources_used, index + 1);
}

/* A process whose end nobody would ever tell must not get a ring for ever. */
static int watch_process(struct trib_listener *listener, struct trib_source *source, int process,
                         const struct ucred *peer) {
    uint64_t index = (uint64_t)(source - listener->recorder->sources);
    uint64_t tag = TRIB_TAG_PROCESS | (uint64_t)(source->generation & 0xffffffu) << 16 | index;

    source->user = peer->uid;
    source->pid = peer->pid;
    source->process = -1;
    if (process >= 0 && trib_listener_watch(listener, process, tag) == 0)
        source->process = process;
    return source->process >= 0 || source->pid > 0 ? 0 : -EPROTO;
}

static void count_join(struct trib_recorder *recorder, const struct trib_request *request) {
    atomic_fetch_add(&recorder->processes, 1);
    if (request->epoch)
        atomic_fetch_add(&recorder->rejoined, 1);
    if (request->missed_events && trib_recorder_may_have_lost(request->missed_events, request->missed_bytes))
        trib_recorder_count_drops(recorder, TRIB_LOSS_ALONE, request->missed_events, request->missed_bytes);
}

/* 0: `fd` is the ring's, to be sent and closed. is_sure: `process` is the kernel's word for the peer, who lives. */
static int give_ring(struct trib_listener *listener, struct trib_connection *connection,
                     const struct trib_request *request, int process, bool is_sure, int *fd) {
    struct trib_recorder *recorder = listener->recorder;
    struct trib_source *source = find_source(recorder, connection->peer.uid);
    struct trib_stock ring;

    if (!source)
        return -EUSERS;
    int code = watch_process(listener, source, process, &connection->peer);
    if (code)
        return code;
    if (!take_stock(listener, &ring)) {
        if (source->process >= 0)
            trib_listener_unwatch(listener, source->process);
        return -ENOMEM;
    }
    set_up(listener, source, &ring, request);
    release_former(recorder, source, is_sure);
    connection->joined = source;
    connection->generation = source->generation;
    atomic_store_explicit(&source->state, TRIB_SOURCE_TAKEN, memory_order_release);
    *fd = ring.fd;
    return 0;
}

/* A flood of them must not fill a log. */
void trib_recorder_refuse(struct trib_recorder *recorder, const struct ucred *peer, int code) {
    uint64_t now_ns = trib_now_ns();

    atomic_fetch_add(&recorder->refused, 1);
    if (peer->pid == recorder->refused_pid ||
        (recorder->refusals_said >= REFUSALS_SAID && now_ns - recorder->refusal_ns < REFUSALS_PAUSE_NS))
        return;
    recorder->refused_pid = peer->pid;
    recorder->refusals_said++;
    recorder->refusal_ns = now_ns;
    trib_log(TRIB_LOG_WARNING, "process %ld of user %ld could not join: %s; what it writes is not recorded",
             (long)peer->pid, (long)peer->uid,
             code == -EACCES   ? "not in allow="
             : code == -EUSERS ? "no room"
             : code == -ESRCH  ? "who connected has ended"
             : code == -EPROTO ? "not of this version"
                               : strerror(-code));
}

static bool lives(int process) {
    struct pollfd end = {.fd = process, .events = POLLIN};

    return poll(&end, 1, 0) == 0;
}

void trib_listener_join(struct trib_listener *listener, struct trib_connection *connection,
                        const struct trib_request *request, int sent) {
    struct trib_recorder *recorder = listener->recorder;
    struct trib_answer answer = {.magic = TRIB_WIRE_MAGIC,
                                 .version = TRIB_WIRE_VERSION,
                                 .ring_events = recorder->ring_events,
                                 .ring_bytes = (uint32_t)recorder->ring_bytes,
                                 .table_bytes = sizeof *recorder->table,
                                 .epoch = recorder->table->epoch};
    int ring = -1, own = trib_exchange_peer(connection->fd), process = own >= 0 ? own : sent;

    if (own >= 0 && sent >= 0)
        trib_closer_add_later(listener, sent);
    if (request->epoch == recorder->table->epoch)
        answer.code = -EALREADY;
    else if (connection->joined)
        answer.code = -EPROTO;
    else if (own >= 0 && !lives(own)) /* whoever connected has left the socket to another */
        answer.code = -ESRCH;
    else
        answer.code = give_ring(listener, connection, request, process, own >= 0, &ring);
    if (answer.code == 0)
        answer.program = connection->joined->program;
    else if (answer.code != -EALREADY)
        trib_recorder_refuse(recorder, &connection->peer, answer.code);
    bool has_got_it = trib_exchange_send(connection->fd, &answer, ring, recorder->table_fd);
    if (answer.code == 0 && has_got_it)
        count_join(recorder, request);
    else if (answer.code == 0) /* it has given up waiting */
        atomic_store_explicit(&connection->joined->gone, true, memory_order_release);
    if (ring >= 0)
        close(ring);
    if (process >= 0 && (answer.code || connection->joined->process != process))
        trib_closer_add_later(listener, process);
}

void trib_listener_take_back(struct trib_listener *listener, struct trib_connection *connection, uint32_t error) {
    struct trib_source *source = connection->joined;

    if (source && source->generation == connection->generation)
        atomic_store_explicit(&source->gone, true, memory_order_release);
    connection->joined = NULL;
    trib_recorder_refuse(listener->recorder, &connection->peer, error < ERRORS_END ? -(int)error : -EPROTO);
}
