/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include <tributary/event.h>

#include "file_stream.h"
#include "kinds.h"
#include "raw.h"
#include "sink.h"

#define SLOTS 65536u /* descriptors beyond are looked up for every write */

/* slot.word: what the descriptor is, then its file's kind and write hint, then how often its number was forgotten. */
enum {
    REGULAR = 1u << 0,
    OTHER = 1u << 1,  /* not for us: a socket, a pipe, a file of /proc */
    APPENDS = 1u << 2,
    TRACKED = 1u << 3, /* slot.offset is where the next write() goes, while slot.children holds */
    NAMED = 1u << 4,   /* the file's name has been told, and the kind is known */
    NAMELESS = 1u << 5,
    IN_MEMORY = 1u << 6,
    KIND_SHIFT = 8,
    KIND_MASK = 31,
    HINT_SHIFT = 13,
    HINT_MASK = 7,
    FORGOTTEN = 1u << 16,
};
#define LOOKED_UP (REGULAR | OTHER)
_Static_assert(TRIB_FILE_KIND_COUNT <= KIND_MASK + 1, "slot.word has five bits for the kind");

struct slot {
    _Atomic(uint64_t) file, offset;
    _Atomic(uint64_t) votes; /* file_stream.h */
    _Atomic(uint32_t) word, children;
};

static struct slot slots[SLOTS]; /* zero pages until used */
static _Atomic(uint32_t) highest;  /* slot ever used */
static _Atomic(uint32_t) children; /* that this process has made, which share its descriptors' offsets */
_Thread_local int trib_in_vfork;

static struct slot *slot_of(int fd) {
    return (unsigned)fd < SLOTS && !trib_in_vfork ? &slots[fd] : NULL;
}

static void note_highest(int fd) {
    uint32_t known = atomic_load_explicit(&highest, memory_order_relaxed);

    while ((uint32_t)fd > known && !atomic_compare_exchange_weak(&highest, &known, (uint32_t)fd))
        ;
}

/* ---- asking the kernel ---- */

/* Files that no drive will ever hold. */
static bool is_pseudo(const struct statfs *system) {
    switch ((unsigned long)system->f_type) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
    case HUGETLBFS_MAGIC:
        return true;
    default:
        return false;
    }
}

static uint32_t ask(int fd, uint64_t *file) {
    struct stat stat;
    struct statfs system;

    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) || fstatfs(fd, &system) != 0 || is_pseudo(&system))
        return OTHER;
    bool in_memory = system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
    if (in_memory && stat.st_nlink == 0) /* a memfd, or as good as one */
        return OTHER;
    int flags = fcntl(fd, F_GETFL);
    *file = trib_file_identity(stat.st_dev, stat.st_ino);
    return REGULAR | (flags & O_APPEND ? APPENDS : 0) | (stat.st_nlink ? 0 : NAMELESS) | (in_memory ? IN_MEMORY : 0);
}

static bool describe(int fd, uint32_t word, uint64_t file, struct trib_descriptor *out) {
    *out = (struct trib_descriptor){.fd = fd,
                                    .appends = word & APPENDS,
                                    .nameless = word & NAMELESS,
                                    .in_memory = word & IN_MEMORY,
                                    .kind = word >> KIND_SHIFT & KIND_MASK,
                                    .hint = word >> HINT_SHIFT & HINT_MASK,
                                    .file = file};
    return word & REGULAR;
}

static bool look_up(int fd, struct slot *slot, struct trib_descriptor *out) {
    int kept = errno;
    uint64_t file = 0;
    uint32_t before = slot ? atomic_load_explicit(&slot->word, memory_order_acquire) : 0;
    uint32_t found = before | ask(fd, &file); /* a hint may have come first */

    errno = kept;
    if (slot) {
        atomic_store_explicit(&slot->file, file, memory_order_relaxed);
        /* Fails when the number was closed meanwhile: then the next write asks again. */
        atomic_compare_exchange_strong(&slot->word, &before, found);
        note_highest(fd);
    }
    return describe(fd, found, file, out);
}

/* Calls out of this library: the trace, the state file, our own messages. */
static bool is_own_code(const void *frame) {
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));
    extern const char _etext[] __attribute__((visibility("hidden")));
    const char *caller = ((const char *const *)frame)[1];

    return caller >= __ehdr_start && caller < _etext;
}

bool trib_descriptor_look(int fd, const void *frame, struct trib_descriptor *out) {
    if (fd < 0 || !trib_sink_wanted() || is_own_code(frame))
        return false;
    struct slot *slot = slot_of(fd);
    uint32_t word = slot ? atomic_load_explicit(&slot->word, memory_order_acquire) : 0;
    if (__builtin_expect(!(word & LOOKED_UP), 0))
        return look_up(fd, slot, out);
    return describe(fd, word, atomic_load_explicit(&slot->file, memory_order_relaxed), out);
}

/* ---- names ---- */

void trib_descriptor_name(struct trib_descriptor *known) {
    struct slot *slot = slot_of(known->fd);
    uint32_t word = slot ? atomic_load_explicit(&slot->word, memory_order_acquire) : 0;
    char link[32], path[4096];
    int kept = errno;

    if (__builtin_expect(word & NAMED, 1)) {
        known->kind = word >> KIND_SHIFT & KIND_MASK;
        return;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", known->fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = kept;
    path[length > 0 ? length : 0] = '\0';
    known->kind = known->nameless ? TRIB_FILE_TEMP : trib_kind_of(path);
    if (length > 0)
        trib_sink_name(known->file, path);
    if (slot && (word & REGULAR))
        atomic_compare_exchange_strong(&slot->word, &word, word | NAMED | (uint32_t)known->kind << KIND_SHIFT);
}

/* ---- hints ---- */

void trib_descriptor_hinted(int fd, uint64_t hint) {
    struct slot *slot = slot_of(fd);

    if (!slot || !trib_sink_wanted() || hint > TRIB_HINT_EXTREME)
        return;
    uint32_t word = atomic_load_explicit(&slot->word, memory_order_relaxed), hinted;
    do {
        hinted = (word & ~((uint32_t)HINT_MASK << HINT_SHIFT)) | (uint32_t)hint << HINT_SHIFT;
    } while (!atomic_compare_exchange_weak(&slot->word, &word, hinted));
    note_highest(fd);
}

/* Streams have no order that a hint could keep; drives that turn hints into streams only tell them apart. */
static uint64_t hint_of(uint16_t stream) {
    return stream ? RWH_WRITE_LIFE_SHORT + (stream - 1u) % 4 : RWH_WRITE_LIFE_NONE;
}

void trib_descriptor_hint(const struct trib_descriptor *known, uint16_t stream, uint64_t length_bytes) {
    struct slot *slot = slot_of(known->fd);
    int kept = errno;

    if (!slot || !stream)
        return;
    uint64_t before = atomic_load_explicit(&slot->votes, memory_order_relaxed);
    uint64_t after = trib_file_stream_vote(before, stream, length_bytes);
    atomic_store_explicit(&slot->votes, after, memory_order_relaxed); /* a race loses a vote */
    if (trib_file_stream(before) == trib_file_stream(after))
        return;
    uint64_t hint = hint_of(trib_file_stream(after));
    trib_syscall(SYS_fcntl, known->fd, F_SET_RW_HINT, &hint); /* fcntl would take it for the program's */
    errno = kept;
}

/* ---- offsets ---- */

uint64_t trib_descriptor_advance(const struct trib_descriptor *known, uint64_t length_bytes) {
    struct slot *slot = slot_of(known->fd);
    int kept = errno;

    if (slot && atomic_load_explicit(&slot->word, memory_order_acquire) & TRACKED &&
        atomic_load_explicit(&slot->children, memory_order_relaxed) == atomic_load(&children))
        return atomic_fetch_add_explicit(&slot->offset, length_bytes, memory_order_relaxed);
    off_t end = trib_syscall(SYS_lseek, known->fd, 0, SEEK_CUR);
    errno = kept;
    return end >= (off_t)length_bytes ? (uint64_t)end - length_bytes : 0;
}

void trib_descriptor_opened(int fd, int flags) {
    struct slot *slot = slot_of(fd);

    if (!slot || !trib_sink_wanted())
        return;
    trib_descriptor_forget(fd);
    if ((flags & O_ACCMODE) != O_WRONLY || flags & O_APPEND)
        return;
    atomic_store_explicit(&slot->offset, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->children, atomic_load(&children), memory_order_relaxed);
    atomic_fetch_or_explicit(&slot->word, TRACKED, memory_order_release);
    note_highest(fd);
}

void trib_descriptor_moved(int fd, off_t offset) {
    struct slot *slot = slot_of(fd);

    if (slot && atomic_load_explicit(&slot->word, memory_order_relaxed) & TRACKED)
        atomic_store_explicit(&slot->offset, (uint64_t)offset, memory_order_relaxed);
}

void trib_descriptor_shared(int fd) {
    struct slot *slot = slot_of(fd);

    if (slot)
        atomic_fetch_and_explicit(&slot->word, ~(uint32_t)TRACKED, memory_order_release);
}

void trib_descriptors_shared(void) {
    atomic_fetch_add(&children, 1);
}

/* ---- ends ---- */

void trib_descriptor_forget(int fd) {
    struct slot *slot = slot_of(fd);

    if (!slot)
        return;
    uint32_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
    uint32_t count = word / FORGOTTEN; /* wraps */
    atomic_store_explicit(&slot->votes, 0, memory_order_relaxed);
    if (word % FORGOTTEN)
        atomic_store_explicit(&slot->word, (count + 1) * FORGOTTEN, memory_order_release);
}

void trib_descriptors_forget(unsigned first, unsigned last) {
    uint32_t end = atomic_load_explicit(&highest, memory_order_relaxed);

    for (unsigned fd = first; fd <= last && fd <= end; fd++)
        trib_descriptor_forget((int)fd);
}

bool trib_descriptors_unnamed(uint64_t file) {
    uint32_t end = atomic_load_explicit(&highest, memory_order_relaxed);
    bool found = false;

    for (uint32_t fd = 0; fd <= end && !trib_in_vfork; fd++) {
        struct slot *slot = &slots[fd];
        uint32_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
        if (!(word & NAMED) || atomic_load_explicit(&slot->file, memory_order_relaxed) != file)
            continue;
        atomic_fetch_or_explicit(&slot->word, NAMELESS, memory_order_release);
        found = true;
    }
    return found;
}

int trib_descriptor_of(uint64_t file) {
    uint32_t end = atomic_load_explicit(&highest, memory_order_relaxed);

    for (uint32_t fd = 0; fd <= end; fd++)
        if (atomic_load_explicit(&slots[fd].word, memory_order_acquire) & NAMED &&
            atomic_load_explicit(&slots[fd].file, memory_order_relaxed) == file)
            return (int)fd;
    return -1;
}

void trib_descriptors_inherited(void) {
    uint32_t end = atomic_load_explicit(&highest, memory_order_relaxed);

    for (uint32_t fd = 0; fd <= end; fd++)
        atomic_fetch_and_explicit(&slots[fd].word, ~(uint32_t)NAMELESS, memory_order_relaxed);
}

bool trib_descriptor_closing(int fd, struct trib_descriptor *out) {
    struct slot *slot = fd >= 0 ? slot_of(fd) : NULL;
    uint32_t word = slot ? atomic_load_explicit(&slot->word, memory_order_acquire) : 0;

    if (!(word & NAMED))
        return false;
    return describe(fd, word, atomic_load_explicit(&slot->file, memory_order_relaxed), out);
}

void trib_descriptors_visit(unsigned first, unsigned last, void (*visit)(const struct trib_descriptor *known)) {
    uint32_t end = atomic_load_explicit(&highest, memory_order_relaxed);
    struct trib_descriptor known;

    for (unsigned fd = first; fd <= last && fd <= end; fd++)
        if (trib_descriptor_closing((int)fd, &known))
            visit(&known);
}

uint32_t trib_descriptor_life(int fd) {
    struct slot *slot = fd >= 0 ? slot_of(fd) : NULL;

    return slot ? atomic_load_explicit(&slot->word, memory_order_acquire) / FORGOTTEN : 0;
}
