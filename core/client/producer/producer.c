/* SPDX-License-Identifier: Apache-2.0 */
/* A process in a session: joins, submits, leaves. What it maps is the header with its tables and its own two rings. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define HAS_ONE_THREAD __libc_single_threaded
#else
#define HAS_ONE_THREAD false
#endif

#include <tributary/session.h>

#include "base/assert.h"
#include "base/options.h"
#include "base/thread_number.h"
#include "ring/layout.h"
#include "producer/process.h"
#include "ring/text.h"

#define PAGE_BYTES        4096u
#define TEXT_TURNS        1000u /* tries to get the text ring from another thread */
#define THREAD_BITS       12u
#define PROGRAM_PATH_MAX  1024u

struct trib_producer {
    struct trib_session_header *header;
    struct trib_session_slot *slot;
    struct trib_ring ring;
    struct trib_text_ring texts;
    void *rings;
    uint64_t rings_at, slot_bytes;
    pid_t pid;
    uint32_t thread_base;
    uint16_t program;
    atomic_flag text_busy;
};

/* In memory of two pages: the producer, and a page that is zero in the child of a fork, however it was forked. */
static _Atomic(bool) *is_here(struct trib_producer *producer) {
    return (_Atomic(bool) *)((char *)producer + PAGE_BYTES);
}

_Static_assert(sizeof(struct trib_producer) <= PAGE_BYTES, "the flag has a page of its own");

/* ---- joining ---- */

static struct trib_producer *allocate(void) {
    char *memory = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    if (madvise(memory + PAGE_BYTES, PAGE_BYTES, MADV_WIPEONFORK) != 0) {
        munmap(memory, 2 * PAGE_BYTES);
        return NULL;
    }
    return (struct trib_producer *)memory;
}

static void discard(struct trib_producer *producer) {
    if (producer->rings)
        munmap(producer->rings, producer->slot_bytes);
    if (producer->header)
        munmap(producer->header, producer->rings_at);
    munmap(producer, 2 * PAGE_BYTES);
}

static int open_file(const char *path, struct trib_error *error) {
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);

    if (fd < 0)
        return trib_fail(error, -errno, "session %s: %s", path, strerror(errno));
    return fd;
}

static int map_header(struct trib_producer *producer, int fd, const char *path, struct trib_error *error) {
    struct trib_session_geometry geometry;
    struct trib_error reason = {""};
    struct stat status;

    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return trib_fail(error, -EPROTO, "session %s: not a regular file", path);
    if (pread(fd, &geometry, sizeof geometry, 0) != (ssize_t)sizeof geometry)
        return trib_fail(error, -EPROTO, "session %s: not a session file", path);
    int rc = trib_session_geometry_check(&geometry, (uint64_t)status.st_size, &reason);
    if (rc)
        return trib_fail(error, rc, "session %s: %s", path, reason.text);
    void *header = mmap(NULL, geometry.rings_at, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (header == MAP_FAILED)
        return trib_fail(error, -ENOMEM, "session %s: cannot map: %s", path, strerror(errno));
    producer->header = header;
    producer->rings_at = geometry.rings_at;
    producer->slot_bytes = geometry.slot_bytes;
    return 0;
}

static bool recorder_is_gone(const struct trib_session_header *header, uint64_t now_ns) {
    uint64_t beat_ns = atomic_load_explicit(&header->heartbeat_ns, memory_order_relaxed);

    return beat_ns == 0 || now_ns > beat_ns + TRIB_SESSION_SILENCE_NS;
}

static bool recorder_has_died(const struct trib_session_header *header, uint64_t pid_namespace) {
    return recorder_is_gone(header, trib_session_now_ns()) ||
           (pid_namespace == header->recorder_namespace &&
            trib_process_is_gone((pid_t)header->recorder_pid, 0, false));
}

/* What an earlier image of this process left behind when it called exec. */
static void release_former(struct trib_session_slot *slot, uint64_t owner, const struct trib_process_identity *self) {
    if (owner == trib_session_owner(TRIB_SLOT_ACTIVE, self->pid) && slot->image != self->image &&
        slot->start_time == self->start_time && slot->pid_namespace == self->pid_namespace)
        atomic_compare_exchange_strong(&slot->owner, &owner, trib_session_owner(TRIB_SLOT_LEFT, self->pid));
}

static void raise_used(struct trib_session_header *header, uint32_t used) {
    uint32_t before = atomic_load(&header->slots_used);

    while (before < used && !atomic_compare_exchange_weak(&header->slots_used, &before, used))
        ;
}

/* The lowest free slot, so that few of them ever need memory. -EUSERS. */
static int claim_slot(struct trib_producer *producer, const struct trib_process_identity *self) {
    struct trib_session_slot *slots = producer->header->slots;

    for (uint32_t i = 0; i < TRIB_SESSION_SLOTS; i++) {
        uint64_t owner = atomic_load_explicit(&slots[i].owner, memory_order_acquire);
        if (owner == 0 && atomic_compare_exchange_strong(&slots[i].owner, &owner,
                                                         trib_session_owner(TRIB_SLOT_JOINING, self->pid))) {
            raise_used(producer->header, i + 1);
            producer->slot = &slots[i];
            return (int)i;
        }
        release_former(&slots[i], owner, self);
    }
    return -EUSERS;
}

static int map_rings(struct trib_producer *producer, int fd, uint32_t index) {
    const struct trib_session_geometry *geometry = &producer->header->geometry;
    off_t at = (off_t)(producer->rings_at + index * producer->slot_bytes);

    /* Memory now or never: a full file system would be a SIGBUS in the program later. */
    if (fallocate(fd, 0, at, (off_t)producer->slot_bytes) != 0 && errno != EOPNOTSUPP)
        return -ENOMEM;
    void *rings = mmap(NULL, producer->slot_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
    if (rings == MAP_FAILED)
        return -ENOMEM;
    producer->rings = rings;
    producer->texts.bytes = (uint8_t *)rings + producer->slot_bytes - TRIB_SESSION_TEXT_BYTES;
    producer->texts.slot = producer->slot;
    uint32_t events = geometry->ring_events;
    if (trib_ring_bytes(events) > producer->slot_bytes - TRIB_SESSION_TEXT_BYTES)
        return -EPROTO; /* changed since it was checked */
    trib_ring_bind(&producer->ring, rings, events);
    return 0;
}

/* The program's number; the first of its processes adds it, and tells its path. */
static void find_program(struct trib_producer *producer) {
    struct trib_session_program *programs = producer->header->programs;
    char path[PROGRAM_PATH_MAX];
    uint32_t at = 0;

    trib_process_program(path, sizeof path);
    uint64_t key = trib_hash(path, strlen(path)) | 1;
    for (; at < TRIB_SESSION_PROGRAMS - 1; at++) { /* the last number is for all that come too late */
        uint64_t present = atomic_load_explicit(&programs[at].key, memory_order_acquire);
        if (present == 0 && atomic_compare_exchange_strong(&programs[at].key, &present, key))
            break;
        if (present == key)
            break;
    }
    producer->program = (uint16_t)at;
    if (!atomic_load_explicit(&programs[at].told, memory_order_relaxed) &&
        trib_text_put(&producer->texts, TRIB_TEXT_PROGRAM, at, path, (uint32_t)strlen(path)))
        atomic_store_explicit(&programs[at].told, 1, memory_order_relaxed);
}

static int enter(struct trib_producer *producer, int fd, struct trib_error *error) {
    struct trib_process_identity self;

    trib_process_self(&self);
    if (recorder_has_died(producer->header, self.pid_namespace))
        return trib_fail(error, -ENOTCONN, "the session's recorder is gone");
    int index = claim_slot(producer, &self);
    if (index < 0)
        return trib_fail(error, index, "all %u rings of the session are taken", TRIB_SESSION_SLOTS);
    int rc = map_rings(producer, fd, (uint32_t)index);
    if (rc) {
        atomic_store(&producer->slot->owner, trib_session_owner(TRIB_SLOT_LEFT, self.pid));
        return trib_fail(error, rc, "no memory for a ring of the session");
    }
    producer->pid = self.pid;
    producer->slot->start_time = self.start_time;
    producer->slot->image = self.image;
    producer->slot->pid_namespace = self.pid_namespace;
    producer->thread_base = atomic_fetch_add(&producer->header->processes, 1) << THREAD_BITS;
    find_program(producer);
    uint64_t joining = trib_session_owner(TRIB_SLOT_JOINING, self.pid);
    uint64_t active = trib_session_owner(TRIB_SLOT_ACTIVE, self.pid);
    if (!atomic_compare_exchange_strong(&producer->slot->owner, &joining, active))
        return trib_fail(error, -ENOTCONN, "the session gave this process up"); /* stopped for long while it joined */
    atomic_store_explicit(is_here(producer), true, memory_order_release);
    return 0;
}

int trib_producer_join(struct trib_producer **out, const char *path, struct trib_error *error) {
    struct trib_producer *producer = allocate();

    if (!producer)
        return trib_fail(error, -ENOMEM, "out of memory");
    int fd = open_file(path, error), rc = fd < 0 ? fd : map_header(producer, fd, path, error);
    if (rc == 0)
        rc = enter(producer, fd, error);
    if (fd >= 0)
        close(fd);
    if (rc)
        discard(producer);
    else
        *out = producer;
    return rc;
}

void trib_producer_leave(struct trib_producer *producer) {
    if (!producer)
        return;
    if (atomic_exchange(is_here(producer), false)) /* not in a fork's child: the ring is its parent's */
        atomic_store_explicit(&producer->slot->owner, trib_session_owner(TRIB_SLOT_LEFT, producer->pid),
                              memory_order_release);
    if (HAS_ONE_THREAD)
        discard(producer); /* else another thread may be inside submit: the mapping stays */
}

/* ---- submitting ---- */

static bool begin_text(struct trib_producer *producer) {
    for (unsigned i = 0; i < TEXT_TURNS; i++)
        if (!atomic_flag_test_and_set_explicit(&producer->text_busy, memory_order_acquire))
            return true;
    return false; /* a signal handler in the middle of its own thread's text, or a thread that does not run */
}

static void end_text(struct trib_producer *producer) {
    atomic_flag_clear_explicit(&producer->text_busy, memory_order_release);
}

/* 0 = unknown. */
static uint64_t send_module(struct trib_producer *producer, uint32_t index) {
    struct trib_module module;

    if (trib_signature_module(index, &module) != 0)
        return 0;
    uint64_t key = trib_text_module_key(&module);
    if (trib_seen(producer->header->seen, key))
        return key;
    if (!trib_text_put(&producer->texts, TRIB_TEXT_MODULE, key, &module, sizeof module))
        return 0;
    trib_seen_add(producer->header->seen, key);
    return key;
}

/* Marked as seen only once it is sent: whoever dies here leaves it to the next. */
static void __attribute__((noinline, cold)) send_signature(struct trib_producer *producer, uint64_t signature) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX];
    struct trib_text_frame sent[TRIB_SIGNATURE_DEPTH_MAX];
    unsigned count = trib_signature_frames(signature, frames, TRIB_SIGNATURE_DEPTH_MAX);
    bool known = true;

    if (count == 0) {
        trib_seen_add(producer->header->seen, signature); /* nobody here can tell more of it */
        return;
    }
    if (!begin_text(producer))
        return;
    for (unsigned i = 0; i < count; i++) {
        uint64_t key = send_module(producer, frames[i].module);
        sent[i] = (struct trib_text_frame){frames[i].build_id, frames[i].offset_bytes, key};
        known = known && key;
    }
    uint32_t bytes = (uint32_t)(count * sizeof sent[0]);
    if (trib_text_put(&producer->texts, TRIB_TEXT_SIGNATURE, signature, sent, bytes) && known)
        trib_seen_add(producer->header->seen, signature);
    end_text(producer);
}

bool trib_producer_submit(struct trib_producer *producer, const struct trib_event *event) {
    uint64_t now_ns = trib_session_now_ns(), signature = event->who.signature, ticket;

    if (TRIB_UNLIKELY(!atomic_load_explicit(is_here(producer), memory_order_relaxed)))
        return false;
    if (TRIB_UNLIKELY(recorder_is_gone(producer->header, now_ns))) {
        trib_ring_drop(&producer->ring, event);
        return false;
    }
    if (signature && TRIB_UNLIKELY(!trib_seen(producer->header->seen, signature)))
        send_signature(producer, signature);
    struct trib_event *slot = trib_ring_claim(&producer->ring, event, &ticket);
    if (TRIB_UNLIKELY(!slot))
        return false;
    *slot = *event;
    slot->wall_ns = now_ns;
    slot->who.tenant = producer->program;
    slot->thread = producer->thread_base | (trib_thread_number() & ((1u << THREAD_BITS) - 1));
    trib_ring_publish(&producer->ring, ticket);
    return true;
}

void trib_producer_name_signature(struct trib_producer *producer, uint64_t signature) {
    if (signature && atomic_load_explicit(is_here(producer), memory_order_relaxed) &&
        !trib_seen(producer->header->seen, signature))
        send_signature(producer, signature);
}

void trib_producer_name_file(struct trib_producer *producer, uint64_t file, const char *path) {
    size_t length = strlen(path);
    const char *kept = length > TRIB_TEXT_PATH_BYTES_MAX ? path + length - TRIB_TEXT_PATH_BYTES_MAX : path;

    if (!atomic_load_explicit(is_here(producer), memory_order_relaxed) || !begin_text(producer))
        return;
    (void)trib_text_put(&producer->texts, TRIB_TEXT_NAME, file, kept, (uint32_t)strlen(kept));
    end_text(producer);
}

void trib_producer_note_uncovered(struct trib_producer *producer, const char *path, enum trib_uncovered why) {
    size_t length = strnlen(path, TRIB_TEXT_PATH_BYTES_MAX);

    if (!atomic_load_explicit(is_here(producer), memory_order_relaxed) || !begin_text(producer))
        return;
    (void)trib_text_put(&producer->texts, TRIB_TEXT_UNCOVERED, (uint64_t)why, path, (uint32_t)length);
    end_text(producer);
}

static bool find_place(const struct trib_session_header *header, const struct trib_context *who, uint16_t *stream) {
    uint64_t key = trib_session_place_key(who);
    uint64_t place = atomic_load_explicit(&header->places[key % TRIB_SESSION_PLACES], memory_order_relaxed);

    *stream = (uint16_t)place;
    return (place ^ key) >> 16 == 0;
}

uint16_t trib_producer_place(struct trib_producer *producer, const struct trib_context *who) {
    struct trib_context mine = *who;
    uint16_t stream;

    if (!atomic_load_explicit(is_here(producer), memory_order_relaxed))
        return 0;
    mine.tenant = producer->program;
    struct trib_session_header *header = producer->header;
    if (!atomic_load_explicit(&header->wants_places, memory_order_relaxed))
        atomic_store_explicit(&header->wants_places, 1, memory_order_relaxed);
    if (find_place(header, &mine, &stream))
        return stream;
    mine.signature = TRIB_SESSION_UNMET; /* a new call path: as its kind of writes by any */
    return find_place(header, &mine, &stream) ? stream : 0;
}
