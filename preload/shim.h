/* SPDX-License-Identifier: Apache-2.0 */
/* The shim: libc's calls that write, delete, truncate, rename, map and sync files, recorded before the result
 * goes back to the program. An object library: libtributary-preload.so is the shim alone; other adapters link it and
 * say who writes (the write-buffer hook: which page and which front end; a JVM agent: which Java frames).
 *
 * Promise: bytes, results and errno are libc's. Only regular files are recorded. */
#ifndef TRIB_PRELOAD_SHIM_H
#define TRIB_PRELOAD_SHIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <tributary/event.h>
#include <tributary/status.h>

TRIB_C_BEGIN

/* One write that reached the kernel, in bytes of one file. */
struct trib_shim_write {
    uint64_t file;                       /* trib_file_identity */
    uint64_t offset_bytes, length_bytes; /* as the kernel took them: > 0 */
    const struct iovec *parts;           /* the program's buffers; NULL where they cannot be read (sendfile, mmap) */
    int part_count;
    int fd;                 /* -1 for mapped pages; at the mmap itself fd and frame are its own, and parts is NULL */
    uint8_t file_kind;      /* enum trib_file_kind, by name */
    uint8_t write_hint;     /* enum trib_write_hint, of the program */
    void *frame;            /* TRIB_FRAME_HERE() of the interposed function; NULL for mapped pages */
    uint64_t map_signature; /* for mapped pages: what identify said at the mmap, because the store itself goes unseen */
};

/* Says who writes the first bytes of `write` and returns how many bytes that holds for, 1..length_bytes; called again
 * for the rest. `who` comes in zeroed but for file_kind. Must not allocate, lock for long, write files, or touch
 * errno. */
typedef uint64_t trib_shim_identify(const struct trib_shim_write *write, struct trib_context *who);

/* Replaces the default (native call path of `frame`). Before the first write or at any time; NULL restores it. */
TRIB_EXPORT void trib_shim_identify_with(trib_shim_identify *identify);

/* The default, for an adapter that knows nothing better about this write. */
TRIB_EXPORT trib_shim_identify trib_shim_identify_native;

/* For a library that is loaded with options of a pipeline (docs/options.md): starts a daemon with them, and records
 * every call from now on; where the environment says where events go, that holds instead. Once. 0, or -errno with a
 * sentence. */
TRIB_EXPORT int trib_shim_start(const char *options, struct trib_error *error);

/* Records nothing, or again. After trib_shim_start. */
TRIB_EXPORT void trib_shim_pause(bool pause);

/* Writes of other processes may carry this call path, which was captured here. Once per path is enough. */
TRIB_EXPORT void trib_shim_name_signature(uint64_t signature);

/* What the daemon has counted. False: there is none. */
TRIB_EXPORT bool trib_shim_status(struct trib_status *out);

/* Why what libc itself writes (stdio) goes unseen; NULL: it is seen. */
TRIB_EXPORT const char *trib_shim_unseen(void);

/* For a library loaded into a running program: points the imports of every loaded object but libc, the loader and this
 * library at the shim. Number of slots patched, or -errno. Any thread, at any time but from signal handlers. */
TRIB_EXPORT int trib_shim_patch_imports(void);

TRIB_C_END
#endif
