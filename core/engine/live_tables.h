/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a live pipeline's status, and what processes said of call paths, which the tables show. Thread safety:
 * everything belongs to the maintenance thread, under trib_state_lock. */
#ifndef TRIB_LIVE_TABLES_H
#define TRIB_LIVE_TABLES_H

#include <tributary/signature.h>
#include <tributary/status.h>

#include "flow.h"

TRIB_C_BEGIN

struct trib_recorder;
struct trib_paths; /* names of call paths, bounded: paths beyond are shown by number */

/* NULL: out of memory. */
struct trib_paths *trib_paths_open(void);
void trib_paths_close(struct trib_paths *paths);

/* As trib_texts_sink has them. */
void trib_paths_module(struct trib_paths *paths, uint32_t index, const struct trib_module *module);
void trib_paths_signature(struct trib_paths *paths, uint64_t signature, const struct trib_frame *frames,
                          uint32_t count);

void trib_tables_fill(struct trib_status_tables *out, struct trib_pipeline *pipeline, const struct trib_paths *paths,
                      const struct trib_recorder *recorder);

/* Of rows that do not fit into an answer the smallest of the longer table are left out. As trib_status_format; any
 * thread's own tables. */
long trib_tables_format(const struct trib_status *status, struct trib_status_tables *tables, uint32_t kind, char *text,
                        size_t capacity);

TRIB_C_END
#endif
