/* SPDX-License-Identifier: Apache-2.0 */
#include "code.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "instruction.h"

#define JUMP_BYTES  5u  /* e9 and a 32-bit distance */
#define WORD_BYTES  8u  /* what one store changes, where it is aligned */
#define STUB_BYTES  80u /* at most */
#define PLACES_MAX  1024u
#define STACK_BYTES (1ull << 30) /* of a stack without a limit */

const char *trib_patch_reason(int code) {
    switch (code) {
    case 0:
        return "patched";
    case -ENOTSUP:
        return "it begins with code that cannot be moved";
    case -EBUSY:
        return "threads may stand in its first instructions, and no free page makes a jump safe for them";
    case -EACCES:
    case -EPERM:
        return "the system lets nobody change code";
    case -ENOMEM:
        return "no memory";
    default:
        return strerror(-code);
    }
}

#ifdef __x86_64__

/* ---- plan ---- */

/* A jump `at` bytes into the function. False: something there cannot be moved. */
static bool plan_at(const uint8_t *function, unsigned at, struct trib_patch_plan *out) {
    unsigned word_end = (unsigned)(WORD_BYTES - ((uintptr_t)function + at) % WORD_BYTES);
    unsigned free_end = word_end < JUMP_BYTES ? word_end : JUMP_BYTES, moved = 0;
    struct trib_instruction instruction;

    while (moved < JUMP_BYTES) {
        if (!trib_instruction_read(function + at + moved, &instruction))
            return false;
        moved += instruction.length;
        free_end = moved < free_end ? moved : free_end; /* a thread may stand here */
    }
    *out = (struct trib_patch_plan){.at = at, .pinned = JUMP_BYTES - free_end, .moved = moved};
    return true;
}

/* Best first: behind an endbr64 where that leaves as much of the distance free. How many. */
static unsigned make_plans(const uint8_t *function, struct trib_patch_plan plans[2]) {
    if (!plan_at(function, 0, &plans[0]))
        return 0;
    if (!trib_instruction_is_landing(function) || !plan_at(function, 4, &plans[1]))
        return 1;
    if (plans[1].pinned <= plans[0].pinned) {
        struct trib_patch_plan behind = plans[1];
        plans[1] = plans[0];
        plans[0] = behind;
    }
    return 2;
}

int trib_patch_make_plan(const uint8_t *function, struct trib_patch_plan *out) {
    struct trib_patch_plan plans[2];

    if (make_plans(function, plans) == 0)
        return -ENOTSUP;
    *out = plans[0];
    return 0;
}

/* ---- a page at the right distance ---- */

/* Where the main thread's stack may grow to, from above: a page of ours there would stop it. */
static uintptr_t stack_end(uintptr_t top) {
    struct rlimit limit;
    bool is_known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < STACK_BYTES;
    uint64_t bytes = is_known ? limit.rlim_cur : STACK_BYTES;

    return top - bytes - (bytes >> 3) - (1u << 20);
}

static uint8_t *map_page(uintptr_t at, size_t page_bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    void *got = mmap((void *)at, page_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

    if (got == (void *)at)
        return got;
    if (got != MAP_FAILED) /* a kernel before 4.17 takes the address as a hint */
        munmap(got, page_bytes);
    return NULL;
}

/* A stub that begins at `first` or later, up to `last`; NULL: no page is free there. */
static uint8_t *map_between(uintptr_t first, uintptr_t last, size_t page_bytes) {
    uintptr_t page = first / page_bytes * page_bytes, step = (last - first) / PLACES_MAX / page_bytes * page_bytes;
    uintptr_t top = (uintptr_t)getauxval(AT_RANDOM), end = stack_end(top);

    for (; page <= last; page += step ? step : page_bytes) {
        uintptr_t stub = page > first ? page : first;
        if (stub + STUB_BYTES > page + page_bytes || (page > end && page < top))
            continue;
        uint8_t *got = map_page(page, page_bytes);
        if (got)
            return got + (stub - page);
    }
    return NULL;
}

/* Anywhere that a jump reaches: mostly where the system puts a page anyway. */
static uint8_t *map_near(uintptr_t from, size_t page_bytes) {
    const uintptr_t reach = (1u << 31) - (1u << 24);
    uintptr_t first = from > reach ? from - reach : page_bytes;
    uint8_t *got = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (got != MAP_FAILED && (uintptr_t)got >= first && (uintptr_t)got - first < 2 * reach)
        return got;
    if (got != MAP_FAILED)
        munmap(got, page_bytes);
    got = map_between(from, from + reach, page_bytes);
    return got ? got : map_between(first, from, page_bytes);
}

/* So that the upper `pinned` bytes of the distance from `from` are those before `from`. */
static uint8_t *map_pinned(const uint8_t *from, unsigned pinned, size_t page_bytes) {
    uint32_t span = pinned == 4 ? 0 : (uint32_t)((1ull << 8 * (4 - pinned)) - 1);
    uint32_t distance;

    if (pinned == 0)
        return map_near((uintptr_t)from, page_bytes);
    memcpy(&distance, from - sizeof distance, sizeof distance);
    uintptr_t first = (uintptr_t)from + (uintptr_t)(intptr_t)(int32_t)(distance & ~span);
    return map_between(first, first + span, page_bytes);
}

/* ---- stubs ---- */

/* Writes code at `code`. */
static uint8_t *put_bytes(uint8_t *code, const void *bytes, size_t length) {
    memcpy(code, bytes, length);
    return code + length;
}

static bool distance_to(const uint8_t *from, const void *to, int32_t *distance) {
    intptr_t bytes = (intptr_t)to - (intptr_t)from;

    *distance = (int32_t)bytes;
    return *distance == bytes;
}

static uint8_t *put_jump(uint8_t *code, const void *to) {
    static const uint8_t through[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *(%rip) */
    int32_t distance;

    if (!distance_to(code + JUMP_BYTES, to, &distance))
        return put_bytes(put_bytes(code, through, sizeof through), &to, sizeof to);
    *code = 0xe9;
    return put_bytes(code + 1, &distance, sizeof distance);
}

/* Copies whole instructions, with what is relative in them adjusted. NULL: too far from what one of them means. */
static uint8_t *put_moved(uint8_t *code, const uint8_t *from, unsigned length) {
    struct trib_instruction instruction = {0, 0};

    for (unsigned done = 0; done < length; done += instruction.length) {
        int32_t distance;
        trib_instruction_read(from + done, &instruction);
        memcpy(code, from + done, instruction.length);
        if (instruction.distance_at) {
            memcpy(&distance, code + instruction.distance_at, sizeof distance);
            if (!distance_to(code + instruction.length, from + done + instruction.length + distance, &distance))
                return NULL;
            memcpy(code + instruction.distance_at, &distance, sizeof distance);
        }
        code += instruction.length;
    }
    return code;
}

static uint8_t *page_of(const uint8_t *at, size_t page_bytes) {
    return (uint8_t *)((uintptr_t)at / page_bytes * page_bytes);
}

/* ---- the change ---- */

/* Bytes that lie within one aligned word change in one store; it is in assembly, as sanitizers keep no shadow of
 * code. */
static void store(uint8_t *at, const uint8_t *code, unsigned length) {
    uintptr_t in_word = (uintptr_t)at % WORD_BYTES;
    uint64_t word;

    if (in_word + length > WORD_BYTES) {
        memcpy(at, code, length);
        return;
    }
    memcpy(&word, at - in_word, sizeof word);
    memcpy((uint8_t *)&word + in_word, code, length);
    __asm__ volatile("movq %1, %0" : "=m"(*(uint64_t *)(void *)(at - in_word)) : "r"(word) : "memory");
}

/* Pages of code, executable all the while: others run in them, and they may hold the very code that changes them. */
struct window {
    uint8_t *begin, *end;
};

/* Where the way back fails, the pages only stay writable. */
static void close_window(struct window *window) {
    if (window->begin)
        (void)mprotect(window->begin, (size_t)(window->end - window->begin), PROT_READ | PROT_EXEC);
    *window = (struct window){NULL, NULL};
}

static int open_window(struct window *window, uint8_t *at, size_t length, size_t page_bytes) {
    struct window wanted = {page_of(at, page_bytes), page_of(at + length - 1, page_bytes) + page_bytes};

    if (window->begin && wanted.begin >= window->begin && wanted.end <= window->end)
        return 0;
    close_window(window);
    if (mprotect(wanted.begin, (size_t)(wanted.end - wanted.begin), PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return -errno;
    *window = wanted;
    return 0;
}

/* Threads show as links of this folder. */
static bool is_alone(void) {
    struct stat tasks;

    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

struct entry {
    uint8_t *function;
    struct trib_patch_plan plan;
    size_t page_bytes;
};

/* The bytes of the distance that are pinned are there already: they are not stored, which keeps the change in its
 * word. */
static int add(struct trib_patch_batch *batch, struct trib_patch *out, const struct entry *entry, uint8_t *stub,
               void *go_on) {
    uint8_t *at = entry->function + entry->plan.at;
    struct trib_patch_pending *pending = &batch->pending[batch->count];
    int32_t distance;

    if (!distance_to(at + JUMP_BYTES, stub, &distance))
        return -ENOTSUP;
    *pending = (struct trib_patch_pending){.out = out, .code = {0xe9}};
    pending->patch =
        (struct trib_patch){.at = at, .length = JUMP_BYTES - entry->plan.pinned, .stub = stub, .go_on = go_on};
    memcpy(pending->code + 1, &distance, sizeof distance);
    memcpy(pending->patch.original, at, pending->patch.length);
    batch->room = entry->plan.pinned ? batch->room : stub + STUB_BYTES;
    batch->count++;
    return 0;
}

static bool has_room(const struct trib_patch_batch *batch, const uint8_t *from, size_t page_bytes) {
    const intptr_t reach = ((intptr_t)1 << 31) - (1 << 24);
    intptr_t distance = batch->room - from;

    return batch->room && batch->room + STUB_BYTES <= page_of(batch->room - 1, page_bytes) + page_bytes &&
           distance < reach && distance > -reach;
}

/* In: a jump to `instead`. Out: what it replaces, and a jump back. -EBUSY: no page, or too far from what an instruction
 * means. */
static int put_planned(struct trib_patch_batch *batch, struct trib_patch *out, const struct entry *entry,
                       const void *instead) {
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    const uint8_t *at = entry->function + entry->plan.at;
    bool is_shared = entry->plan.pinned == 0 && has_room(batch, at, entry->page_bytes);
    uint8_t *stub = is_shared ? batch->room : map_pinned(at + JUMP_BYTES, entry->plan.pinned, entry->page_bytes);

    if (!stub)
        return -EBUSY;
    uint8_t *go_on = put_jump(stub, instead);
    uint8_t *end = put_moved(put_bytes(go_on, endbr64, sizeof endbr64), at, entry->plan.moved);
    int code = -EBUSY;
    if (end) {
        put_jump(end, at + entry->plan.moved);
        code = add(batch, out, entry, stub, go_on);
    }
    if (code && !is_shared)
        munmap(page_of(stub, entry->page_bytes), entry->page_bytes);
    return code;
}

int trib_patch_add(struct trib_patch_batch *batch, struct trib_patch *out, void *function, const void *instead,
                   bool may_be_running) {
    struct entry entry = {.function = function, .page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
    struct trib_patch_plan plans[2];
    unsigned count = make_plans(function, plans);
    int code = count ? -EBUSY : -ENOTSUP;

    if (batch->count == TRIB_PATCH_BATCH_MAX)
        return -ENOBUFS;
    for (unsigned i = 0; i < count && code == -EBUSY; i++) {
        entry.plan = plans[i];
        code = put_planned(batch, out, &entry, instead);
    }
    if (code == -EBUSY && entry.plan.pinned && !may_be_running && is_alone()) {
        entry.plan.pinned = 0;
        code = put_planned(batch, out, &entry, instead);
    }
    return code == -EBUSY && entry.plan.pinned == 0 ? -ENOMEM : code;
}

/* NULL: a stub before it lies in the same page. */
static uint8_t *stub_page(const struct trib_patch_batch *batch, unsigned i, size_t page_bytes) {
    uint8_t *page = page_of(batch->pending[i].patch.stub, page_bytes);

    for (unsigned before = 0; before < i; before++)
        if (page_of(batch->pending[before].patch.stub, page_bytes) == page)
            return NULL;
    return page;
}

/* Stubs become code before anybody can jump to them. */
static int finish_stubs(const struct trib_patch_batch *batch, size_t page_bytes) {
    for (unsigned i = 0; i < batch->count; i++) {
        uint8_t *page = stub_page(batch, i, page_bytes);
        if (page && mprotect(page, page_bytes, PROT_READ | PROT_EXEC) != 0)
            return -errno;
    }
    return 0;
}

static void drop_stubs(const struct trib_patch_batch *batch, size_t page_bytes) {
    for (unsigned i = 0; i < batch->count; i++) {
        uint8_t *page = stub_page(batch, i, page_bytes);
        if (page)
            munmap(page, page_bytes);
    }
}

static int change(struct window *window, const struct trib_patch_pending *pending, size_t page_bytes) {
    const struct trib_patch *patch = &pending->patch;
    int code = open_window(window, patch->at, patch->length, page_bytes);

    if (code)
        return code;
    *pending->out = *patch; /* first: whoever comes by the jump asks for go_on */
    store(patch->at, pending->code, patch->length);
    return 0;
}

int trib_patch_commit(struct trib_patch_batch *batch) {
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct window window = {NULL, NULL};
    int code = finish_stubs(batch, page_bytes);
    unsigned changed = 0;

    while (changed < batch->count && code == 0) {
        code = change(&window, &batch->pending[changed], page_bytes);
        changed += code == 0;
    }
    close_window(&window);
    if (changed == 0)
        drop_stubs(batch, page_bytes);
    *batch = (struct trib_patch_batch){.count = 0};
    return code;
}

int trib_patch_put(struct trib_patch *out, void *function, const void *instead, bool may_be_running) {
    struct trib_patch_batch batch = {.count = 0};
    int code = trib_patch_add(&batch, out, function, instead, may_be_running);

    return code ? code : trib_patch_commit(&batch);
}

void trib_patch_remove(struct trib_patch *patch) {
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct window window = {NULL, NULL};

    if (patch->at && open_window(&window, patch->at, patch->length, page_bytes) == 0)
        store(patch->at, patch->original, patch->length);
    close_window(&window);
    patch->at = NULL;
}

/* ---- hook ---- */

static const uint8_t prologue[] = {
    0xf3, 0x0f, 0x1e, 0xfa, /* endbr64 */
    0x55,                   /* push %rbp */
    0x48, 0x89, 0xe5,       /* mov %rsp,%rbp */
};

bool trib_patch_hook_fits(const uint8_t *function) {
    return (uintptr_t)function % WORD_BYTES == 0 && memcmp(function, prologue, sizeof prologue) == 0;
}

static void write_hook_stub(uint8_t *stub, const uint8_t *function, trib_patch_hook *hook) {
    static const uint8_t before[] = {
        0x57, 0x57,       /* push %rdi, twice: the stack stays aligned */
        0x48, 0x89, 0xee, /* mov %rbp,%rsi */
        0x48, 0xb8,       /* mov $hook,%rax */
    };
    static const uint8_t after[] = {
        0xff, 0xd0, /* call *%rax */
        0x5f, 0x5f, /* pop %rdi, twice */
    };
    uint8_t *code = put_bytes(stub, prologue, sizeof prologue);

    code = put_bytes(put_bytes(code, before, sizeof before), &hook, sizeof hook);
    put_jump(put_bytes(code, after, sizeof after), function + sizeof prologue);
}

int trib_patch_hook_put(struct trib_patch *out, uint8_t *function, trib_patch_hook *hook) {
    struct entry entry = {.function = function, .page_bytes = (size_t)sysconf(_SC_PAGESIZE)};

    if (!trib_patch_hook_fits(function) || trib_patch_make_plan(function, &entry.plan) || entry.plan.at != 0)
        return -ENOTSUP;
    uint8_t *stub = map_pinned(function + JUMP_BYTES, entry.plan.pinned, entry.page_bytes);
    if (!stub)
        return -EBUSY;
    write_hook_stub(stub, function, hook);
    struct trib_patch_batch batch = {.count = 0};
    int code = add(&batch, out, &entry, stub, NULL);
    if (code)
        munmap(page_of(stub, entry.page_bytes), entry.page_bytes);
    return code ? code : trib_patch_commit(&batch);
}

#else

int trib_patch_make_plan(const uint8_t *function, struct trib_patch_plan *out) {
    (void)function, (void)out;
    return -ENOTSUP;
}

int trib_patch_put(struct trib_patch *out, void *function, const void *instead, bool may_be_running) {
    (void)out, (void)function, (void)instead, (void)may_be_running;
    return -ENOTSUP;
}

int trib_patch_add(struct trib_patch_batch *batch, struct trib_patch *out, void *function, const void *instead,
                   bool may_be_running) {
    (void)batch, (void)out, (void)function, (void)instead, (void)may_be_running;
    return -ENOTSUP;
}

int trib_patch_commit(struct trib_patch_batch *batch) {
    (void)batch;
    return -ENOTSUP;
}

bool trib_patch_hook_fits(const uint8_t *function) {
    (void)function;
    return false;
}

int trib_patch_hook_put(struct trib_patch *out, uint8_t *function, trib_patch_hook *hook) {
    (void)out, (void)function, (void)hook;
    return -ENOTSUP;
}

void trib_patch_remove(struct trib_patch *patch) {
    (void)patch;
}

#endif
