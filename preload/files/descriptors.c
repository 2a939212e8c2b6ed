/* SPDX-License-Identifier: Apache-2.0 */
#include "files/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include <tributary/event.h>
#include <tributary/signature.h>

#include "base/breaker.h"
#include "base/kinds.h"
#include "files/devices.h"
#include "files/file_stream.h"
#include "files/names.h"
#include "files/rings.h"
#include "files/slots.h"
#include "libc/own_code.h"
#include "libc/raw.h"
#include "quiet.h"
#include "sink.h"

/* slot.word: what the descriptor is, then its file's kind and write hint, then how often its number was forgotten. */
enum {
    REGULAR = 1u << 0,
    OTHER = 1u << 1, /* not for us: a socket, a pipe, a file of /proc */
    APPENDS = 1u << 2,
    TRACKED = 1u << 3, /* slot.offset is where the next write() goes, while slot.children holds */
    NAMED = 1u << 4,   /* it was written or mapped through: the name is recorded, the kind is known */
    NAMELESS = 1u << 5,
    IN_MEMORY = 1u << 6,
    OPENED = 1u << 7, /* the shim saw it opened for writing: APPENDS is known, and the name as far as it will be */
    KIND_SHIFT = 8,
    KIND_MASK = 31,
    HINT_SHIFT = 13,
    HINT_MASK = 7,
    OWED = 1u << 16, /* NAMED, but there was no room for the name yet */
    FORGOTTEN = 1u << 17,
};
#define LOOKED_UP (REGULAR | OTHER)
_Static_assert(TRIB_FILE_KIND_COUNT <= KIND_MASK + 1, "slot.word has five bits for the kind");

static _Atomic(uint32_t) children; /* that this process has made, which share its descriptors' offsets */
static _Atomic(bool) has_gone;     /* a slot may be nameless, or owe a name: else a child need not look at each */
_Thread_local int trib_in_vfork;

/* Of the child of a vfork, in its parent's thread. */
static _Thread_local struct {
    bool has_own;   /* it has closed, opened or copied one: numbers no longer mean what they mean to its parent */
    uint8_t kind;   /* of the file below */
    uint64_t named; /* the file whose name it sent last */
} child __attribute__((tls_model("initial-exec")));

static struct trib_slot *slot_of(int fd) {
    return trib_in_vfork ? NULL : trib_slot(fd);
}

/* Of a descriptor that is written through, or will be. */
static struct trib_slot *slot_to_use(int fd) {
    struct trib_slot *slot = slot_of(fd);

    if (trib_in_vfork || (slot && (unsigned)fd < trib_slots_end()))
        return slot;
    if ((unsigned)fd >= TRIB_SLOTS_FIRST && trib_ask_begin()) {
        trib_slots_extend();
        trib_ask_end();
    }
    trib_slots_use(fd);
    return slot_of(fd);
}

static void note_gone(void) {
    if (!atomic_load_explicit(&has_gone, memory_order_relaxed))
        atomic_store(&has_gone, true);
}

/* ---- asking the kernel ---- */

static uint32_t ask(int fd, uint32_t known, uint64_t *file) {
    struct stat stat;

    if (trib_raw_fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode))
        return OTHER;
    enum trib_device device = trib_device_of(fd, stat.st_dev);
    bool in_memory = device == TRIB_DEVICE_MEMORY;
    if (device == TRIB_DEVICE_PSEUDO || (in_memory && stat.st_nlink == 0)) /* a memfd, or as good as one */
        return OTHER;
    long flags = known & OPENED ? 0 : TRIB_RAW(SYS_fcntl, fd, F_GETFL);
    *file = trib_file_identity(stat.st_dev, stat.st_ino);
    return REGULAR | (flags > 0 && flags & O_APPEND ? APPENDS : 0) | (stat.st_nlink ? 0 : NAMELESS) |
           (in_memory ? IN_MEMORY : 0);
}

/* Off the path of every write: at a descriptor's first, and when its number's life ends. */
static void check(uint32_t word) {
    if ((word & LOOKED_UP) == LOOKED_UP || (word & NAMED && !(word & REGULAR)) || (word & OWED && !(word & NAMED)))
        trib_break(TRIB_CHECK_DESCRIPTORS);
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

static bool __attribute__((noinline)) look_up(int fd, struct trib_slot *slot, struct trib_descriptor *out) {
    uint64_t file = 0;
    uint32_t before = slot ? atomic_load_explicit(&slot->word, memory_order_acquire) : 0;

    if (!trib_ask_begin())
        return false;
    slot = slot_to_use(fd);
    uint32_t found = before | ask(fd, before, &file); /* opened, or a hint, came first */
    if (found & REGULAR && !trib_in_vfork)            /* whose limits need not be its parent's */
        trib_signature_prepare();                     /* before anybody finds the descriptor known, and captures */
    if (found & NAMELESS)
        note_gone();
    if (slot) {
        atomic_store_explicit(&slot->file, file, memory_order_relaxed);
        /* Fails when the number was closed meanwhile: then the next write asks again. */
        atomic_compare_exchange_strong(&slot->word, &before, found);
    }
    trib_ask_end();
    return describe(fd, found, file, out);
}

bool trib_descriptor_look(int fd, const void *frame, struct trib_descriptor *out) {
    if (fd < 0 || !trib_sink_wanted() || trib_is_own_code(frame))
        return false;
    struct trib_slot *slot = slot_of(fd);
    uint32_t word = slot ? atomic_load_explicit(&slot->word, memory_order_acquire) : 0;
    if (__builtin_expect(!(word & LOOKED_UP), 0))
        return look_up(fd, slot, out);
    return describe(fd, word, atomic_load_explicit(&slot->file, memory_order_relaxed), out);
}

/* ---- names ---- */

/* Of this life of the number. False: none was seen. */
static bool name_of(int fd, uint32_t word, struct trib_name_text *out) {
    const struct trib_name *name = trib_slot_name(fd);

    return word & OPENED && name && trib_name_get(name, out) &&
           atomic_load_explicit(&trib_slot(fd)->word, memory_order_acquire) / FORGOTTEN == word / FORGOTTEN;
}

/* Of descriptors that a slot remembers as named: others would be asked about at every write. */
static bool get_name(int fd, uint32_t word, struct trib_name_text *out) {
    return word & OPENED ? name_of(fd, word, out) : !(word & NAMELESS) && TRIB_ASK(false, trib_name_ask(fd, out));
}

static uint8_t kind_of(const struct trib_name_text *name) {
    char path[2 + sizeof name->bytes] = "./"; /* for rules about folders */

    memcpy(path + 2, name->bytes, name->length + 1);
    return trib_kind_of(name->bytes[0] == '/' ? path + 2 : path);
}

/* What was asked is kept: when it is sent, the number may mean another file. */
static uint32_t owe(int fd, uint32_t word, const struct trib_name_text *name) {
    struct trib_name *room = trib_slot_name(fd);

    if (!(word & OPENED) && !room) {
        trib_sink_lose_name();
        return 0;
    }
    if (!(word & OPENED))
        trib_name_put(room, name);
    note_gone();
    return OPENED | OWED;
}

/* In the cold: once for each descriptor. */
static void __attribute__((noinline)) find_name(struct trib_descriptor *known, struct trib_slot *slot, uint32_t word) {
    struct trib_name_text name = {.length = 0};
    bool has_name = slot && get_name(known->fd, word, &name);

    check(word);
    known->kind = known->nameless ? TRIB_FILE_TEMP : has_name ? kind_of(&name) : TRIB_FILE_UNKNOWN;
    uint32_t found = NAMED | (uint32_t)known->kind << KIND_SHIFT;
    if (has_name && !trib_sink_name(known->file, name.bytes))
        found |= owe(known->fd, word, &name);
    if (slot && (word & REGULAR))
        atomic_compare_exchange_strong(&slot->word, &word, word | found);
}

/* With a later write, as long as the ring of texts is full. */
static bool __attribute__((noinline)) send_owed(int fd, struct trib_slot *slot, uint32_t word) {
    uint64_t file = atomic_load_explicit(&slot->file, memory_order_relaxed);
    struct trib_name_text name = {.length = 0};

    if (!name_of(fd, word, &name) || !trib_sink_name(file, name.bytes))
        return false;
    atomic_compare_exchange_strong(&slot->word, &word, word & ~(uint32_t)OWED);
    return true;
}

/* The number's life ends. */
static void settle(int fd, struct trib_slot *slot) {
    uint32_t word = atomic_load_explicit(&slot->word, memory_order_acquire);

    check(word);
    if (__builtin_expect(word & OWED, 0) && !send_owed(fd, slot, word))
        trib_sink_lose_name();
}

void trib_descriptors_settle(void) {
    uint32_t end = trib_in_vfork ? 0 : trib_slots_end();

    for (uint32_t fd = 0; fd < end && trib_slot((int)fd); fd++)
        settle((int)fd, trib_slot((int)fd));
}

/* The child of a vfork reads what its parent knows, and keeps nothing. */
static void __attribute__((noinline)) find_name_of_parent(struct trib_descriptor *known) {
    struct trib_slot *slot = child.has_own ? NULL : trib_slot(known->fd);
    uint32_t word = slot ? atomic_load_explicit(&slot->word, memory_order_acquire) : 0;
    struct trib_name_text name = {.length = 0};

    if (word & NAMED && atomic_load_explicit(&slot->file, memory_order_relaxed) == known->file) {
        known->kind = word >> KIND_SHIFT & KIND_MASK;
        return;
    }
    if (child.named == known->file) {
        known->kind = child.kind;
        return;
    }
    bool has_name = get_name(known->fd, word | (known->nameless ? NAMELESS : 0), &name);
    known->kind = known->nameless ? TRIB_FILE_TEMP : has_name ? kind_of(&name) : TRIB_FILE_UNKNOWN;
    if (has_name && !trib_sink_name(known->file, name.bytes))
        return; /* its next write tries again */
    child.named = known->file;
    child.kind = known->kind;
}

void trib_descriptors_child_gone(void) {
    child.has_own = false;
    child.named = 0;
}

void trib_descriptor_name(struct trib_descriptor *known) {
    struct trib_slot *slot = slot_of(known->fd);
    uint32_t word = slot ? atomic_load_explicit(&slot->word, memory_order_acquire) : 0;

    if (__builtin_expect(word & NAMED, 1)) {
        known->kind = word >> KIND_SHIFT & KIND_MASK;
        if (__builtin_expect(word & OWED, 0))
            (void)send_owed(known->fd, slot, word);
    } else if (trib_in_vfork) {
        find_name_of_parent(known);
    } else {
        find_name(known, slot, word);
    }
}

/* A new life of the number. */
static void begin(struct trib_slot *slot, uint32_t bits) {
    uint32_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);

    atomic_store_explicit(&slot->votes, 0, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&slot->word, &word, (word / FORGOTTEN + 1) * FORGOTTEN | bits,
                                                  memory_order_release, memory_order_relaxed))
        ;
}

static bool is_for_writing(int flags) {
    return (flags & O_ACCMODE) == O_WRONLY || (flags & O_ACCMODE) == O_RDWR;
}

void trib_descriptor_opened(int fd, const struct trib_opened *how) {
    struct trib_slot *slot = is_for_writing(how->flags) ? slot_to_use(fd) : slot_of(fd);
    struct trib_name_text folder = {.length = 0}, name = {.length = 0};
    bool tracked = (how->flags & O_ACCMODE) == O_WRONLY && !(how->flags & O_APPEND) && !how->moves_unseen;

    if (!slot || !trib_sink_wanted())
        return;
    trib_descriptor_forget(fd);
    if (!is_for_writing(how->flags))
        return;
    if (how->folder == AT_FDCWD)
        trib_folder_get(&folder);
    if (how->path && (how->flags & O_TMPFILE) != O_TMPFILE) /* that one is its folder's */
        trib_name_join(&folder, how->path, &name);
    if (trib_slot_name(fd))
        trib_name_put(trib_slot_name(fd), &name);
    atomic_store_explicit(&slot->offset, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->children, atomic_load(&children), memory_order_relaxed);
    begin(slot, OPENED | (how->flags & O_APPEND ? APPENDS : 0) | (tracked ? TRACKED : 0));
}

void trib_descriptor_copied(int from, int to) {
    struct trib_slot *source = from >= 0 ? slot_of(from) : NULL;
    uint32_t word = source ? atomic_load_explicit(&source->word, memory_order_acquire) : 0;
    struct trib_slot *slot = to < 0 ? NULL : word & OPENED ? slot_to_use(to) : slot_of(to);
    struct trib_name_text name = {.length = 0};

    if (from == to) /* dup2 of itself */
        return;
    trib_descriptor_shared(from);
    if (!slot)
        return;
    trib_descriptor_forget(to);
    if (!(word & OPENED))
        return;
    if (!name_of(from, word, &name))
        name.length = 0; /* or of another life of the number */
    if (trib_slot_name(to))
        trib_name_put(trib_slot_name(to), &name);
    begin(slot, word & (OPENED | APPENDS | (uint32_t)HINT_MASK << HINT_SHIFT));
}

void trib_descriptor_appends(int fd, bool appends) {
    struct trib_slot *slot = slot_of(fd);

    if (!slot)
        return;
    uint32_t word = atomic_load_explicit(&slot->word, memory_order_relaxed), changed;
    do {
        changed = (word & ~(uint32_t)(APPENDS | TRACKED)) | (appends ? APPENDS : 0);
    } while ((word & (OPENED | LOOKED_UP)) && !atomic_compare_exchange_weak(&slot->word, &word, changed));
}

/* ---- hints ---- */

void trib_descriptor_hinted(int fd, uint64_t hint) {
    struct trib_slot *slot = slot_to_use(fd);

    if (!slot || !trib_sink_wanted() || hint > TRIB_HINT_EXTREME)
        return;
    uint32_t word = atomic_load_explicit(&slot->word, memory_order_relaxed), hinted;
    do {
        hinted = (word & ~((uint32_t)HINT_MASK << HINT_SHIFT)) | (uint32_t)hint << HINT_SHIFT;
    } while (!atomic_compare_exchange_weak(&slot->word, &word, hinted));
}

/* Streams have no order that a hint could keep; drives that turn hints into streams only tell them apart. */
static uint64_t hint_of(uint16_t stream) {
    return stream ? RWH_WRITE_LIFE_SHORT + (stream - 1u) % 4 : RWH_WRITE_LIFE_NONE;
}

void trib_descriptor_hint(const struct trib_descriptor *known, uint16_t stream, uint64_t length_bytes) {
    struct trib_slot *slot = slot_of(known->fd);

    if (!slot || !stream)
        return;
    uint64_t before = atomic_load_explicit(&slot->votes, memory_order_relaxed);
    uint64_t after = trib_file_stream_vote(before, stream, length_bytes);
    atomic_store_explicit(&slot->votes, after, memory_order_relaxed); /* a race loses a vote */
    if (trib_file_stream(before) == trib_file_stream(after))
        return;
    uint64_t hint = hint_of(trib_file_stream(after));
    (void)TRIB_ASK(0, TRIB_RAW(SYS_fcntl, known->fd, F_SET_RW_HINT, &hint)); /* fcntl would take it for the program's */
}

/* ---- offsets ---- */

uint64_t trib_descriptor_advance(const struct trib_descriptor *known, uint64_t length_bytes) {
    struct trib_slot *slot = slot_of(known->fd);
    bool is_tracked = slot && atomic_load_explicit(&slot->word, memory_order_acquire) & TRACKED &&
                      atomic_load_explicit(&slot->children, memory_order_relaxed) == atomic_load(&children);

    if (is_tracked || !trib_ask_begin()) /* then it is where the last write ended, as far as anybody can say */
        return slot ? atomic_fetch_add_explicit(&slot->offset, length_bytes, memory_order_relaxed) : 0;
    long end = TRIB_RAW(SYS_lseek, known->fd, 0, SEEK_CUR);
    trib_ask_end();
    if (slot && end >= 0)
        atomic_store_explicit(&slot->offset, (uint64_t)end, memory_order_relaxed);
    return end >= (long)length_bytes ? (uint64_t)end - length_bytes : 0;
}

uint64_t trib_descriptor_end(const struct trib_descriptor *known, uint64_t length_bytes) {
    struct stat stat;

    if (!trib_ask_begin())
        return trib_descriptor_advance(known, length_bytes);
    bool is_known = trib_raw_fstat(known->fd, &stat) == 0 && (uint64_t)stat.st_size >= length_bytes;
    trib_ask_end();
    return is_known ? (uint64_t)stat.st_size - length_bytes : 0;
}

void trib_descriptor_moved(int fd, off_t offset) {
    struct trib_slot *slot = slot_of(fd);

    if (slot && atomic_load_explicit(&slot->word, memory_order_relaxed) & TRACKED)
        atomic_store_explicit(&slot->offset, (uint64_t)offset, memory_order_relaxed);
}

void trib_descriptor_shared(int fd) {
    struct trib_slot *slot = slot_of(fd);

    if (slot)
        atomic_fetch_and_explicit(&slot->word, ~(uint32_t)TRACKED, memory_order_release);
}

void trib_descriptors_shared(void) {
    atomic_fetch_add(&children, 1);
}

/* ---- ends ---- */

void trib_descriptor_forget(int fd) {
    struct trib_slot *slot = slot_of(fd);

    if (trib_in_vfork) {
        child.has_own = true;
        return;
    }
    trib_ring_closed(fd);
    if (slot && atomic_load_explicit(&slot->word, memory_order_relaxed) % FORGOTTEN) {
        settle(fd, slot);
        begin(slot, 0);
    }
}

void trib_descriptors_forget(unsigned first, unsigned last) {
    uint32_t end = trib_slots_end();

    if (trib_in_vfork) {
        child.has_own = true;
        return;
    }
    trib_rings_closed(first, last);
    for (unsigned fd = first; fd <= last && fd < end; fd++)
        trib_descriptor_forget((int)fd);
}

bool trib_descriptors_unnamed(uint64_t file) {
    uint32_t end = trib_in_vfork ? 0 : trib_slots_end();
    bool found = false;

    for (uint32_t fd = 0; fd < end && trib_slot((int)fd); fd++) {
        struct trib_slot *slot = trib_slot((int)fd);
        uint32_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
        if (!(word & NAMED) || atomic_load_explicit(&slot->file, memory_order_relaxed) != file)
            continue;
        atomic_fetch_or_explicit(&slot->word, NAMELESS, memory_order_release);
        note_gone();
        found = true;
    }
    return found;
}

int trib_descriptor_of(uint64_t file) {
    uint32_t end = trib_slots_end();

    for (uint32_t fd = 0; fd < end && trib_slot((int)fd); fd++) {
        const struct trib_slot *slot = trib_slot((int)fd);
        if (atomic_load_explicit(&slot->word, memory_order_acquire) & NAMED &&
            atomic_load_explicit(&slot->file, memory_order_relaxed) == file)
            return (int)fd;
    }
    return -1;
}

void trib_descriptors_inherited(void) {
    const uint32_t gone = NAMELESS | OWED, end = trib_slots_end();
    bool had_gone = atomic_load(&has_gone), was_putting = trib_names_inherited();

    for (uint32_t fd = 0; (had_gone || was_putting) && fd < end && trib_slot((int)fd); fd++) {
        struct trib_slot *slot = trib_slot((int)fd);
        if (atomic_load_explicit(&slot->word, memory_order_relaxed) & gone) /* a store copies the page */
            atomic_fetch_and_explicit(&slot->word, ~gone, memory_order_relaxed);
        if (trib_slot_name((int)fd))
            trib_name_inherited(trib_slot_name((int)fd));
    }
    trib_slots_inherited();
    trib_rings_clear();
}

bool trib_descriptor_closing(int fd, struct trib_descriptor *out) {
    struct trib_slot *slot = fd >= 0 ? slot_of(fd) : NULL;
    uint32_t word = slot ? atomic_load_explicit(&slot->word, memory_order_acquire) : 0;

    if (!(word & NAMED))
        return false;
    return describe(fd, word, atomic_load_explicit(&slot->file, memory_order_relaxed), out);
}

void trib_descriptors_visit(unsigned first, unsigned last, void (*visit)(const struct trib_descriptor *known)) {
    uint32_t end = trib_slots_end();
    struct trib_descriptor known;

    for (unsigned fd = first; fd <= last && fd < end; fd++)
        if (trib_descriptor_closing((int)fd, &known))
            visit(&known);
}

uint32_t trib_descriptor_life(int fd) {
    struct trib_slot *slot = fd >= 0 ? slot_of(fd) : NULL;

    return slot ? atomic_load_explicit(&slot->word, memory_order_acquire) / FORGOTTEN : 0;
}
