/* SPDX-License-Identifier: Apache-2.0 */
/* A mapped ELF file as its program headers describe it. Thread safety: pure functions over read-only mapped memory;
 * async-signal-safe; no allocation. */
#ifndef TRIB_SIGNATURE_ELF_IMAGE_H
#define TRIB_SIGNATURE_ELF_IMAGE_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include <tributary/signature.h>

TRIB_C_BEGIN

struct trib_image {
    uintptr_t map_start, map_end; /* of all PT_LOAD together */
    uintptr_t eh_frame_hdr;       /* PT_GNU_EH_FRAME; 0 = none */
};

void trib_image_measure(struct trib_image *image, uintptr_t base, const ElfW(Phdr) * header, unsigned headers);

/* The executable PT_LOAD that holds `address`; false if there is none. */
bool trib_image_segment(uintptr_t base, const ElfW(Phdr) * header, unsigned headers, uintptr_t address,
                        uintptr_t *start, uintptr_t *end);

/* Address and size of the GNU build-id in memory; 0 bytes if there is none inside `image`. */
unsigned trib_image_build_id(const struct trib_image *image, uintptr_t base, const ElfW(Phdr) * header,
                             unsigned headers, uintptr_t *at);

/* Path, build-id and the hash of a module; `at` and `bytes` are those of trib_image_build_id. */
void trib_image_name(struct trib_module *module, const char *path, uintptr_t at, unsigned bytes);

/* What identifies a module without build-id: the last part of its name. */
uint64_t trib_image_name_hash(const char *path);

/* Is it the C or C++ runtime? Its outermost frames are thread roots. */
bool trib_image_is_runtime(const char *path);

TRIB_C_END
#endif
