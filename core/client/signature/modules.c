/* SPDX-License-Identifier: Apache-2.0 */
#include "modules.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif
#include <unistd.h>

#include "base/assert.h"
#include "base/hash.h"

#define READ_ATTEMPTS 10000u /* yields before giving up on a publisher that does not come back */

/* What one walk of the loader's list sees. */
struct snapshot {
    uint64_t adds, subs;
    uint32_t segments, modules;
    struct trib_segment segment[TRIB_MODULES_MAX]; /* .module indexes module[] below */
    struct trib_module module[TRIB_MODULES_MAX];
};

/* The published copy of a segment; read by anyone while it is being replaced. */
struct shared_segment {
    TRIB_ATOMIC(uintptr_t) start, end, base, map_start, map_end, eh_frame_hdr;
    TRIB_ATOMIC(uint64_t) build_id_hash;
    TRIB_ATOMIC(uint32_t) module, runtime;
};

TRIB_ATOMIC(uint32_t) trib_modules_generation;

static struct {
    TRIB_ATOMIC(uint32_t) sequence; /* odd while segments change */
    TRIB_ATOMIC(uint32_t) segments;
    TRIB_ATOMIC(uint64_t) adds, subs; /* loader's counters when the published walk was made */
    struct shared_segment segment[TRIB_MODULES_MAX];
} map;

/* The child of a process with threads keeps the map as it was: one of the threads that it lacks may
 * have held the loader's lock, and glibc does not reset that lock in a child. */
static TRIB_ATOMIC(bool) frozen;

/* Append-only: an entry is written before the count that covers it. */
static struct trib_module known[TRIB_MODULES_KNOWN_MAX];
static TRIB_ATOMIC(uint32_t) known_count;

#define LOAD(field)         atomic_load_explicit(&(field), memory_order_acquire)
#define STORE(field, value) atomic_store_explicit(&(field), (value), memory_order_release)

/* ---- walking the loader's list ---- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_runtime(const char *path) {
    static const char *const prefixes[] = {
        "libc.so.",    "libc-2.",    "libpthread",   "ld-linux",  "ld-2.",
        "ld-musl",     "libc.musl-", "libstdc++.so", "libc++.so", "libc++abi.so",
        "libgcc_s.so", "libtsan.so", "libasan.so"};
    const char *name = base_name(path);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static void read_build_id(struct trib_module *module, const char *note, size_t bytes,
                          size_t align) {
    align = align == 8 ? 8 : 4;
    while (bytes >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *header = (const void *)note;
        size_t name_end = sizeof *header + header->n_namesz;
        size_t data = (name_end + align - 1) & ~(align - 1);
        size_t next = (data + header->n_descsz + align - 1) & ~(align - 1);
        if (next > bytes || data > next || header->n_namesz > bytes)
            return;
        if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
            !memcmp(note + sizeof *header, "GNU", 4)) {
            size_t size = header->n_descsz < sizeof module->build_id ? header->n_descsz
                                                                     : sizeof module->build_id;
            memcpy(module->build_id, note + data, size);
            module->build_id_bytes = (uint8_t)size;
            return;
        }
        note += next;
        bytes -= next;
    }
}

static void name_by_argument(struct trib_module *module) {
    size_t length = strnlen(program_invocation_name, sizeof module->path - 1);
    memcpy(module->path, program_invocation_name, length);
    module->path[length] = '\0';
}

static void name_module(struct trib_module *module, const struct dl_phdr_info *info, bool first) {
    if (info->dlpi_name && *info->dlpi_name) {
        size_t length = strnlen(info->dlpi_name, sizeof module->path - 1);
        memcpy(module->path, info->dlpi_name, length);
    } else if (first) {
        ssize_t length = readlink("/proc/self/exe", module->path, sizeof module->path - 1);
        module->path[length < 0 ? 0 : length] = '\0';
        /* `ld.so program`: for the kernel the loader is the program. A program taken for the C
         * runtime would have its frames dropped. */
        if (is_runtime(module->path))
            name_by_argument(module);
    }
}

static void describe_module(struct trib_module *module, const struct dl_phdr_info *info,
                            const struct trib_segment *extent) {
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_NOTE && !module->build_id_bytes && start >= extent->map_start &&
            start + header->p_memsz <= extent->map_end)
            read_build_id(module, (const char *)start, header->p_memsz, header->p_align);
    }
    if (module->build_id_bytes) {
        module->build_id_hash = trib_hash(module->build_id, module->build_id_bytes);
    } else {
        const char *name = base_name(module->path);
        module->build_id_hash = trib_hash(name, strlen(name));
    }
}

static void measure_module(struct trib_segment *extent, const struct dl_phdr_info *info) {
    *extent = (struct trib_segment){.base = info->dlpi_addr, .map_start = UINTPTR_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_GNU_EH_FRAME)
            extent->eh_frame_hdr = start;
        if (header->p_type != PT_LOAD)
            continue;
        if (start < extent->map_start)
            extent->map_start = start;
        if (start + header->p_memsz > extent->map_end)
            extent->map_end = start + header->p_memsz;
    }
}

/* Keeps the list ordered by address; the loader's own order is close to random but lists are short.
 */
static void insert_segment(struct snapshot *snapshot, const struct trib_segment *segment) {
    uint32_t at = snapshot->segments++;
    for (; at > 0 && snapshot->segment[at - 1].start > segment->start; at--)
        snapshot->segment[at] = snapshot->segment[at - 1];
    snapshot->segment[at] = *segment;
}

static int visit_module(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    struct snapshot *snapshot = arg;
    snapshot->adds = info->dlpi_adds;
    snapshot->subs = info->dlpi_subs;
    if (snapshot->modules == TRIB_MODULES_MAX)
        return 1;
    struct trib_segment extent;
    measure_module(&extent, info);
    struct trib_module *module = &snapshot->module[snapshot->modules];
    name_module(module, info, snapshot->modules == 0);
    describe_module(module, info, &extent);
    extent.build_id_hash = module->build_id_hash;
    extent.module = snapshot->modules++;
    extent.runtime = is_runtime(module->path);
    for (int i = 0; i < info->dlpi_phnum && snapshot->segments < TRIB_MODULES_MAX; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        extent.start = info->dlpi_addr + header->p_vaddr;
        extent.end = extent.start + header->p_memsz;
        insert_segment(snapshot, &extent);
    }
    return 0;
}

/* ---- publishing ---- */

static uint32_t intern_module(const struct trib_module *module) {
    uint32_t count = atomic_load_explicit(&known_count, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++)
        if (known[i].build_id_hash == module->build_id_hash && !strcmp(known[i].path, module->path))
            return i;
    if (count == TRIB_MODULES_KNOWN_MAX)
        return UINT32_MAX;
    known[count] = *module;
    atomic_store_explicit(&known_count, count + 1, memory_order_release);
    return count;
}

static void publish_segment(struct shared_segment *to, const struct trib_segment *from,
                            uint32_t module) {
    STORE(to->start, from->start);
    STORE(to->end, from->end);
    STORE(to->base, from->base);
    STORE(to->map_start, from->map_start);
    STORE(to->map_end, from->map_end);
    STORE(to->eh_frame_hdr, from->eh_frame_hdr);
    STORE(to->build_id_hash, from->build_id_hash);
    STORE(to->module, module);
    STORE(to->runtime, from->runtime);
}

/* Publishers take turns, and a fork takes one; readers never wait for either. Held with signals blocked. */
static pthread_mutex_t publishing = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

/* Fails only in a thread that is forking: a capture in some other library's fork handler leaves the map as it is. */
static bool begin_publishing(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
    if (pthread_mutex_lock(&publishing) == 0)
        return true;
    pthread_sigmask(SIG_SETMASK, before, NULL);
    return false;
}

static void end_publishing(const sigset_t *before) {
    pthread_mutex_unlock(&publishing);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static void replace_segments(const struct snapshot *snapshot) {
    uint32_t sequence = LOAD(map.sequence), segments = 0;
    atomic_exchange_explicit(&map.sequence, sequence + 1, memory_order_acq_rel);
    for (uint32_t i = 0; i < snapshot->segments; i++) {
        uint32_t module = intern_module(&snapshot->module[snapshot->segment[i].module]);
        if (module != UINT32_MAX)
            publish_segment(&map.segment[segments++], &snapshot->segment[i], module);
    }
    STORE(map.segments, segments);
    STORE(map.adds, snapshot->adds);
    STORE(map.subs, snapshot->subs);
    STORE(map.sequence, sequence + 2);
}

/* A walk that is older than the published one is dropped: both counters of the loader only grow. */
static void publish(const struct snapshot *snapshot) {
    sigset_t before;
    if (!begin_publishing(&before))
        return;
    uint32_t generation = LOAD(trib_modules_generation);
    if (snapshot->adds + snapshot->subs > LOAD(map.adds) + LOAD(map.subs) || generation == 0 ||
        LOAD(map.segments) == 0) {
        replace_segments(snapshot);
        STORE(trib_modules_generation, generation + 1 ? generation + 1 : 1);
    }
    end_publishing(&before);
}

int trib_modules_name(const struct trib_module *module, uint32_t *index) {
    sigset_t before;

    if (!begin_publishing(&before))
        return -ENOSPC;
    uint32_t found = intern_module(module);
    end_publishing(&before);
    if (found == UINT32_MAX)
        return -ENOSPC;
    *index = found;
    return 0;
}

static void refresh(void) {
    struct snapshot *snapshot = mmap(NULL, sizeof *snapshot, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (snapshot == MAP_FAILED)
        return; /* the old map goes on; addresses in new modules end a path */
    dl_iterate_phdr(visit_module, snapshot);
    publish(snapshot);
    munmap(snapshot, sizeof *snapshot);
}

static int read_counters(struct dl_phdr_info *info, size_t size, void *arg) {
    (void)size;
    struct {
        uint64_t adds, subs;
    } *counters = arg;
    counters->adds = info->dlpi_adds;
    counters->subs = info->dlpi_subs;
    return 1;
}

bool trib_modules_check(void) {
    struct {
        uint64_t adds, subs;
    } now = {0, 0};
    if (TRIB_UNLIKELY(LOAD(frozen)))
        return false;
    dl_iterate_phdr(read_counters, &now);
    uint64_t subs = LOAD(map.subs);
    if (TRIB_LIKELY(now.adds == LOAD(map.adds) && now.subs == subs &&
                    LOAD(trib_modules_generation)))
        return false;
    refresh();
    return now.subs != subs;
}

/* ---- reading ---- */

static bool find_once(uintptr_t address, struct trib_segment *out) {
    uint32_t low = 0, high = LOAD(map.segments);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (LOAD(map.segment[middle].end) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= LOAD(map.segments) || LOAD(map.segment[low].start) > address)
        return false;
    const struct shared_segment *from = &map.segment[low];
    *out = (struct trib_segment){
        .start = LOAD(from->start),
        .end = LOAD(from->end),
        .base = LOAD(from->base),
        .map_start = LOAD(from->map_start),
        .map_end = LOAD(from->map_end),
        .eh_frame_hdr = LOAD(from->eh_frame_hdr),
        .build_id_hash = LOAD(from->build_id_hash),
        .module = LOAD(from->module),
        .runtime = LOAD(from->runtime) != 0,
    };
    return true;
}

bool trib_modules_find(uintptr_t address, struct trib_segment *out) {
    for (unsigned attempt = 0; attempt < READ_ATTEMPTS; attempt++) {
        struct trib_segment segment;
        uint32_t sequence = LOAD(map.sequence);
        if (sequence & 1) {
            sched_yield();
            continue;
        }
        bool found = find_once(address, &segment);
        if (LOAD(map.sequence) != sequence)
            continue;
        if (found)
            *out = segment;
        return found;
    }
    return false;
}

/* ---- fork ---- */

static sigset_t signals_before_fork; /* of the one thread that holds `publishing` */
static bool had_threads;

/* The child inherits a whole map, of all that is loaded now: it cannot make its own if there were other threads. */
void trib_modules_before_fork(void) {
    sigset_t before;
    trib_modules_check();
    if (!begin_publishing(&before))
        return;
    signals_before_fork = before;
#if __has_include(<sys/single_threaded.h>)
    had_threads = !__libc_single_threaded;
#else
    had_threads = true;
#endif
}

void trib_modules_after_fork(bool in_child) {
    sigset_t before = signals_before_fork;
    if (in_child) {
        publishing = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP; /* its owner's thread id is the parent's */
        if (had_threads)
            STORE(frozen, true);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    } else {
        end_publishing(&before);
    }
}

uint32_t trib_modules_count(void) {
    return LOAD(known_count);
}

int trib_signature_module(uint32_t index, struct trib_module *out) {
    if (index >= LOAD(known_count))
        return -ENOENT;
    *out = known[index];
    return 0;
}
