/* SPDX-License-Identifier: Apache-2.0 */
/* A process's side: opens, joins at the first event, submits. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/breaker.h"
#include "base/clock.h"
#include "base/likely.h"
#include "base/options.h"
#include "base/raw.h"
#include "base/thread_number.h"
#include "producer/client.h"

#define TEXT_TURNS     1000u     /* tries to get the text ring from another thread */
#define WAIT_NS        100000ull /* a look at whether another thread has joined */
#define WAIT_TURNS     2500u     /* 250 ms: longer than a join takes at most */
#define BACKOFF_NS_MIN 50000000ull
#define BACKOFF_NS_MAX 2000000000ull
#define KEPT_NS        1000000000ull /* after a silent daemon said that it lives */

/* ---- opening ---- */

static void *map_zeros(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

int trib_client_open(struct trib_client **out, const char *address, struct trib_error *error) {
    const void *random = (const void *)getauxval(AT_RANDOM);
    size_t length = strlen(address);

    if (length >= TRIB_ADDRESS_MAX)
        return trib_fail(error, -ENAMETOOLONG, "the daemon's socket %.64s...: a path has at most %u bytes", address,
                         TRIB_ADDRESS_MAX - 1);
    if (address[0] != '/')
        return trib_fail(error, -EINVAL, "the daemon's socket '%s': not an absolute path", address);
    struct trib_client *client = map_zeros(sizeof *client);
    struct trib_hand *hand = client ? map_zeros(sizeof *hand) : NULL;
    if (!hand || madvise(hand, sizeof *hand, MADV_WIPEONFORK) != 0) {
        if (hand)
            munmap(hand, sizeof *hand);
        if (client)
            munmap(client, sizeof *client);
        return trib_fail(error, -ENOMEM, "no memory for a ring, or a kernel older than 4.14");
    }
    memcpy(client->address, address, length + 1);
    client->image = random ? trib_hash(random, 16) : 0; /* hashed: the bytes are the program's stack guard */
    client->hand = hand;
    atomic_store(&hand->pid, (uint32_t)TRIB_RAW(SYS_getpid));
    *out = client;
    return 0;
}

void trib_client_close(struct trib_client *client) {
    if (!client)
        return;
    struct trib_hand *hand = client->hand;
    struct trib_attachment *at = atomic_exchange(&hand->current, NULL);
    atomic_store(&hand->joining, 1); /* never again */
    if (at)
        atomic_store(&at->head->left, 1);
    for (unsigned i = 0; i < TRIB_ATTACHMENTS; i++) {
        at = &hand->attachments[i];
        if (at->head)
            munmap(at->head, at->ring_bytes);
        if (at->table)
            munmap((void *)(uintptr_t)at->table, at->table_bytes);
    }
    munmap(hand, sizeof *hand);
    munmap(client, sizeof *client);
}

/* ---- the breaker ---- */

static uint64_t seal_of(const struct trib_attachment *at) {
    return trib_hash(at, offsetof(struct trib_attachment, seal));
}

/* The last word of each check: what is retired changes under whoever is still inside it. */
static bool is_current(struct trib_hand *hand, const struct trib_attachment *at) {
    return atomic_load(&hand->current) == at;
}

/* Before anything goes where the attachment says that its memory is, off the path of every event. */
static bool verify(struct trib_hand *hand, const struct trib_attachment *at) {
    if (TRIB_LIKELY(seal_of(at) == at->seal) || !is_current(hand, at) || seal_of(at) == at->seal)
        return true;
    trib_break(TRIB_CHECK_ATTACHMENT);
    return false;
}

/* After it took no event. */
static void check_ring(struct trib_hand *hand, const struct trib_attachment *at) {
    struct trib_ring_ends *ends = verify(hand, at) ? at->ring.ends : NULL;

    if (!ends)
        return;
    uint64_t head = atomic_load(&ends->head), waiting = atomic_load(&ends->tail) - head;
    if (waiting > at->ring.mask + 1 && atomic_load(&ends->head) == head && is_current(hand, at))
        trib_break(TRIB_CHECK_RING);
}

/* After it took no text, by the one who may put texts. */
static void check_texts(struct trib_hand *hand, const struct trib_attachment *at) {
    uint64_t head = atomic_load(&at->head->text_head), waiting = atomic_load(&at->head->text_tail) - head;

    if (waiting > TRIB_TEXT_RING_BYTES && atomic_load(&at->head->text_head) == head && is_current(hand, at))
        trib_break(TRIB_CHECK_TEXTS);
}

/* The child of a fork, whose hand is empty, has no ring to say it in. */
static bool __attribute__((noinline, cold)) say_broken(const struct trib_client *client) {
    struct trib_ring_head *head = atomic_load(&client->told);

    if (head && atomic_load(&client->hand->current))
        atomic_store(&head->broken, trib_broken_checks());
    return false;
}

/* ---- joining ---- */

/* A task of another process in this memory (the child of a vfork) must not join in its place. */
static bool is_own_memory(struct trib_hand *hand) {
    uint32_t self = (uint32_t)TRIB_RAW(SYS_getpid), nobody = 0;

    return atomic_compare_exchange_strong(&hand->pid, &nobody, self) || nobody == self;
}

/* One that no thread can be inside of any more. NULL: too many daemons within ten seconds. */
static struct trib_attachment *find_free(struct trib_hand *hand, uint64_t now_ns) {
    struct trib_attachment *current = atomic_load(&hand->current);

    for (unsigned i = 0; i < TRIB_ATTACHMENTS; i++) {
        struct trib_attachment *at = &hand->attachments[i];
        if (at != current && (at->retired_ns == 0 || now_ns - at->retired_ns > TRIB_RETIRED_NS))
            return at;
    }
    return NULL;
}

/* Its memory goes back to the system, its addresses stay. */
static void retire(struct trib_attachment *at, uint64_t now_ns) {
    at->retired_ns = now_ns;
    (void)TRIB_RAW(SYS_madvise, at->head, at->ring_bytes, MADV_REMOVE);
}

static void replace(struct trib_client *client, struct trib_attachment *next, uint64_t now_ns) {
    struct trib_hand *hand = client->hand;

    for (unsigned i = 0; i < TRIB_SENT; i++)
        atomic_store_explicit(&hand->sent[i], 0, memory_order_relaxed);
    next->retired_ns = 0;
    next->seal = seal_of(next);
    atomic_store(&client->told, next->head);
    struct trib_attachment *former = atomic_exchange(&hand->current, next);
    if (former)
        retire(former, now_ns);
}

/* What a daemon that is gone has neither taken out of its ring nor counted as dropped. */
static struct trib_missed left_in(const struct trib_attachment *at) {
    const struct trib_ring_ends *ends = at->ring.ends;
    uint64_t tail = atomic_load(&ends->tail), head = atomic_load(&ends->head);
    uint64_t counted = atomic_load(&ends->counted_events), dropped = atomic_load(&ends->dropped_events);
    struct trib_missed left = {0, 0};

    if (tail - head <= at->ring.mask + 1)
        left.events = tail - head;
    for (uint64_t ticket = head; ticket != head + left.events; ticket++) {
        const struct trib_event *event = trib_ring_event(&at->ring, ticket);
        if (trib_ring_turn(&at->ring, ticket) == TRIB_RING_FILLED && event->kind == TRIB_EVENT_WRITE)
            left.bytes += event->length_bytes;
    }
    if (dropped > counted) {
        left.events += dropped - counted;
        left.bytes += atomic_load(&ends->dropped_bytes) - atomic_load(&ends->counted_bytes);
    }
    return left;
}

static int join_alone(struct trib_client *client, uint64_t now_ns) {
    struct trib_hand *hand = client->hand;
    struct trib_attachment *current = atomic_load(&hand->current), *next = find_free(hand, now_ns);
    struct trib_missed alone = {atomic_load(&hand->missed_events), atomic_load(&hand->missed_bytes)};
    struct trib_missed left = current && verify(hand, current) ? left_in(current) : (struct trib_missed){0, 0};
    struct trib_missed all = {alone.events + left.events, alone.bytes + left.bytes};

    int rc = next ? trib_join(client, current ? current->epoch : 0, &all, next) : -EAGAIN;
    if (rc == 0) {
        replace(client, next, now_ns);
        atomic_fetch_sub(&hand->missed_events, alone.events); /* the daemon knows */
        atomic_fetch_sub(&hand->missed_bytes, alone.bytes);
    }
    uint64_t backoff_ns = atomic_load(&hand->backoff_ns) * 2, wait_ns = KEPT_NS;
    if (rc && rc != -EALREADY) {
        backoff_ns = backoff_ns < BACKOFF_NS_MIN ? BACKOFF_NS_MIN : backoff_ns;
        wait_ns = backoff_ns = backoff_ns > BACKOFF_NS_MAX ? BACKOFF_NS_MAX : backoff_ns;
    } else {
        backoff_ns = 0;
    }
    atomic_store(&hand->backoff_ns, backoff_ns);
    atomic_store(&hand->next_try_ns, trib_now_ns() + wait_ns);
    return rc;
}

/* Signals wait while a thread joins: a handler would find its own thread in its way. */
static int try_while_allowed(struct trib_client *client, uint64_t now_ns) {
    struct trib_hand *hand = client->hand;
    uint32_t nobody = 0;
    int rc = -EINPROGRESS;

    if (!is_own_memory(hand))
        return -EBUSY;
    uint64_t before = trib_aside_block();
    if (atomic_compare_exchange_strong(&hand->joining, &nobody, 1)) {
        rc = join_alone(client, now_ns);
        atomic_store_explicit(&hand->joining, 0, memory_order_release);
    }
    trib_aside_unblock(before);
    return rc;
}

/* The first join, which other threads wait for so that nothing is lost; in place of libc's sleep, a cancellation point.
 */
static void wait_for_other(struct trib_hand *hand) {
    struct timespec pause = {.tv_nsec = WAIT_NS};

    for (unsigned turn = 0; turn < WAIT_TURNS && atomic_load(&hand->joining) && !atomic_load(&hand->current); turn++)
        TRIB_RAW(SYS_nanosleep, &pause, 0);
}

/* -EINPROGRESS: somebody else joins again, and there is a ring as before. */
static int try_to_join(struct trib_client *client, uint64_t now_ns) {
    struct trib_hand *hand = client->hand;

    if (now_ns < atomic_load_explicit(&hand->next_try_ns, memory_order_relaxed))
        return -EAGAIN;
    if (client->may_call && !client->may_call())
        return -EPERM;
    int rc = try_while_allowed(client, now_ns);
    if (rc == -EINPROGRESS && !atomic_load(&hand->current)) {
        wait_for_other(hand);
        rc = atomic_load(&hand->current) ? 0 : -EAGAIN;
    }
    if (client->has_called)
        client->has_called();
    return rc;
}

int trib_client_join(struct trib_client *client) {
    struct trib_hand *hand = client->hand;

    if (atomic_load_explicit(&hand->current, memory_order_acquire))
        return 0;
    return try_to_join(client, trib_now_ns());
}

void trib_client_guard(struct trib_client *client, bool (*may_call)(void), void (*has_called)(void)) {
    client->may_call = may_call;
    client->has_called = has_called;
}

/* ---- submitting ---- */

static bool is_silent(const struct trib_attachment *at, uint64_t now_ns) {
    uint64_t beat_ns = atomic_load_explicit(&at->table->heartbeat_ns, memory_order_relaxed);

    return now_ns > beat_ns + TRIB_SILENCE_NS;
}

/* Without a ring, or with one whose daemon says nothing. A stopped daemon may go on: its ring still takes what fits. */
static struct trib_attachment *find_ring(struct trib_client *client, uint64_t now_ns) {
    struct trib_hand *hand = client->hand;

    (void)try_to_join(client, now_ns);
    struct trib_attachment *at = atomic_load_explicit(&hand->current, memory_order_acquire);
    return at && atomic_load_explicit(&at->table->heartbeat_ns, memory_order_relaxed) ? at : NULL;
}

static void count_missed(struct trib_hand *hand, const struct trib_event *event) {
    uint64_t bytes = event->kind == TRIB_EVENT_WRITE ? event->length_bytes : 0;

    atomic_fetch_add_explicit(&hand->missed_bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&hand->missed_events, 1, memory_order_relaxed);
}

static bool begin_text(struct trib_hand *hand, const struct trib_attachment *at) {
    if (!verify(hand, at))
        return false;
    for (unsigned i = 0; i < TEXT_TURNS; i++)
        if (!atomic_flag_test_and_set_explicit(&hand->text_busy, memory_order_acquire))
            return true;
    return false; /* a signal handler in the middle of its own thread's text, or a thread that does not run */
}

static void end_text(struct trib_hand *hand) {
    atomic_flag_clear_explicit(&hand->text_busy, memory_order_release);
}

/* Sent, though the daemon may not have read it yet. */
static bool was_sent(struct trib_hand *hand, const struct trib_attachment *at, uint64_t key) {
    return atomic_load_explicit(&hand->sent[key % TRIB_SENT], memory_order_relaxed) == key ||
           trib_seen((_Atomic(uint64_t) *)(uintptr_t)at->table->seen, key);
}

static void mark_sent(struct trib_hand *hand, uint64_t key) {
    atomic_store_explicit(&hand->sent[key % TRIB_SENT], key, memory_order_relaxed);
}

/* 0 = unknown. */
static uint64_t send_module(struct trib_hand *hand, struct trib_attachment *at, uint32_t index) {
    struct trib_module module;

    if (trib_signature_module(index, &module) != 0)
        return 0;
    uint64_t key = trib_text_module_key(&module);
    if (was_sent(hand, at, key))
        return key;
    if (!trib_text_put(&at->texts, TRIB_TEXT_MODULE, key, &module, sizeof module)) {
        check_texts(hand, at);
        return 0;
    }
    mark_sent(hand, key);
    return key;
}

/* Marked only once it is sent whole: what did not fit goes with the next event. */
static void __attribute__((noinline, cold))
send_signature(struct trib_hand *hand, struct trib_attachment *at, uint64_t signature) {
    struct trib_frame frames[TRIB_SIGNATURE_DEPTH_MAX];
    struct trib_text_frame sent[TRIB_SIGNATURE_DEPTH_MAX];
    unsigned count = trib_signature_frames(signature, frames, TRIB_SIGNATURE_DEPTH_MAX);
    bool known = true;

    if (count == 0) {
        mark_sent(hand, signature); /* nobody here can tell more of it */
        return;
    }
    if (!begin_text(hand, at))
        return;
    for (unsigned i = 0; i < count; i++) {
        uint64_t key = send_module(hand, at, frames[i].module);
        sent[i] = (struct trib_text_frame){frames[i].build_id, frames[i].offset_bytes, key};
        known = known && key;
    }
    uint32_t bytes = (uint32_t)(count * sizeof sent[0]);
    if (trib_text_put(&at->texts, TRIB_TEXT_SIGNATURE, signature, sent, bytes) && known)
        mark_sent(hand, signature);
    end_text(hand);
}

bool trib_client_submit(struct trib_client *client, const struct trib_event *event) {
    struct trib_hand *hand = client->hand;
    uint64_t now_ns = trib_now_ns(), signature = event->who.signature, ticket;
    struct trib_attachment *at = atomic_load_explicit(&hand->current, memory_order_acquire);

    if (TRIB_UNLIKELY(trib_is_broken()))
        return say_broken(client);
    if (TRIB_UNLIKELY(!at || is_silent(at, now_ns)) && !(at = find_ring(client, now_ns))) {
        count_missed(hand, event);
        return false;
    }
    if (TRIB_UNLIKELY(atomic_load_explicit(&at->table->paused, memory_order_relaxed)))
        return false;
    if (signature && TRIB_UNLIKELY(!was_sent(hand, at, signature)))
        send_signature(hand, at, signature);
    struct trib_event *slot = trib_ring_claim(&at->ring, event, &ticket);
    if (TRIB_UNLIKELY(!slot)) {
        check_ring(hand, at);
        return false;
    }
    *slot = *event;
    slot->wall_ns = now_ns;
    slot->thread = trib_thread_number();
    trib_ring_publish(&at->ring, ticket);
    return true;
}

/* ---- what goes beside events ---- */

bool trib_client_wanted(const struct trib_client *client) {
    if (TRIB_UNLIKELY(trib_is_broken()))
        return say_broken(client);
    const struct trib_attachment *at = atomic_load_explicit(&client->hand->current, memory_order_acquire);

    return !at || !atomic_load_explicit(&at->table->paused, memory_order_relaxed);
}

static struct trib_attachment *joined(struct trib_client *client) {
    struct trib_attachment *at = atomic_load_explicit(&client->hand->current, memory_order_acquire);

    if (TRIB_UNLIKELY(trib_is_broken()))
        return NULL;
    return TRIB_LIKELY(at) ? at : find_ring(client, trib_now_ns());
}

void trib_client_name_signature(struct trib_client *client, uint64_t signature) {
    struct trib_attachment *at = signature ? joined(client) : NULL;

    if (at && !was_sent(client->hand, at, signature))
        send_signature(client->hand, at, signature);
}

static bool put_text(struct trib_client *client, enum trib_text_kind kind, uint64_t id, const char *text) {
    struct trib_attachment *at = joined(client);
    size_t length = strlen(text), most = TRIB_TEXT_PATH_BYTES_MAX;
    const char *kept = length > most ? text + length - most : text;

    if (!at || !begin_text(client->hand, at))
        return false;
    bool fits = trib_text_put(&at->texts, kind, id, kept, (uint32_t)(length > most ? most : length));
    if (!fits)
        check_texts(client->hand, at);
    end_text(client->hand);
    return fits;
}

bool trib_client_name_file(struct trib_client *client, uint64_t file, const char *path) {
    return put_text(client, TRIB_TEXT_NAME, file, path);
}

void trib_client_lose_name(struct trib_client *client) {
    struct trib_attachment *at = atomic_load_explicit(&client->hand->current, memory_order_acquire);

    if (at && verify(client->hand, at))
        atomic_fetch_add_explicit(&at->head->names_lost, 1, memory_order_relaxed);
}

void trib_client_note_uncovered(struct trib_client *client, const char *path, enum trib_uncovered why) {
    (void)put_text(client, TRIB_TEXT_UNCOVERED, (uint64_t)why, path);
}

static bool find_place(const struct trib_shared_table *table, const struct trib_context *who, uint16_t *stream) {
    uint64_t key = trib_place_key(who);
    uint64_t place = atomic_load_explicit(&table->places[key % TRIB_PLACES], memory_order_relaxed);

    *stream = (uint16_t)place;
    return (place ^ key) >> 16 == 0;
}

uint16_t trib_client_place(struct trib_client *client, const struct trib_context *who) {
    struct trib_attachment *at = joined(client);
    struct trib_context mine = *who;
    uint16_t stream;

    if (!at)
        return 0;
    mine.tenant = at->program;
    if (!atomic_load_explicit(&at->head->wants_places, memory_order_relaxed))
        atomic_store_explicit(&at->head->wants_places, 1, memory_order_relaxed);
    if (find_place(at->table, &mine, &stream))
        return stream;
    mine.signature = TRIB_SIGNATURE_UNMET;
    return find_place(at->table, &mine, &stream) ? stream : 0;
}
