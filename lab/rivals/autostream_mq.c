/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       Yang et al., "AutoStream: Automatic Stream Management for Multi-streamed SSDs",
 *             SYSTOR'17: MQ (multi-queue).
 * Idea        Data in a region that is written often die soon. Count the requests to each chunk of
 *             the address space. Queues of chunks, one per stream: a request lifts its chunk to the
 *             queue of its count's logarithm and to that queue's end, and lets it expire after the
 *             time between two requests to the hottest chunk. Chunks at the head of a queue that
 *             have expired sink by one queue. The queue is the stream: S0 the coldest, the last
 *             stream the hottest. A request goes by what was counted before it.
 * Uses        Block address.
 * Constants   Chunk 1 MiB (TCE'21's account). adjust_ref_cnt 2: where the tuning study starts, and
 *             exactly one queue. Logarithm to base 2: ours, the two re-implementations differ.
 * Deviations  Time is requests, as in both re-implementations. What adjust_ref_cnt does is
 *             published nowhere; here it divides the count of a chunk that sinks, or its next
 *             request would lift it back. Nothing expires before a chunk was written twice: the
 *             first request of all would set a lifetime of 1. When the hottest sinks, the next is
 *             the largest count among the HOTTEST_LOOKS last used of the topmost queue, which
 *             bounds the work per request. All chunks that a request touches count it; trims are
 *             not looked at.
 * Cost        place: per chunk touched, a few list links, and one look at the head of each queue.
 *             Memory: 32 bytes per chunk. */
#include <errno.h>
#include <stdlib.h>

#include "rivals/autostream.h"
#include "rivals/rivals.h"

#define NONE          UINT32_MAX
#define NEVER         UINT64_MAX
#define HOTTEST_LOOKS 64

struct settings {
    uint64_t chunk_bytes;
    uint32_t adjust;
};

#define FIELD(name) offsetof(struct settings, name)

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "chunk", .fallback = TRIB_AUTOSTREAM_CHUNK_FALLBACK, .type = TRIB_OPTION_SIZE,
     .offset = FIELD(chunk_bytes), .minimum = TRIB_BLOCK_BYTES,
     .maximum = TRIB_AUTOSTREAM_CHUNK_MAX, .help = "bytes of the address space counted together"},
    {.key = "adjust_ref_cnt", .fallback = "2", .type = TRIB_OPTION_U32, .offset = FIELD(adjust),
     .minimum = 1, .maximum = 1u << 20,
     .help = "divides the count of a chunk that sinks by a queue"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

struct chunk {
    uint64_t last, expires; /* requests so far; last 0: never written, in no queue */
    uint32_t count;
    uint32_t queue;
    uint32_t next, previous; /* in the queue; head: longest not written */
};
_Static_assert(sizeof(struct chunk) == 32, "the memory that the papers state");

struct queue {
    uint32_t head, tail;
};

struct mq {
    struct trib_autostream_chunks chunks;
    struct chunk *table;
    struct queue *queues; /* 0..streams */
    uint32_t streams;
    uint32_t adjust;
    uint32_t hottest; /* NONE: no chunk was written yet */
    uint32_t count_max;
    uint64_t now;      /* requests so far, per chunk touched */
    uint64_t lifetime; /* of the hottest chunk; NEVER: not known yet */
};

static void mq_close(void *self) {
    struct mq *mq = self;
    free(mq->queues);
    free(mq->table);
    free(mq);
}

static int mq_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                   struct trib_error *error) {
    struct settings settings;
    struct trib_autostream_chunks chunks;
    int code = trib_options_take(given, options, &settings, error);
    if (!code)
        code = trib_autostream_chunks_open(&chunks, "autostream-mq", settings.chunk_bytes, env, error);
    if (code)
        return code;
    struct mq *mq = calloc(1, sizeof *mq);
    if (!mq)
        return trib_fail(error, -ENOMEM, "autostream-mq: out of memory");
    *mq = (struct mq){.chunks = chunks,
                      .table = calloc(chunks.count, sizeof *mq->table),
                      .queues = calloc(env->streams + 1, sizeof *mq->queues),
                      .streams = env->streams,
                      .adjust = settings.adjust,
                      .hottest = NONE,
                      .lifetime = NEVER};
    if (!mq->table || !mq->queues) {
        mq_close(mq);
        return trib_fail(error, -ENOMEM, "autostream-mq: no memory for %u chunks", chunks.count);
    }
    for (uint32_t i = 0; i <= mq->streams; i++)
        mq->queues[i] = (struct queue){NONE, NONE};
    *self = mq;
    return 0;
}

static void unlink_chunk(struct mq *mq, uint32_t index) {
    const struct chunk *chunk = &mq->table[index];
    struct queue *queue = &mq->queues[chunk->queue];
    if (chunk->previous == NONE)
        queue->head = chunk->next;
    else
        mq->table[chunk->previous].next = chunk->next;
    if (chunk->next == NONE)
        queue->tail = chunk->previous;
    else
        mq->table[chunk->next].previous = chunk->previous;
}

static void append_chunk(struct mq *mq, uint32_t index, uint32_t to) {
    struct chunk *chunk = &mq->table[index];
    struct queue *queue = &mq->queues[to];
    chunk->queue = to;
    chunk->next = NONE;
    chunk->previous = queue->tail;
    if (queue->tail == NONE)
        queue->head = index;
    else
        mq->table[queue->tail].next = index;
    queue->tail = index;
}

/* After the hottest was taken out of its queue. */
static void choose_hottest(struct mq *mq) {
    uint32_t top = mq->streams;
    while (top > 0 && mq->queues[top].head == NONE)
        top--;
    mq->hottest = NONE;
    mq->count_max = 0;
    uint32_t index = mq->queues[top].tail;
    for (int looks = 0; index != NONE && looks < HOTTEST_LOOKS; looks++) {
        if (mq->table[index].count > mq->count_max) {
            mq->hottest = index;
            mq->count_max = mq->table[index].count;
        }
        index = mq->table[index].previous;
    }
}

static void sink(struct mq *mq, uint32_t index) {
    struct chunk *chunk = &mq->table[index];
    unlink_chunk(mq, index);
    if (index == mq->hottest)
        choose_hottest(mq);
    chunk->expires = mq->now + mq->lifetime;
    chunk->count /= mq->adjust;
    append_chunk(mq, index, chunk->queue - 1);
}

static void sink_expired(struct mq *mq) {
    for (uint32_t q = mq->streams; q > 0; q--) {
        uint32_t head = mq->queues[q].head;
        if (head != NONE && mq->table[head].expires < mq->now)
            sink(mq, head);
    }
}

static void count_request(struct mq *mq, uint32_t index) {
    struct chunk *chunk = &mq->table[index];
    bool is_new = chunk->last == 0;
    mq->now++;
    if (chunk->count < UINT32_MAX)
        chunk->count++;
    if (chunk->count > mq->count_max) {
        if (!is_new)
            mq->lifetime = mq->now - chunk->last;
        mq->count_max = chunk->count;
        mq->hottest = index;
    }
    chunk->last = mq->now;
    chunk->expires = mq->lifetime == NEVER ? NEVER : mq->now + mq->lifetime;
    if (!is_new)
        unlink_chunk(mq, index);
    uint32_t level = trib_autostream_level(chunk->count, mq->streams);
    append_chunk(mq, index, level > chunk->queue ? level : chunk->queue);
    sink_expired(mq);
}

static uint16_t mq_place(void *self, const struct trib_placement *write) {
    struct mq *mq = self;
    struct trib_autostream_range touched = trib_autostream_range(&mq->chunks, write);
    uint16_t stream = (uint16_t)mq->table[touched.first].queue;
    for (uint32_t i = touched.first; i <= touched.last; i++)
        count_request(mq, i);
    return stream;
}

static uint64_t mq_memory_bytes(void *self) {
    const struct mq *mq = self;
    return sizeof *mq + (uint64_t)mq->chunks.count * sizeof *mq->table + (mq->streams + 1) * sizeof *mq->queues;
}

const struct trib_policy trib_policy_autostream_mq = {
    .name = "autostream-mq",
    .summary = "requests per chunk, in queues that expire (SYSTOR'17)",
    .options = options,
    .needs = TRIB_NEEDS_LBA,
    .open = mq_open,
    .close = mq_close,
    .place = mq_place,
    .memory_bytes = mq_memory_bytes,
};
