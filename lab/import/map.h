/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks that a trace touches, and where they go. Filled, then finished, then only read. */
#ifndef TRIB_IMPORT_MAP_H
#define TRIB_IMPORT_MAP_H

#include "import/import.h"

/* Offset and length in bytes; not empty. 0, -ENOMEM. */
int trib_import_map_add(struct trib_import_map *map, uint32_t volume, uint64_t offset_bytes, uint64_t length_bytes);
void trib_import_map_finish(struct trib_import_map *map);
/* The packed range of [*offset, *offset + *length): chunks that are not in the map take no room.
 * False: none of it is in the map. */
bool trib_import_map_range(const struct trib_import_map *map, uint32_t volume, uint64_t *offset_bytes,
                           uint64_t *length_bytes);

#endif
