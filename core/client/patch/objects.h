/* SPDX-License-Identifier: Apache-2.0 */
/* The objects that are loaded, copied out of the loader's list. The loader holds a lock while it shows its list, which
 * dlopen takes while it holds another, which dlsym takes: whoever asks for a symbol inside dl_iterate_phdr waits for a
 * dlopen that waits for him. So inside, objects are only copied, into memory reserved before; and held, one by one,
 * while what they contain is read or changed, because any of them may be closed meanwhile.
 *
 * Thread safety: any thread, as long as each has a list of its own. Not from signal handlers. */
#ifndef TRIB_PATCH_OBJECTS_H
#define TRIB_PATCH_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tributary/error.h>

TRIB_C_BEGIN

struct trib_object {
    uintptr_t base;
    uintptr_t dynamic;          /* its dynamic section; 0: none */
    const ElfW(Phdr) * headers; /* in the object itself: only while it is held */
    unsigned header_count;
    uint32_t name_at; /* in trib_objects.names */
};

struct trib_objects {
    struct trib_object *list;
    char *names;
    size_t count, names_bytes;
    size_t capacity, names_capacity;
    bool is_cut; /* there were more */
};

/* 0 or -ENOMEM. */
int trib_objects_collect(struct trib_objects *out);
void trib_objects_free(struct trib_objects *objects);

/* Keeps the object loaded. False: it is gone, or what has its name now is another. The program itself needs no holding:
 * *handle is NULL then. */
bool trib_object_hold(const struct trib_objects *objects, const struct trib_object *object, void **handle);
void trib_object_release(void *handle);

/* Whether this library was loaded before the C library: by the loader, ahead of main and of every thread. */
bool trib_loaded_early(void);

TRIB_C_END
#endif
