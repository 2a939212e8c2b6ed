/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds. A round reads the clock (the horizon), then which slots are taken, then the tails of their rings, then what
 * was told; and takes everything published before those tails with a time up to the horizon, smallest time first. A
 * cause was published before its effect read the clock: if the effect is within the horizon, the cause is before the
 * tails.
 *
 * Within a ring, an event that is claimed but not yet published does not hold up those behind it: its submit has not
 * returned, so nothing can depend on it. It is taken in a later round, or given up when its process is dead. */
#include "recorder/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "log/log.h"
#include "base/options.h"
#include "producer/process.h"
#include "recorder/recorder_file.h"

#define CHECK_EVERY_NS          10000000ull  /* is it alive? */
#define CHECK_THOROUGH_EVERY_NS 160000000ull /* is it a zombie, is the id another's? */
#define JOINING_NS_MAX          1000000000ull
#define WRITE_BYTES_MAX         (1ull << 40) /* nobody writes more in one call: Linux stops at 2 GiB */

/* A slot as the recorder knows it. */
struct source {
    struct trib_ring ring;
    struct trib_text_ring texts;
    uint64_t head;        /* events before it are out */
    uint64_t cursor, end; /* of this round */
    uint64_t last_ns;     /* times within a ring never go back */
    uint64_t text_at;
    uint64_t counted_events, counted_bytes; /* drops that are in the totals */
    uint64_t first_seen_ns, owner;
    enum trib_session_slot_state state; /* at the beginning of this round */
    bool occupied, gone, damaged, is_foreign;
};

struct waiting {
    uint64_t time_ns;
    uint32_t source;
};

struct trib_session {
    struct trib_session_file file;
    struct trib_texts told;
    struct source sources[TRIB_SESSION_SLOTS];
    uint32_t active[TRIB_SESSION_SLOTS], active_count; /* sources of this round */
    struct waiting heap[TRIB_SESSION_SLOTS];
    uint32_t heap_count;
    uint64_t horizon_ns, complete_ns, last_out_ns, checked_ns, checked_thorough_ns;
    bool stopped, warned;
    _Atomic(uint64_t) events_dropped, bytes_dropped, processes, processes_live;
};

static void note_damage(struct trib_session *session, struct source *source) {
    source->damaged = true;
    if (!session->warned)
        trib_log(TRIB_LOG_WARNING, "a process of the session damaged its ring; its events are lost");
    session->warned = true;
}

static void count_drops(struct trib_session *session, uint64_t events, uint64_t bytes) {
    atomic_fetch_add_explicit(&session->bytes_dropped, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&session->events_dropped, events, memory_order_release);
}

/* ---- the heap: which ring has the earliest event? ---- */

static bool is_before(const struct waiting *a, const struct waiting *b) {
    return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->source < b->source);
}

static void sift_down(struct trib_session *session, struct waiting item) {
    struct waiting *heap = session->heap;
    uint32_t at = 0, child;

    for (; (child = 2 * at + 1) < session->heap_count; at = child) {
        if (child + 1 < session->heap_count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &item))
            break;
        heap[at] = heap[child];
    }
    heap[at] = item;
}

static void push(struct trib_session *session, struct waiting item) {
    struct waiting *heap = session->heap;
    uint32_t at = session->heap_count++;

    for (; at > 0 && is_before(&item, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = item;
}

/* ---- one ring ---- */

/* Moves the cursor to the next event of this round. False: none. */
static bool find_next(struct trib_session *session, struct source *source, uint64_t *time_ns) {
    bool takes_all = session->stopped || source->gone;

    for (; source->cursor != source->end; source->cursor++) {
        enum trib_ring_turn turn = trib_ring_turn(&source->ring, source->cursor);
        if (turn == TRIB_RING_FILLED) {
            uint64_t stamp_ns = trib_ring_event(&source->ring, source->cursor)->wall_ns;
            if (stamp_ns > session->horizon_ns && !takes_all)
                return false;
            if (stamp_ns > session->horizon_ns)
                stamp_ns = session->horizon_ns;
            *time_ns = source->last_ns = stamp_ns > source->last_ns ? stamp_ns : source->last_ns;
            return true;
        }
        if (turn == TRIB_RING_WAITING && source->gone) {
            trib_ring_release(&source->ring, source->cursor); /* killed in the middle of it */
            count_drops(session, 1, 0);
        }
    }
    return false;
}

static bool is_plausible(const struct trib_event *event) {
    bool is_write = event->kind == TRIB_EVENT_WRITE;

    return event->kind >= TRIB_EVENT_WRITE && event->kind <= TRIB_EVENT_READ &&
           event->offset_bytes <= INT64_MAX && !(is_write && event->length_bytes > WRITE_BYTES_MAX);
}

static bool take_event(struct trib_session *session, struct source *source, uint64_t time_ns, struct trib_event *out) {
    *out = *trib_ring_event(&source->ring, source->cursor);
    trib_ring_release(&source->ring, source->cursor);
    if (source->head == source->cursor)
        source->head++;
    source->cursor++;
    if (!is_plausible(out)) {
        note_damage(session, source);
        count_drops(session, 1, 0);
        return false;
    }
    session->last_out_ns = time_ns > session->last_out_ns ? time_ns : session->last_out_ns;
    out->wall_ns = session->last_out_ns;
    return true;
}

static void advance_head(struct source *source) {
    while (source->head != source->end && trib_ring_turn(&source->ring, source->head) == TRIB_RING_TAKEN)
        source->head++;
    atomic_store_explicit(&source->ring.ends->head, source->head, memory_order_release);
}

static void collect_drops(struct trib_session *session, struct source *source) {
    uint64_t events = atomic_load_explicit(&source->ring.ends->dropped_events, memory_order_acquire);
    uint64_t bytes = atomic_load_explicit(&source->ring.ends->dropped_bytes, memory_order_relaxed);
    uint64_t new_events = events - source->counted_events, new_bytes = bytes - source->counted_bytes;

    if (new_events == 0)
        return;
    source->counted_events = events;
    source->counted_bytes = bytes;
    if (new_events > UINT32_MAX || new_bytes > new_events * WRITE_BYTES_MAX)
        note_damage(session, source);
    else
        count_drops(session, new_events, new_bytes);
}

static void take_texts(struct trib_session *session, struct source *source, const struct trib_session_sink *sink) {
    uint64_t end = atomic_load_explicit(&source->texts.slot->text_tail, memory_order_acquire);
    struct trib_text_head head;
    uint8_t body[TRIB_TEXT_RECORD_BYTES_MAX];
    int rc;

    while ((rc = trib_text_take(&source->texts, &source->text_at, end, &head, body)) == 1)
        if (!trib_texts_take(&session->told, &head, body, sink))
            note_damage(session, source);
    if (rc)
        note_damage(session, source);
    atomic_store_explicit(&source->texts.slot->text_head, source->text_at, memory_order_release);
}

/* ---- slots ---- */

static void check_life(struct trib_session *session, struct source *source, bool thorough) {
    const struct trib_session_slot *slot = source->texts.slot;
    bool joining = source->state == TRIB_SLOT_JOINING;

    if (joining && session->horizon_ns - source->first_seen_ns < JOINING_NS_MAX)
        return; /* it has not yet said who it is */
    source->is_foreign = !joining && slot->pid_namespace && slot->pid_namespace != session->file.pid_namespace;
    if (!source->is_foreign)
        source->gone =
            trib_process_is_gone(trib_session_pid_of(source->owner), joining ? 0 : slot->start_time, thorough);
}

/* Which slots are taken, and by whom that still lives? */
static void survey(struct trib_session *session) {
    struct trib_session_header *header = session->file.header;
    uint32_t used = atomic_load(&header->slots_used), live = 0;
    uint64_t now_ns = session->horizon_ns;
    bool thorough = now_ns - session->checked_thorough_ns >= CHECK_THOROUGH_EVERY_NS;
    bool check = thorough || now_ns - session->checked_ns >= CHECK_EVERY_NS;

    session->active_count = 0;
    for (uint32_t i = 0; i < used && i < TRIB_SESSION_SLOTS; i++) {
        struct source *source = &session->sources[i];
        source->owner = atomic_load_explicit(&header->slots[i].owner, memory_order_acquire);
        source->state = trib_session_state_of(source->owner);
        if (source->state == TRIB_SLOT_FREE)
            continue;
        if (!source->occupied) {
            source->occupied = true;
            source->first_seen_ns = now_ns;
            atomic_fetch_add(&session->processes, 1);
        }
        if (check)
            check_life(session, source, thorough);
        session->active[session->active_count++] = i;
        live += !source->is_foreign;
    }
    if (check)
        session->checked_ns = now_ns;
    if (thorough)
        session->checked_thorough_ns = now_ns;
    atomic_store(&session->processes_live, live);
}

/* Gives an ended process's slot to the next once it is empty. */
static void reclaim(struct trib_session *session, uint32_t index) {
    struct source *source = &session->sources[index];
    struct trib_session_slot *slot = source->texts.slot;
    uint64_t tail = atomic_load_explicit(&source->ring.ends->tail, memory_order_acquire);
    uint64_t text_tail = atomic_load_explicit(&slot->text_tail, memory_order_acquire);
    bool is_empty = tail == source->head && text_tail == source->text_at;

    if (!(source->gone || source->state == TRIB_SLOT_LEFT) || !(is_empty || (source->damaged && source->gone)))
        return;
    if (source->damaged || source->state == TRIB_SLOT_JOINING) {
        trib_session_file_clear(&session->file, index);
        source->head = source->text_at = source->counted_events = source->counted_bytes = 0;
    }
    source->last_ns = 0;
    source->occupied = source->gone = source->damaged = source->is_foreign = false;
    atomic_compare_exchange_strong(&slot->owner, &source->owner, 0); /* unless it came alive meanwhile */
}

/* ---- rounds ---- */

static void begin_round(struct trib_session *session, const struct trib_session_sink *sink) {
    uint64_t time_ns;

    session->horizon_ns = trib_session_now_ns();
    /* An exchange, because it keeps the clock's reading before those of owners and tails. */
    atomic_exchange(&session->file.header->heartbeat_ns, session->stopped ? 0 : session->horizon_ns);
    survey(session);
    for (uint32_t i = 0; i < session->active_count; i++) {
        struct source *source = &session->sources[session->active[i]];
        source->cursor = source->head;
        source->end = atomic_load_explicit(&source->ring.ends->tail, memory_order_acquire);
        if (source->end - source->head > source->ring.mask + 1) {
            note_damage(session, source);
            source->end = source->head + source->ring.mask + 1;
        }
    }
    for (uint32_t i = 0; i < session->active_count; i++) {
        struct source *source = &session->sources[session->active[i]];
        take_texts(session, source, sink);
        if (find_next(session, source, &time_ns))
            push(session, (struct waiting){time_ns, session->active[i]});
    }
}

static void end_round(struct trib_session *session) {
    for (uint32_t i = 0; i < session->active_count; i++) {
        collect_drops(session, &session->sources[session->active[i]]);
        reclaim(session, session->active[i]);
    }
    session->complete_ns = session->horizon_ns;
}

unsigned trib_session_take(struct trib_session *session, struct trib_event *batch, unsigned capacity,
                           const struct trib_session_sink *sink) {
    unsigned count = 0;

    if (session->heap_count == 0)
        begin_round(session, sink);
    while (session->heap_count && count < capacity) {
        struct waiting first = session->heap[0];
        struct source *source = &session->sources[first.source];
        count += take_event(session, source, first.time_ns, &batch[count]);
        if (!find_next(session, source, &first.time_ns))
            first = session->heap[--session->heap_count];
        if (session->heap_count)
            sift_down(session, first);
    }
    for (uint32_t i = 0; i < session->active_count; i++)
        advance_head(&session->sources[session->active[i]]);
    if (session->heap_count == 0)
        end_round(session);
    return count;
}

/* ---- open, stop, close ---- */

static void bind_sources(struct trib_session *session) {
    const struct trib_session_geometry *geometry = &session->file.geometry;

    for (uint32_t i = 0; i < TRIB_SESSION_SLOTS; i++) {
        struct source *source = &session->sources[i];
        char *rings = (char *)session->file.header + geometry->rings_at + i * geometry->slot_bytes;
        trib_ring_bind(&source->ring, rings, geometry->ring_events);
        source->texts.bytes = (uint8_t *)rings + geometry->slot_bytes - TRIB_SESSION_TEXT_BYTES;
        source->texts.slot = &session->file.header->slots[i];
    }
}

int trib_session_open(struct trib_session **out, const struct trib_session_config *config, struct trib_error *error) {
    struct trib_session *session = calloc(1, sizeof *session);

    if (!session)
        return trib_fail(error, -ENOMEM, "out of memory for a session");
    int rc = trib_session_file_create(&session->file, config, error);
    if (rc) {
        free(session);
        return rc;
    }
    bind_sources(session);
    *out = session;
    return 0;
}

void trib_session_stop(struct trib_session *session) {
    if (session->stopped)
        return;
    session->stopped = true;
    atomic_store(&session->file.header->heartbeat_ns, 0);
    unlink(session->file.path);
}

void trib_session_close(struct trib_session *session) {
    if (!session)
        return;
    trib_session_stop(session);
    trib_session_file_close(&session->file);
    free(session);
}

uint64_t trib_session_complete_ns(const struct trib_session *session) {
    return session->complete_ns;
}

void trib_session_status(const struct trib_session *session, struct trib_session_status *out) {
    out->events_dropped = atomic_load_explicit(&session->events_dropped, memory_order_acquire);
    out->bytes_dropped = atomic_load_explicit(&session->bytes_dropped, memory_order_relaxed);
    out->processes = atomic_load(&session->processes);
    out->processes_live = atomic_load(&session->processes_live);
}

bool trib_session_wants_places(const struct trib_session *session) {
    return atomic_load_explicit(&session->file.header->wants_places, memory_order_relaxed);
}

void trib_session_publish(struct trib_session *session, const struct trib_context *who, uint16_t stream) {
    uint64_t key = trib_session_place_key(who), place = (key & ~0xffffull) | stream;

    atomic_store_explicit(&session->file.header->places[key % TRIB_SESSION_PLACES], place, memory_order_relaxed);
}
