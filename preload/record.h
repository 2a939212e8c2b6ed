/* SPDX-License-Identifier: Apache-2.0 */
/* From a libc call that succeeded to events. Thread safety: any thread and signal handlers. Keeps errno. */
#ifndef TRIB_PRELOAD_RECORD_H
#define TRIB_PRELOAD_RECORD_H

#include <stdint.h>
#include <sys/uio.h>

#include <tributary/signature.h>

#include "files/descriptors.h"
#include "shim.h"

/* [offset, offset + length) was written, 0 < length. The other fields of `write` say from where. */
void trib_record_write(struct trib_descriptor *known, struct trib_shim_write *write);

/* The same, at the descriptor's own position. */
void trib_record_append(struct trib_descriptor *known, struct trib_shim_write *write);

/* The same, at the end of a file opened for appending, by a call that does not move the position. */
void trib_record_at_end(struct trib_descriptor *known, struct trib_shim_write *write);

/* A file as it was when it was mapped: pages may be recorded after its descriptor is closed. */
struct trib_mapped {
    uint64_t file, signature; /* the call path of mmap */
    uint8_t kind;
};
/* Who maps it. */
uint64_t trib_record_mapper(struct trib_descriptor *known, void *frame);
void trib_record_mapped(const struct trib_mapped *mapped, uint64_t offset_bytes, uint64_t length_bytes);

/* length_bytes may be TRIB_LENGTH_TO_END; cause is an enum trib_cause. */
void trib_record_death(uint64_t file, uint64_t offset_bytes, uint64_t length_bytes, uint8_t cause);
void trib_record_sync(uint64_t file, uint64_t offset_bytes, uint64_t length_bytes, uint8_t cause);

#endif
