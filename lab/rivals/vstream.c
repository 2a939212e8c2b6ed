/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       Yong, Lee, Kim, "Design and Implementation of Virtual Stream Management for NAND
 *             Flash-Based Storage", IEEE TCE 67(2), 2021 (vStream-FTL).
 * Idea        The host names many virtual streams. The drive learns the mean lifetime of each from
 *             its dead pages, and maps virtual streams of similar lifetime to one of K physical
 *             ones. Collection looks the mapping up again for every page it copies (gc=pstream:
 *             vStream-SGC; gc=shared: vStream-NGC).
 * Uses        The virtual stream that the host named; deaths by overwrite and trim.
 * Constants   Theirs: K = 3, one timestamp per superpage of 768 pages, one clustering step per
 *             period, centroids are unweighted means, a default stream for the unknown. Ours, where
 *             the text is silent: the period is an eighth of the capacity written (theirs: 10
 *             minutes of wall time), a stream is known after one superpage of deaths, the sums are
 *             halved every period (decay=1: never), the first map cuts the known streams into K
 *             equal parts, a physical stream without members keeps its centre and, after two
 *             periods, takes that of the farthest member of the largest one.
 * Deviations  The default stream is S0, which every drive has besides the K (default=1..K: one of
 *             them). A write without a name (source=auto) is named by file kind, hint and level,
 *             so that the policy runs on every trace; a name after the 254th shares one. Times are
 *             kept per logical page, because a policy sees no physical ones: a page is timed when
 *             the buffer of its physical stream fills a superpage, and one that dies before that
 *             counts from its arrival. Pages copied together share the mean of their times
 *             (gc_time=now: that of the copy); with gc=shared nobody tells, they keep theirs.
 * Cost        place: a few loads and stores per page. Clustering: O(N K) per period. Memory: 5
 *             bytes per logical page (the paper's: 4 per superpage, and a byte in each spare
 *             area). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "rivals/rivals.h"
#include "rivals/vstream_map.h"

#define NAME_SLOTS 512u /* a power of two above twice TRIB_VSTREAMS_MAX */
#define NAMELESS   UINT8_MAX

enum source { BY_AUTO, BY_HOST, BY_HINT, BY_KIND, BY_TENANT, BY_SIGNATURE };
#define SOURCE_CHOICES "auto|host|hint|kind|tenant|signature"

struct settings {
    int source, distance, gc_time;
    uint32_t pstreams, superpage_pages, default_pstream;
    double period_percent, decay;
};

#define FIELD(name) offsetof(struct settings, name)

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "source", .fallback = "auto", .type = TRIB_OPTION_ENUM, .choices = SOURCE_CHOICES,
     .offset = FIELD(source),
     .help = "what names the virtual stream; auto: the host, else kind, hint and level"},
    {.key = "pstreams", .fallback = "3", .type = TRIB_OPTION_U32, .offset = FIELD(pstreams),
     .minimum = 1, .maximum = TRIB_PSTREAMS_MAX,
     .help = "physical streams, as far as the drive has them (TCE'21: 3)"},
    {.key = "default", .fallback = "0", .type = TRIB_OPTION_U32, .offset = FIELD(default_pstream),
     .minimum = 0, .maximum = TRIB_PSTREAMS_MAX,
     .help = "stream of virtual streams without history; 0: S0, besides the others"},
    {.key = "superpage", .fallback = "768", .type = TRIB_OPTION_U32,
     .offset = FIELD(superpage_pages), .minimum = 1, .maximum = 1 << 16,
     .help = "pages that share a timestamp (TCE'21: 768); at most a superblock"},
    {.key = "period", .fallback = "12.5", .type = TRIB_OPTION_PERCENT,
     .offset = FIELD(period_percent), .minimum = 0.001, .maximum = 10000,
     .help = "of the capacity written between two clusterings (TCE'21: 10 minutes)"},
    {.key = "decay", .fallback = "0.5", .type = TRIB_OPTION_DOUBLE, .offset = FIELD(decay),
     .minimum = 0, .maximum = 1, .help = "of the sums of ages per period; 1: never"},
    {.key = "distance", .fallback = "linear", .type = TRIB_OPTION_ENUM, .choices = "linear|log",
     .offset = FIELD(distance), .help = "between lifetimes, when clustering (TCE'21: linear)"},
    {.key = "gc_time", .fallback = "mean", .type = TRIB_OPTION_ENUM, .choices = "mean|now",
     .offset = FIELD(gc_time), .help = "time of a superpage that collection wrote (gc=pstream)"},
    TRIB_OPTIONS_END,
};
/* clang-format on */

/* What tells virtual streams apart; a tenant has everything. */
static uint32_t vstream_needs(struct trib_options *given) {
    static const uint32_t of_source[] = {[BY_AUTO] = TRIB_NEEDS_ANY_NAME,
                                         [BY_HOST] = TRIB_NEEDS_VSTREAM,
                                         [BY_HINT] = TRIB_NEEDS_HINT,
                                         [BY_KIND] = TRIB_NEEDS_KIND,
                                         [BY_TENANT] = 0,
                                         [BY_SIGNATURE] = TRIB_NEEDS_SIGNATURE};
    struct settings settings;

    return of_source[trib_options_take(given, options, &settings, NULL) ? BY_AUTO : settings.source];
}

struct buffered {
    uint32_t lba, written;
};

/* A superpage that fills: of host pages or of copies, for one physical stream. */
struct buffer {
    struct buffered *pages;
    uint32_t count;
};

struct vstream {
    struct trib_vstream_map map;
    uint8_t *names;    /* per logical page: virtual stream of the live data, or NAMELESS */
    uint32_t *written; /* per logical page: T_w, in host pages, modulo 2^32 */
    uint64_t blocks, period_bytes, cluster_at_bytes, memory_bytes;
    uint32_t superpage_pages, now;
    uint16_t default_pstream, internal_streams;
    int source;
    bool gc_now;
    struct buffered *buffered; /* of all buffers */
    struct buffer host[TRIB_PSTREAMS_MAX + 1], copies[TRIB_PSTREAMS_MAX + 1];
    uint64_t keys[NAME_SLOTS];
    uint8_t slots[NAME_SLOTS]; /* virtual stream of the key, NAMELESS: free */
};

static void vstream_close(void *self) {
    struct vstream *policy = self;
    free(policy->names);
    free(policy->written);
    free(policy->buffered);
    free(policy);
}

static int allocate(struct vstream *policy) {
    uint64_t buffers = 2ull * (policy->map.pstreams + 1);
    policy->names = malloc(policy->blocks);
    policy->written = calloc(policy->blocks, sizeof *policy->written);
    policy->buffered = calloc(buffers * policy->superpage_pages, sizeof *policy->buffered);
    if (!policy->names || !policy->written || !policy->buffered)
        return -ENOMEM;
    memset(policy->names, NAMELESS, policy->blocks);
    memset(policy->slots, NAMELESS, sizeof policy->slots);
    struct buffered *next = policy->buffered;
    for (uint32_t p = 0; p <= policy->map.pstreams; p++) {
        policy->host[p].pages = next;
        policy->copies[p].pages = next + policy->superpage_pages;
        next += 2 * policy->superpage_pages;
    }
    policy->memory_bytes = sizeof *policy + policy->blocks * (sizeof *policy->names + sizeof *policy->written) +
                           buffers * policy->superpage_pages * sizeof *policy->buffered;
    return 0;
}

static int vstream_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                        struct trib_error *error) {
    struct settings s;
    int code = trib_options_take(given, options, &s, error);
    if (code)
        return code;
    if (env->blocks == 0)
        return trib_fail(error, -EINVAL, "vstream: needs a drive, to follow the age of its pages");
    struct vstream *policy = calloc(1, sizeof *policy);
    if (!policy)
        return trib_fail(error, -ENOMEM, "vstream: out of memory");
    uint64_t unit_pages = env->reclaim_unit_bytes / TRIB_BLOCK_BYTES;
    policy->superpage_pages = unit_pages && unit_pages < s.superpage_pages ? (uint32_t)unit_pages : s.superpage_pages;
    policy->map.pstreams = s.pstreams < env->streams ? s.pstreams : env->streams;
    policy->map.history_pages = policy->superpage_pages;
    policy->map.decay = s.decay;
    policy->map.log_distance = s.distance;
    policy->default_pstream =
        (uint16_t)(s.default_pstream < policy->map.pstreams ? s.default_pstream : policy->map.pstreams);
    policy->internal_streams = (uint16_t)env->internal_streams;
    policy->source = s.source;
    policy->gc_now = s.gc_time;
    policy->blocks = env->blocks;
    policy->period_bytes = (uint64_t)((double)env->capacity_bytes * s.period_percent / 100);
    policy->cluster_at_bytes = trib_state_clock(env->state) + policy->period_bytes;
    code = allocate(policy);
    if (code) {
        vstream_close(policy);
        return trib_fail(error, code, "vstream: no memory for the ages of %llu pages", (unsigned long long)env->blocks);
    }
    *self = policy;
    return 0;
}

/* ---- which virtual stream? ---- */

/* What the writer says of itself, spread so that kinds of names cannot meet; 0: nothing. */
static uint64_t key_of(int source, const struct trib_placement *write) {
    const struct trib_context *who = &write->who;
    switch (source) {
    case BY_HINT:
        return who->write_hint > TRIB_HINT_NONE ? who->write_hint : 0;
    case BY_KIND:
        return who->file_kind;
    case BY_TENANT:
        return 1u + who->tenant;
    case BY_SIGNATURE:
        return who->signature;
    default:
        break;
    }
    if (write->vstream != TRIB_STREAM_UNDECIDED)
        return 1ull << 32 | write->vstream;
    if (source == BY_HOST ||
        (who->file_kind == TRIB_FILE_UNKNOWN && who->write_hint <= TRIB_HINT_NONE && who->level < 0))
        return 0;
    return 2ull << 32 | (uint32_t)who->file_kind << 16 | (uint32_t)who->write_hint << 8 | (uint8_t)who->level;
}

/* Numbers in order of appearance; when they run out, newcomers share the others'. */
static uint8_t identify(struct vstream *policy, const struct trib_placement *write) {
    uint64_t key = key_of(policy->source, write);
    if (key == 0)
        return NAMELESS;
    uint64_t hash = trib_hash_mix(0, key);
    uint32_t slot = (uint32_t)(hash >> 32) % NAME_SLOTS;
    while (policy->slots[slot] != NAMELESS && policy->keys[slot] != key)
        slot = (slot + 1) % NAME_SLOTS;
    if (policy->slots[slot] != NAMELESS)
        return policy->slots[slot];
    if (policy->map.vstreams == TRIB_VSTREAMS_MAX)
        return (uint8_t)((hash >> 32) % TRIB_VSTREAMS_MAX);
    policy->keys[slot] = key;
    policy->slots[slot] = (uint8_t)policy->map.vstreams++;
    return policy->slots[slot];
}

static uint16_t pstream_of(const struct vstream *policy, uint8_t name) {
    uint16_t pstream = name == NAMELESS ? 0 : policy->map.v[name].pstream;
    return pstream ? pstream : policy->default_pstream;
}

/* ---- when was it written? (section V.B) ---- */

/* The page may have been written again, or trimmed, while it waited. */
static bool still_waits(const struct vstream *policy, struct buffered page) {
    return policy->names[page.lba] != NAMELESS && policy->written[page.lba] == page.written;
}

/* Of the copies of a superpage, as an age, so that the clock may wrap. */
static uint32_t mean_age(const struct vstream *policy, const struct buffer *buffer) {
    uint64_t sum = 0, count = 0;
    for (uint32_t i = 0; i < buffer->count; i++) {
        if (!still_waits(policy, buffer->pages[i]))
            continue;
        sum += policy->now - buffer->pages[i].written;
        count++;
    }
    return count ? (uint32_t)(sum / count) : 0;
}

static void program(struct vstream *policy, struct buffer *buffer, uint32_t time) {
    for (uint32_t i = 0; i < buffer->count; i++)
        if (still_waits(policy, buffer->pages[i]))
            policy->written[buffer->pages[i].lba] = time;
    buffer->count = 0;
}

static bool put(const struct vstream *policy, struct buffer *buffer, uint32_t lba) {
    buffer->pages[buffer->count++] = (struct buffered){lba, policy->written[lba]};
    return buffer->count == policy->superpage_pages;
}

/* Algorithm 1. */
static void forget(struct vstream *policy, uint64_t lba) {
    uint8_t name = policy->names[lba];
    if (name == NAMELESS)
        return;
    trib_vstream_map_died(&policy->map, name, policy->now - policy->written[lba]);
    policy->names[lba] = NAMELESS;
}

/* ---- the seam ---- */

static uint16_t vstream_place(void *self, const struct trib_placement *write) {
    struct vstream *policy = self;
    uint8_t name = identify(policy, write);
    uint16_t pstream = pstream_of(policy, name);
    uint64_t end = write->lba + write->length_bytes / TRIB_BLOCK_BYTES;
    policy->now = (uint32_t)write->block_clock;
    for (uint64_t lba = write->lba; lba < end && lba < policy->blocks; lba++) {
        policy->now++;
        forget(policy, lba);
        policy->names[lba] = name;
        policy->written[lba] = policy->now;
        if (name != NAMELESS && put(policy, &policy->host[pstream], (uint32_t)lba))
            program(policy, &policy->host[pstream], policy->now);
    }
    return pstream;
}

static void vstream_discarded(void *self, uint64_t lba, uint64_t blocks, uint64_t clock_bytes) {
    struct vstream *policy = self;
    (void)clock_bytes; /* time is that of the pages that reach the drive */
    for (uint64_t end = lba + blocks; lba < end && lba < policy->blocks; lba++)
        forget(policy, lba);
}

/* Algorithm 3, lines 4 and 5: the mapping as it is now. */
static uint16_t vstream_relocate(void *self, const struct trib_relocation *page) {
    struct vstream *policy = self;
    uint8_t name = page->lba < policy->blocks ? policy->names[page->lba] : NAMELESS;
    uint16_t pstream = pstream_of(policy, name);
    struct buffer *buffer = &policy->copies[pstream];
    if (name != NAMELESS && put(policy, buffer, (uint32_t)page->lba))
        program(policy, buffer, policy->now - (policy->gc_now ? 0 : mean_age(policy, buffer)));
    return pstream < policy->internal_streams ? pstream : 0;
}

static void vstream_tick(void *self, uint64_t clock_bytes) {
    struct vstream *policy = self;
    if (clock_bytes < policy->cluster_at_bytes)
        return;
    policy->cluster_at_bytes = clock_bytes + policy->period_bytes;
    trib_vstream_map_cluster(&policy->map);
}

static uint32_t vstream_reclusterings(void *self) {
    return ((const struct vstream *)self)->map.clusterings;
}

static uint64_t vstream_memory_bytes(void *self) {
    return ((const struct vstream *)self)->memory_bytes;
}

const struct trib_policy trib_policy_vstream = {
    .name = "vstream",
    .summary = "virtual streams mapped by lifetime (vStream-FTL, TCE'21)",
    .options = options,
    .needs = TRIB_NEEDS_LBA | TRIB_NEEDS_TRIM,
    .needs_given = vstream_needs,
    .gc = "pstream",
    .open = vstream_open,
    .close = vstream_close,
    .place = vstream_place,
    .relocate = vstream_relocate,
    .tick = vstream_tick,
    .blocks = {.discarded = vstream_discarded},
    .reclusterings = vstream_reclusterings,
    .memory_bytes = vstream_memory_bytes,
};
