/* SPDX-License-Identifier: Apache-2.0 */
/* The only part of the room that knows this process: modules are looked up where signatures are
 * captured. */
#include <errno.h>

#include "trace/trace.h"

int trib_trace_write_signature(struct trib_trace_writer *writer, uint64_t signature, const struct trib_frame *frames,
                               uint32_t count) {
    if (count > TRIB_SIGNATURE_DEPTH_MAX)
        return -EINVAL;
    for (uint32_t i = 0; i < count; i++) {
        struct trib_module module;
        if (trib_trace_has_module(writer, frames[i].module) || trib_signature_module(frames[i].module, &module) != 0)
            continue; /* a module that is unknown by now still has its build-id in the frame */
        int rc = trib_trace_write_module(writer, frames[i].module, &module);
        if (rc)
            return rc;
    }
    return trib_trace_write_frames(writer, signature, frames, count);
}
