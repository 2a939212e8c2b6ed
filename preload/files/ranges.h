/* SPDX-License-Identifier: Apache-2.0 */
/* What fallocate's modes do to the data of a file, for its callers and for rings. */
#ifndef TRIB_PRELOAD_RANGES_H
#define TRIB_PRELOAD_RANGES_H

#include <stdint.h>

#include "files/descriptors.h"

/* Punched, zeroed and collapsed ranges die; what lies behind a collapsed or an inserted range dies with them, because
 * nothing remembers that it moved. */
void trib_record_fallocated(const struct trib_descriptor *known, int mode, int64_t offset, int64_t length);

#endif
