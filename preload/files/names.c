/* SPDX-License-Identifier: Apache-2.0 */
#include "files/names.h"

#include <fcntl.h>
#include <string.h>

#include "libc/raw.h"

#define PUTTING     0x80ull
#define LENGTH_MASK 0x7Full
#define ONE_MORE    0x100ull

_Static_assert(TRIB_NAME_BYTES_MAX <= LENGTH_MASK, "head has seven bits for the length");

static _Atomic(int) putting;

static void put(struct trib_name *name, const struct trib_name_text *text) {
    uint64_t head = atomic_load_explicit(&name->head, memory_order_relaxed), word;
    size_t words = (text->length + 7) / 8;

    if (head & PUTTING || !atomic_compare_exchange_strong(&name->head, &head, (head | PUTTING) + ONE_MORE))
        return;
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < words; i++) {
        memcpy(&word, text->bytes + i * 8, 8);
        atomic_store_explicit(&name->words[i], word, memory_order_relaxed);
    }
    head = (head & ~(LENGTH_MASK | PUTTING)) + ONE_MORE;
    atomic_store_explicit(&name->head, head | text->length, memory_order_release);
}

void trib_name_put(struct trib_name *name, const struct trib_name_text *text) {
    atomic_fetch_add(&putting, 1);
    put(name, text);
    atomic_fetch_sub(&putting, 1);
}

bool trib_names_inherited(void) {
    bool was_putting = atomic_load(&putting) > 0;

    if (was_putting)
        atomic_store(&putting, 0);
    return was_putting;
}

bool trib_name_get(const struct trib_name *name, struct trib_name_text *out) {
    uint64_t head = atomic_load_explicit(&name->head, memory_order_acquire), word;
    size_t length = head & LENGTH_MASK;

    out->length = 0;
    out->bytes[0] = '\0';
    if (head & PUTTING || length == 0 || length > TRIB_NAME_BYTES_MAX)
        return false;
    for (size_t i = 0; i < (length + 7) / 8; i++) {
        word = atomic_load_explicit(&name->words[i], memory_order_relaxed);
        memcpy(out->bytes + i * 8, &word, 8);
    }
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&name->head, memory_order_relaxed) != head)
        length = 0;
    out->bytes[length] = '\0';
    out->length = length;
    return length > 0;
}

void trib_name_inherited(struct trib_name *name) {
    if (atomic_load_explicit(&name->head, memory_order_relaxed) & PUTTING)
        atomic_store_explicit(&name->head, 0, memory_order_relaxed);
}

/* In front of what `out` holds right-aligned, as much of its end as there is room for. */
static void put_before(struct trib_name_text *out, const char *text, size_t length) {
    size_t room = TRIB_NAME_BYTES_MAX - out->length, taken = length < room ? length : room;

    out->length += taken;
    memcpy(out->bytes + TRIB_NAME_BYTES_MAX - out->length, text + length - taken, taken);
}

void trib_name_join(const struct trib_name_text *folder, const char *path, struct trib_name_text *out) {
    out->length = 0;
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    put_before(out, path, strlen(path));
    if (path[0] != '/' && folder->length) {
        if (folder->bytes[folder->length - 1] != '/')
            put_before(out, "/", 1);
        put_before(out, folder->bytes, folder->length);
    }
    memmove(out->bytes, out->bytes + TRIB_NAME_BYTES_MAX - out->length, out->length);
    out->bytes[out->length] = '\0';
}

/* ---- what the kernel knows ---- */

bool trib_name_ask(int fd, struct trib_name_text *out) {
    const struct trib_name_text nowhere = {.length = 0};
    char link[40] = "/proc/thread-self/fd/", path[1024], digits[12]; /* a thread may have a table of its own */
    size_t at = strlen(link), count = 0;

    for (unsigned rest = (unsigned)fd; count == 0 || rest; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    while (count)
        link[at++] = digits[--count];
    long length = TRIB_RAW(SYS_readlinkat, AT_FDCWD, link, path, sizeof path);
    if (length <= 0 || length == sizeof path || path[0] != '/')
        return false;
    path[length] = '\0';
    if (length > 10 && strcmp(path + length - 10, " (deleted)") == 0) /* it has other names */
        return false;
    trib_name_join(&nowhere, path, out);
    return true;
}

/* ---- the current folder ---- */

static struct trib_name current_folder;

void trib_folder_start(void) {
    struct trib_name_text text = {.length = 0}, nowhere = {.length = 0};
    char path[1024];
    long length = TRIB_RAW(SYS_getcwd, path, sizeof path); /* with its NUL; "(unreachable)/..." is no path */

    if (length > 1 && path[0] == '/')
        trib_name_join(&nowhere, path, &text);
    trib_name_put(&current_folder, &text);
}

void trib_folder_get(struct trib_name_text *out) {
    trib_name_get(&current_folder, out);
}

void trib_folder_changed(const char *path) {
    struct trib_name_text before, after = {.length = 0};

    trib_folder_get(&before);
    if (path && !strstr(path, "..") && (path[0] == '/' || before.length))
        trib_name_join(&before, path, &after);
    trib_name_put(&current_folder, &after);
}
