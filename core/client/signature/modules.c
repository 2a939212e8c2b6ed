/* SPDX-License-Identifier: Apache-2.0 */
#include "modules.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "base/likely.h"
#include "elf_image.h"
#include "loader.h"
#include "signature/unwind/unwind.h"

#define FIRST_PAGE_BYTES 4096u

/* What is constant once `is_ready`; key 0 = free. */
struct map_entry {
    TRIB_ATOMIC(uint64_t) key;
    TRIB_ATOMIC(uint32_t) round; /* of the listing that saw it last; without _dl_find_object only */
    TRIB_ATOMIC(bool) is_ready, is_live;
    bool is_permanent;
    uint8_t build_id_bytes;
    struct trib_segment segment;
    uintptr_t map_start, map_end; /* by the loader's account: whole pages */
    uintptr_t build_id_at;
};

struct known_module {
    TRIB_ATOMIC(uint64_t) key; /* 0 = free */
    TRIB_ATOMIC(bool) is_ready;
    struct trib_module module;
};

TRIB_ATOMIC(uint32_t) trib_modules_generation = 1;

static struct map_entry map[TRIB_SEGMENTS_MAX];
static TRIB_ATOMIC(uint32_t) map_used; /* entries behind it are free */
static struct known_module known[TRIB_MODULES_KNOWN_MAX];
static TRIB_ATOMIC(uint32_t) known_count;

#define LOAD(field)         atomic_load_explicit(&(field), memory_order_acquire)
#define STORE(field, value) atomic_store_explicit(&(field), (value), memory_order_release)

/* ---- names ---- */

static uint64_t nonzero(uint64_t key) {
    return key ? key : 1;
}

#define MODULE_SEED 0x6d6f64756c65ull

/* Everybody looks from the start and takes the first free place, so equal modules meet. */
int trib_modules_name(const struct trib_module *module, uint32_t *index) {
    /* A seed first: of a name that is all there is, both hashes are the same, and would cancel each other. */
    uint64_t seeded = trib_hash_mix(MODULE_SEED, module->build_id_hash);
    uint64_t key = nonzero(trib_hash_mix(seeded, trib_hash(module->path, strlen(module->path))));

    for (uint32_t i = 0; i < TRIB_MODULES_KNOWN_MAX; i++) {
        uint64_t present = LOAD(known[i].key);
        if (present == 0 && atomic_compare_exchange_strong_explicit(&known[i].key, &present, key, memory_order_acq_rel,
                                                                    memory_order_acquire)) {
            known[i].module = *module;
            STORE(known[i].is_ready, true);
            atomic_fetch_add_explicit(&known_count, 1, memory_order_relaxed);
            present = key;
        }
        if (present == key) {
            *index = i;
            return 0;
        }
    }
    return -ENOSPC;
}

uint32_t trib_modules_count(void) {
    return LOAD(known_count);
}

int trib_signature_module(uint32_t index, struct trib_module *out) {
    if (index >= TRIB_MODULES_KNOWN_MAX || !LOAD(known[index].is_ready))
        return -ENOENT;
    *out = known[index].module;
    return 0;
}

uint64_t trib_modules_build_id(uint32_t index) {
    return index < TRIB_MODULES_KNOWN_MAX && LOAD(known[index].is_ready) ? known[index].module.build_id_hash : 0;
}

/* ---- what is stale ---- */

static void void_all(void) {
    trib_sites_clear();
    atomic_fetch_add_explicit(&trib_modules_generation, 1, memory_order_acq_rel);
}

static bool same_module(const struct map_entry *a, const struct map_entry *b) {
    return a->segment.base == b->segment.base && a->segment.build_id_hash == b->segment.build_id_hash;
}

/* Two files cannot lie in one place: what was there before is gone. */
static void activate(struct map_entry *entry) {
    bool is_stale = false;

    if (TRIB_LIKELY(LOAD(entry->is_live)))
        return;
    STORE(entry->is_live, true);
    for (uint32_t i = 0; i < LOAD(map_used); i++) {
        struct map_entry *other = &map[i];
        if (other == entry || !LOAD(other->is_ready) || !LOAD(other->is_live) || other->map_end <= entry->map_start ||
            other->map_start >= entry->map_end || same_module(entry, other))
            continue;
        STORE(other->is_live, false);
        is_stale = true;
    }
    if (is_stale)
        void_all();
}

/* ---- the map ---- */

/* The build-id is compared as it lies in memory: a library built anew may have every address of the old one. */
static bool has_build_id(const struct map_entry *entry, const struct trib_loaded *loaded) {
    const ElfW(Phdr) * header;
    struct trib_image image;
    uintptr_t at = entry->build_id_at;

    if (!entry->build_id_bytes)
        return trib_image_name_hash(loaded->name) == entry->segment.build_id_hash;
    if (TRIB_UNLIKELY(at - loaded->map_start >= FIRST_PAGE_BYTES)) { /* beyond it may be a hole by now */
        unsigned headers = trib_loader_headers(loaded, &header);
        trib_image_measure(&image, loaded->base, header, headers);
        if (trib_image_build_id(&image, loaded->base, header, headers, &at) != entry->build_id_bytes)
            return false;
    }
    return trib_hash((const void *)at, entry->build_id_bytes) == entry->segment.build_id_hash;
}

static bool is_of(const struct map_entry *entry, const struct trib_loaded *loaded) {
    return entry->segment.base == loaded->base && entry->map_start == loaded->map_start &&
           entry->map_end == loaded->map_end && entry->segment.eh_frame_hdr == loaded->eh_frame_hdr &&
           has_build_id(entry, loaded);
}

static struct map_entry *recall(uintptr_t address, const struct trib_loaded *loaded) {
    for (uint32_t i = 0; i < LOAD(map_used); i++) {
        struct map_entry *entry = &map[i];
        if (LOAD(entry->is_ready) && address >= entry->segment.start && address < entry->segment.end &&
            is_of(entry, loaded))
            return entry;
    }
    return NULL;
}

static uint64_t entry_key(const struct map_entry *entry) {
    const uint64_t parts[] = {
        entry->segment.start, entry->segment.end,          entry->segment.base,         entry->map_start,
        entry->map_end,       entry->segment.eh_frame_hdr, entry->segment.build_id_hash};
    return nonzero(trib_hash(parts, sizeof parts));
}

static void cover(uint32_t index) {
    uint32_t used = LOAD(map_used);
    while (used <= index && !atomic_compare_exchange_weak_explicit(&map_used, &used, index + 1, memory_order_acq_rel,
                                                                   memory_order_acquire)) {
    }
}

/* The entry's index, or TRIB_SEGMENT_NONE. */
static uint16_t keep(const struct map_entry *from) {
    uint64_t key = entry_key(from);

    for (uint32_t i = 0; i < TRIB_SEGMENTS_MAX; i++) {
        struct map_entry *entry = &map[i];
        uint64_t present = LOAD(entry->key);
        if (present == 0 && atomic_compare_exchange_strong_explicit(&entry->key, &present, key, memory_order_acq_rel,
                                                                    memory_order_acquire)) {
            entry->is_permanent = from->is_permanent;
            entry->build_id_bytes = from->build_id_bytes;
            entry->segment = from->segment;
            entry->segment.index = (uint16_t)i;
            entry->map_start = from->map_start;
            entry->map_end = from->map_end;
            entry->build_id_at = from->build_id_at;
            cover(i);
            STORE(entry->is_ready, true);
            present = key;
        }
        if (present == key)
            return (uint16_t)i;
    }
    return TRIB_SEGMENT_NONE;
}

/* ---- reading a file in memory ---- */

struct file {
    const struct trib_loaded *loaded;
    const ElfW(Phdr) * header;
    unsigned headers;
};

/* Apart: a path has 256 bytes of stack. */
__attribute__((noinline)) static void name_entry(struct map_entry *entry, const char *path) {
    struct trib_module module;

    trib_image_name(&module, path, entry->build_id_at, entry->build_id_bytes);
    entry->segment.build_id_hash = module.build_id_hash;
    entry->segment.runtime = trib_image_is_runtime(module.path);
    if (trib_modules_name(&module, &entry->segment.module) != 0)
        entry->segment.module = UINT32_MAX;
}

static bool describe(struct map_entry *entry, const struct file *file, uintptr_t address) {
    const struct trib_loaded *loaded = file->loaded;
    struct trib_image image;

    *entry = (struct map_entry){.map_start = loaded->map_start, .map_end = loaded->map_end};
    trib_image_measure(&image, loaded->base, file->header, file->headers);
    entry->segment.base = loaded->base;
    entry->segment.map_start = image.map_start;
    entry->segment.map_end = image.map_end;
    entry->segment.eh_frame_hdr = loaded->eh_frame_hdr;
    if (!trib_image_segment(loaded->base, file->header, file->headers, address, &entry->segment.start,
                            &entry->segment.end))
        return false;
    entry->build_id_bytes =
        (uint8_t)trib_image_build_id(&image, loaded->base, file->header, file->headers, &entry->build_id_at);
    entry->is_permanent = trib_loader_is_permanent(loaded);
    name_entry(entry, loaded->name);
    return true;
}

__attribute__((noinline, cold)) static bool read_file(const struct trib_loaded *loaded, uintptr_t address,
                                                      struct trib_segment *out) {
    struct map_entry entry;
    struct file file = {.loaded = loaded};

    file.headers = trib_loader_headers(loaded, &file.header);
    if (!describe(&entry, &file, address))
        return false;
    uint16_t index = keep(&entry);
    if (index != TRIB_SEGMENT_NONE && LOAD(map[index].is_ready))
        activate(&map[index]);
    *out = entry.segment;
    out->index = index;
    return true;
}

/* ---- where the loader has only a list ---- */

static TRIB_ATOMIC(uint32_t) listings_wanted, listings_done;
static atomic_flag is_listing = ATOMIC_FLAG_INIT;

static void list_file(const struct trib_loaded *loaded, const ElfW(Phdr) * header, unsigned headers, void *arg) {
    const struct file file = {loaded, header, headers};
    const uint32_t *round = arg;

    for (unsigned i = 0; i < headers; i++) {
        struct map_entry entry;
        if (header[i].p_type != PT_LOAD || !(header[i].p_flags & PF_X) ||
            !describe(&entry, &file, loaded->base + header[i].p_vaddr))
            continue;
        uint16_t index = keep(&entry);
        if (index == TRIB_SEGMENT_NONE)
            continue;
        STORE(map[index].round, *round);
        STORE(map[index].is_live, true);
    }
}

static void list_all(void) {
    uint32_t round = LOAD(listings_wanted);

    trib_loader_list(list_file, &round);
    for (uint32_t i = 0; i < LOAD(map_used); i++)
        if (LOAD(map[i].round) != round)
            STORE(map[i].is_live, false);
    STORE(listings_done, round);
}

/* One at a time; who finds another at it leaves the wish, which that one sees before it goes. */
void trib_modules_refresh(void) {
    atomic_fetch_add_explicit(&listings_wanted, 1, memory_order_acq_rel);
    while (!trib_loader_can_find() && LOAD(listings_done) != LOAD(listings_wanted) &&
           !atomic_flag_test_and_set_explicit(&is_listing, memory_order_acquire)) {
        list_all();
        atomic_flag_clear_explicit(&is_listing, memory_order_release);
    }
    void_all();
}

static bool find_listed(uintptr_t address, struct trib_segment *out) {
    for (uint32_t i = 0; i < LOAD(map_used); i++) {
        struct map_entry *entry = &map[i];
        if (!LOAD(entry->is_ready) || !LOAD(entry->is_live) || address < entry->segment.start ||
            address >= entry->segment.end)
            continue;
        *out = entry->segment;
        return true;
    }
    return false;
}

/* ---- reading ---- */

bool trib_modules_find(uintptr_t address, struct trib_segment *out) {
    struct trib_loaded loaded;

    if (TRIB_UNLIKELY(!trib_loader_can_find()))
        return find_listed(address, out);
    if (!trib_loader_find(address, &loaded))
        return false;
    struct map_entry *entry = recall(address, &loaded);
    if (!entry)
        return read_file(&loaded, address, out);
    activate(entry);
    *out = entry->segment;
    return true;
}

const struct trib_segment *trib_modules_segment(uint16_t index) {
    return index < TRIB_SEGMENTS_MAX && LOAD(map[index].is_ready) ? &map[index].segment : NULL;
}

bool trib_modules_confirm(uint16_t index, uintptr_t address) {
    struct trib_loaded loaded;

    if (index >= TRIB_SEGMENTS_MAX || !LOAD(map[index].is_ready)) /* just read from its file */
        return true;
    if (map[index].is_permanent || !trib_loader_can_find())
        return true;
    if (trib_loader_find(address, &loaded) && is_of(&map[index], &loaded))
        return true;
    void_all();
    return false;
}
