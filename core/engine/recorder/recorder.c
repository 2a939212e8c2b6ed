/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds. A round reads the clock (the horizon), then which sources are taken, then the tails of their rings, then what
 * was said; and takes everything published before those tails with a time up to the horizon, smallest time first. A
 * cause was published before its effect read the clock: if the effect is within the horizon, the cause is before the
 * tails.
 *
 * Within a ring, an event that is claimed but not yet published does not hold up those behind it: its submit has not
 * returned, so nothing can depend on it. It is taken in a later round, or given up when its process is dead. */
#include "recorder/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tributary/client.h>

#include "base/clock.h"
#include "base/options.h"
#include "log/log.h"
#include "producer/process.h"
#include "recorder/source.h"

#define CHECK_EVERY_NS 160000000ull /* of processes without a pidfd: do they live? */
#define TAKE_BYTES_MAX (1ull << 26) /* between two signs of life: how long events take goes by their bytes, too */
#define THREAD_MASK    ((1u << TRIB_THREAD_BITS) - 1)

static void note_damage(struct trib_recorder *recorder, struct trib_source *source) {
    if (!source->damaged)
        atomic_fetch_add(&recorder->damaged, 1);
    source->damaged = true;
    if (!recorder->warned)
        trib_log(TRIB_LOG_WARNING, "process %ld damaged its ring; its events are lost", (long)source->pid);
    recorder->warned = true;
}

/* ---- the heap: which ring has the earliest event? ---- */

static bool is_before(const struct trib_waiting *a, const struct trib_waiting *b) {
    return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->source < b->source);
}

static void sift_down(struct trib_recorder *recorder, struct trib_waiting item) {
    struct trib_waiting *heap = recorder->heap;
    uint32_t at = 0, child;

    for (; (child = 2 * at + 1) < recorder->heap_count; at = child) {
        if (child + 1 < recorder->heap_count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &item))
            break;
        heap[at] = heap[child];
    }
    heap[at] = item;
}

static void push(struct trib_recorder *recorder, struct trib_waiting item) {
    struct trib_waiting *heap = recorder->heap;
    uint32_t at = recorder->heap_count++;

    for (; at > 0 && is_before(&item, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = item;
}

/* ---- one ring ---- */

/* Moves the cursor to the next event of this round. False: none. */
static bool find_next(struct trib_recorder *recorder, struct trib_source *source, uint64_t *time_ns) {
    bool takes_all = recorder->stopped || source->is_gone;

    for (; source->cursor != source->end; source->cursor++) {
        enum trib_ring_turn turn = trib_ring_turn(&source->ring, source->cursor);
        if (turn == TRIB_RING_FILLED) {
            uint64_t stamp_ns = trib_ring_event(&source->ring, source->cursor)->wall_ns;
            if (stamp_ns > recorder->horizon_ns && !takes_all)
                return false;
            if (stamp_ns > recorder->horizon_ns)
                stamp_ns = recorder->horizon_ns;
            *time_ns = source->last_ns = stamp_ns > source->last_ns ? stamp_ns : source->last_ns;
            return true;
        }
        if (turn == TRIB_RING_WAITING && source->is_gone) {
            trib_ring_release(&source->ring, source->cursor); /* killed in the middle of it */
            trib_recorder_count_drops(recorder, TRIB_LOSS_KILLED, 1, 0);
        }
    }
    return false;
}

static bool is_plausible(const struct trib_event *event) {
    bool is_bounded = event->kind == TRIB_EVENT_WRITE || event->kind == TRIB_EVENT_READ;

    return event->kind >= TRIB_EVENT_WRITE && event->kind <= TRIB_EVENT_READ && event->offset_bytes <= INT64_MAX &&
           !(is_bounded && event->length_bytes > TRIB_EVENT_BYTES_MAX);
}

/* A death or a sync to the end of its file moves nothing. */
static uint64_t moved_bytes(const struct trib_event *event) {
    return event->kind == TRIB_EVENT_WRITE || event->kind == TRIB_EVENT_READ ? event->length_bytes : 0;
}

/* A long write goes out as several, the ring's slot with the last. */
static bool cut_piece(struct trib_source *source, struct trib_event *out) {
    if (out->kind != TRIB_EVENT_WRITE || out->length_bytes <= source->cut_bytes)
        return false;
    out->offset_bytes += source->cut_bytes;
    out->length_bytes -= source->cut_bytes;
    if (out->length_bytes <= TAKE_BYTES_MAX)
        return false;
    out->length_bytes = TAKE_BYTES_MAX;
    source->cut_bytes += TAKE_BYTES_MAX;
    return true;
}

static bool take_event(struct trib_recorder *recorder, struct trib_source *source, uint64_t time_ns,
                       struct trib_event *out) {
    *out = *trib_ring_event(&source->ring, source->cursor);
    bool is_possible = is_plausible(out);
    if (!is_possible || !cut_piece(source, out)) {
        trib_ring_release(&source->ring, source->cursor);
        source->cut_bytes = 0;
        if (source->head == source->cursor)
            source->head++;
        source->cursor++;
    }
    if (!is_possible) {
        note_damage(recorder, source);
        trib_recorder_count_drops(recorder, TRIB_LOSS_KILLED, 1, 0);
        return false;
    }
    source->events++;
    source->bytes += out->kind == TRIB_EVENT_WRITE ? out->length_bytes : 0;
    recorder->last_out_ns = time_ns > recorder->last_out_ns ? time_ns : recorder->last_out_ns;
    out->wall_ns = recorder->last_out_ns;
    out->who.tenant = source->program;
    out->thread = source->number << TRIB_THREAD_BITS | (out->thread & THREAD_MASK);
    return true;
}

static void advance_head(struct trib_source *source) {
    while (source->head != source->end && trib_ring_turn(&source->ring, source->head) == TRIB_RING_TAKEN)
        source->head++;
    atomic_store_explicit(&source->ring.ends->head, source->head, memory_order_release);
}

static void collect_drops(struct trib_recorder *recorder, struct trib_source *source) {
    uint64_t events = atomic_load_explicit(&source->ring.ends->dropped_events, memory_order_acquire);
    uint64_t bytes = atomic_load_explicit(&source->ring.ends->dropped_bytes, memory_order_relaxed);
    uint64_t new_events = events - source->counted_events, new_bytes = bytes - source->counted_bytes;
    uint32_t broken = atomic_load_explicit(&source->texts.head->broken, memory_order_relaxed);
    uint32_t names = atomic_load_explicit(&source->texts.head->names_lost, memory_order_relaxed);

    if (broken != source->counted_broken)
        atomic_fetch_add(&recorder->broken, broken - source->counted_broken);
    source->counted_broken = broken;
    atomic_fetch_add(&recorder->names_lost, names - source->counted_names);
    source->counted_names = names;
    if (new_events == 0)
        return;
    if (!trib_recorder_may_have_lost(new_events, new_bytes)) {
        note_damage(recorder, source);
        return;
    }
    source->counted_events = events;
    source->counted_bytes = bytes;
    atomic_store_explicit(&source->ring.ends->counted_bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&source->ring.ends->counted_events, events, memory_order_relaxed);
    trib_recorder_count_drops(recorder, TRIB_LOSS_FULL, new_events, new_bytes);
}

static void take_texts(struct trib_recorder *recorder, struct trib_source *source, const struct trib_texts_sink *sink) {
    uint64_t end = atomic_load_explicit(&source->texts.head->text_tail, memory_order_acquire);
    struct trib_text_head head;
    uint8_t body[TRIB_TEXT_RECORD_BYTES_MAX];
    int rc;

    while ((rc = trib_text_take(&source->texts, &source->text_at, end, &head, body)) == 1) {
        int taken = trib_texts_take(&recorder->texts, &head, body, source->user, sink);
        if (taken < 0)
            note_damage(recorder, source);
        else if (taken)
            trib_seen_add(recorder->table->seen, head.id);
    }
    if (rc)
        note_damage(recorder, source);
    atomic_store_explicit(&source->texts.head->text_head, source->text_at, memory_order_release);
}

/* ---- sources ---- */

/* Read once a round, before the tails: what was published before the process ended is before them then. */
static void check_life(struct trib_recorder *recorder, struct trib_source *source) {
    bool left = atomic_load_explicit(&source->texts.head->left, memory_order_acquire);

    source->is_gone = left || atomic_load_explicit(&source->gone, memory_order_acquire);
    if (!source->is_gone && source->process < 0 && source->pid > 0 &&
        recorder->horizon_ns - recorder->checked_ns >= CHECK_EVERY_NS)
        source->is_gone = trib_process_is_gone(source->pid, 0, true);
}

static void survey(struct trib_recorder *recorder) {
    uint32_t used = atomic_load(&recorder->sources_used), live = 0;

    recorder->active_count = 0;
    for (uint32_t i = 0; i < used; i++) {
        struct trib_source *source = &recorder->sources[i];
        if (atomic_load_explicit(&source->state, memory_order_acquire) != TRIB_SOURCE_TAKEN)
            continue;
        check_life(recorder, source);
        recorder->wants_places |= atomic_load_explicit(&source->texts.head->wants_places, memory_order_relaxed) != 0;
        recorder->active[recorder->active_count++] = i;
        live++;
    }
    if (recorder->horizon_ns - recorder->checked_ns >= CHECK_EVERY_NS)
        recorder->checked_ns = recorder->horizon_ns;
    atomic_store(&recorder->processes_live, live);
}

/* A ring is never given to another process: whoever else still has it mapped writes for nobody. */
static void free_source(struct trib_recorder *recorder, struct trib_source *source) {
    munmap(source->memory, recorder->ring_bytes);
    if (source->process >= 0) {
        trib_listener_unwatch(recorder->listener, source->process);
        close(source->process);
    }
    source->generation++;
    source->events = source->bytes = 0;
    atomic_store_explicit(&source->state, TRIB_SOURCE_FREE, memory_order_release);
}

/* What nobody will take any more. A tail that lies counts for no more than the ring holds. */
static void count_rest(struct trib_recorder *recorder, struct trib_source *source, enum trib_loss why) {
    uint64_t slots = source->ring.mask + 1, events = 0, bytes = 0;
    uint64_t waiting = atomic_load_explicit(&source->ring.ends->tail, memory_order_acquire) - source->head;

    for (uint64_t at = 0; at < waiting && at < slots; at++) {
        if (trib_ring_turn(&source->ring, source->head + at) == TRIB_RING_TAKEN)
            continue;
        struct trib_event event = *trib_ring_event(&source->ring, source->head + at);
        bool is_filled = trib_ring_turn(&source->ring, source->head + at) == TRIB_RING_FILLED;
        events += waiting <= slots || is_filled;
        bytes += is_filled && is_plausible(&event) && event.kind == TRIB_EVENT_WRITE ? event.length_bytes : 0;
    }
    if (events)
        trib_recorder_count_drops(recorder, why, events, bytes);
}

void trib_recorder_give_up(struct trib_recorder *recorder) {
    for (uint32_t i = 0; i < atomic_load(&recorder->sources_used); i++)
        if (atomic_load_explicit(&recorder->sources[i].state, memory_order_acquire) == TRIB_SOURCE_TAKEN) {
            collect_drops(recorder, &recorder->sources[i]);
            count_rest(recorder, &recorder->sources[i], TRIB_LOSS_ALONE);
        }
    recorder->heap_count = 0;
    recorder->is_last_round = true;
}

static void reclaim(struct trib_recorder *recorder, struct trib_source *source) {
    uint64_t tail = atomic_load_explicit(&source->ring.ends->tail, memory_order_acquire);
    uint64_t text_tail = atomic_load_explicit(&source->texts.head->text_tail, memory_order_acquire);
    bool is_empty = tail == source->head && text_tail == source->text_at;

    if (!source->is_gone || !(is_empty || source->damaged))
        return;
    if (!is_empty)
        count_rest(recorder, source, TRIB_LOSS_KILLED);
    free_source(recorder, source);
}

static void say_programs(struct trib_recorder *recorder, const struct trib_texts_sink *sink) {
    uint32_t count = atomic_load_explicit(&recorder->program_count, memory_order_acquire);

    for (; recorder->programs_said < count; recorder->programs_said++) /* not the last number: it has no name */
        sink->program(sink->arg, recorder->programs_said, recorder->programs[recorder->programs_said]);
}

/* ---- rounds ---- */

static void begin_round(struct trib_recorder *recorder, const struct trib_texts_sink *sink) {
    uint64_t time_ns;

    recorder->horizon_ns = trib_now_ns();
    /* An exchange, because it keeps the clock's reading before those of states and tails. */
    atomic_exchange(&recorder->table->heartbeat_ns, recorder->stopped ? 0 : recorder->horizon_ns);
    survey(recorder);
    say_programs(recorder, sink);
    for (uint32_t i = 0; i < recorder->active_count; i++) {
        struct trib_source *source = &recorder->sources[recorder->active[i]];
        source->cursor = source->head;
        source->end = atomic_load_explicit(&source->ring.ends->tail, memory_order_acquire);
        if (source->end - source->head > source->ring.mask + 1) {
            note_damage(recorder, source);
            source->end = source->head + source->ring.mask + 1;
        }
    }
    for (uint32_t i = 0; i < recorder->active_count; i++) {
        struct trib_source *source = &recorder->sources[recorder->active[i]];
        take_texts(recorder, source, sink);
        if (find_next(recorder, source, &time_ns))
            push(recorder, (struct trib_waiting){time_ns, recorder->active[i]});
    }
}

static void end_round(struct trib_recorder *recorder) {
    for (uint32_t i = 0; i < recorder->active_count; i++) {
        struct trib_source *source = &recorder->sources[recorder->active[i]];
        collect_drops(recorder, source);
        reclaim(recorder, source);
    }
    recorder->complete_ns = recorder->horizon_ns;
}

unsigned trib_recorder_take(struct trib_recorder *recorder, struct trib_event *batch, unsigned capacity,
                            const struct trib_texts_sink *sink) {
    unsigned count = 0;
    uint64_t bytes = 0;

    if (recorder->heap_count && !recorder->stopped)
        atomic_store(&recorder->table->heartbeat_ns, trib_now_ns());
    if (recorder->heap_count == 0) {
        if (recorder->stopped && recorder->is_last_round)
            return 0; /* a process that goes on submitting must not hold up the end */
        recorder->is_last_round = recorder->stopped;
        begin_round(recorder, sink);
    }
    while (recorder->heap_count && count < capacity && bytes < TAKE_BYTES_MAX) {
        struct trib_waiting first = recorder->heap[0];
        struct trib_source *source = &recorder->sources[first.source];
        if (take_event(recorder, source, first.time_ns, &batch[count]))
            bytes += moved_bytes(&batch[count++]);
        if (!find_next(recorder, source, &first.time_ns))
            first = recorder->heap[--recorder->heap_count];
        if (recorder->heap_count)
            sift_down(recorder, first);
    }
    for (uint32_t i = 0; i < recorder->active_count; i++)
        advance_head(&recorder->sources[recorder->active[i]]);
    if (recorder->heap_count == 0)
        end_round(recorder);
    return count;
}

/* ---- open, stop, close ---- */

/* Processes may map the table only for reading: this mapping is the last one that may write. */
static int make_table(struct trib_recorder *recorder) {
    void *memory;
    char path[48];
    int fd, code = trib_memory_make("tributary-table", sizeof *recorder->table, &memory, &fd);

    if (code)
        return code;
    recorder->table = memory;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    recorder->table_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (recorder->table_fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != 0)
        code = -errno;
    close(fd);
    if (code)
        return code;
    recorder->table->magic = TRIB_WIRE_MAGIC;
    recorder->table->version = TRIB_WIRE_VERSION;
    recorder->table->epoch = (trib_now_ns() << 16 ^ (uint64_t)getpid()) | 1;
    atomic_store(&recorder->table->heartbeat_ns, trib_now_ns());
    return 0;
}

int trib_recorder_open(struct trib_recorder **out, const struct trib_recorder_config *config,
                       struct trib_error *error) {
    struct trib_recorder *recorder = calloc(1, sizeof *recorder);

    if (!recorder)
        return trib_fail(error, -ENOMEM, "out of memory for a recorder");
    recorder->config = *config;
    recorder->table_fd = -1;
    recorder->ring_events = 1024;
    while (recorder->ring_events < config->ring_events && recorder->ring_events < 1u << 20)
        recorder->ring_events *= 2;
    recorder->ring_bytes = trib_ring_memory_bytes(recorder->ring_events);
    int code = make_table(recorder);
    if (code)
        trib_fail(error, code, "no memory to share: %s", strerror(-code));
    else
        code = trib_listener_open(&recorder->listener, recorder, error);
    if (code)
        trib_recorder_close(recorder);
    else
        *out = recorder;
    return code;
}

int trib_recorder_start(struct trib_recorder *recorder) {
    return trib_listener_start(recorder->listener);
}

void trib_recorder_stop(struct trib_recorder *recorder) {
    if (recorder->stopped)
        return;
    recorder->stopped = true;
    if (recorder->table)
        atomic_store(&recorder->table->heartbeat_ns, 0);
    trib_listener_stop(recorder->listener);
}

void trib_recorder_close(struct trib_recorder *recorder) {
    if (!recorder)
        return;
    trib_recorder_stop(recorder);
    for (uint32_t i = 0; i < atomic_load(&recorder->sources_used); i++)
        if (atomic_load(&recorder->sources[i].state) == TRIB_SOURCE_TAKEN)
            free_source(recorder, &recorder->sources[i]);
    trib_listener_close(recorder->listener);
    if (recorder->table)
        munmap(recorder->table, sizeof *recorder->table);
    if (recorder->table_fd >= 0)
        close(recorder->table_fd);
    free(recorder);
}

/* ---- questions ---- */

bool trib_recorder_has_more(const struct trib_recorder *recorder) {
    return recorder->heap_count != 0;
}

uint64_t trib_recorder_complete_ns(const struct trib_recorder *recorder) {
    return recorder->complete_ns;
}

void trib_recorder_count(const struct trib_recorder *recorder, struct trib_recorder_counts *out) {
    out->events_dropped = atomic_load_explicit(&recorder->events_dropped, memory_order_acquire);
    out->bytes_dropped = atomic_load_explicit(&recorder->bytes_dropped, memory_order_relaxed);
    for (unsigned why = 0; why < TRIB_LOSSES; why++)
        out->lost[why] = atomic_load_explicit(&recorder->lost[why], memory_order_relaxed);
    out->processes = atomic_load(&recorder->processes);
    out->processes_live = atomic_load(&recorder->processes_live);
    out->refused = atomic_load(&recorder->refused);
    out->rejoined = atomic_load(&recorder->rejoined);
    out->broken = atomic_load(&recorder->broken);
    out->damaged = atomic_load(&recorder->damaged);
    out->names_lost = atomic_load(&recorder->names_lost);
}

void trib_recorder_say_losses(struct trib_recorder *recorder) {
    static const char *const causes[TRIB_LOSSES] = {
        [TRIB_LOSS_FULL] = "a ring is full; raise option 'process-ring'",
        [TRIB_LOSS_KILLED] = "a process was killed in the middle of them, or damaged its ring",
        [TRIB_LOSS_ALONE] = "a process could not join for a while",
    };

    for (unsigned why = 0; why < TRIB_LOSSES; why++)
        if (atomic_load_explicit(&recorder->lost[why], memory_order_relaxed) && !recorder->loss_said[why]) {
            recorder->loss_said[why] = true;
            trib_log(TRIB_LOG_WARNING, "events are lost: %s", causes[why]);
        }
}

bool trib_recorder_is_paused(const struct trib_recorder *recorder) {
    return atomic_load(&recorder->table->paused) != 0;
}

bool trib_recorder_wants_places(const struct trib_recorder *recorder) {
    return recorder->wants_places;
}

void trib_recorder_publish(struct trib_recorder *recorder, const struct trib_context *who, uint16_t stream) {
    uint64_t key = trib_place_key(who), place = (key & ~0xffffull) | stream;

    atomic_store_explicit(&recorder->table->places[key % TRIB_PLACES], place, memory_order_relaxed);
}

void trib_recorder_pause(struct trib_recorder *recorder, bool pause) {
    atomic_store(&recorder->table->paused, pause);
}

bool trib_recorder_is_asked_to_stop(const struct trib_recorder *recorder) {
    return atomic_load(&recorder->asked_to_stop);
}
