/* SPDX-License-Identifier: Apache-2.0 */
/* Records of .eh_frame and its sorted index (Linux Standard Base 5, "Exception Frames"). Thread
 * safety: pure functions over read-only mapped memory; async-signal-safe; no allocation. Reads stay
 * inside the module's mapping. */
#ifndef TRIB_SIGNATURE_EH_FRAME_H
#define TRIB_SIGNATURE_EH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "signature/modules.h"
#include "signature/unwind/reader.h"

TRIB_C_BEGIN

/* What a function's FDE and the CIE it refers to say. */
struct trib_eh_entry {
    struct trib_reader cie_instructions, fde_instructions;
    uint64_t code_align;
    int64_t data_align;
    uintptr_t start; /* of the function */
    uint8_t pointer_encoding;
    bool has_augmentation_data, is_signal_frame;
};

/* Address of the FDE with the greatest start <= target; 0 if the module has no usable index. */
uintptr_t trib_eh_search(const struct trib_segment *segment, uintptr_t target);

/* False if the record is damaged, of a kind that is not known, or does not cover the target. */
bool trib_eh_read(struct trib_eh_entry *entry, const struct trib_segment *segment, uintptr_t address, uintptr_t target);

/* Absolute and pc-relative pointers; what else the standard knows does not occur in FDE locations
 * and fails. */
uintptr_t trib_eh_pointer(struct trib_reader *reader, uint8_t encoding);

TRIB_C_END
#endif
