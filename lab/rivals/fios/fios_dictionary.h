/* SPDX-License-Identifier: Apache-2.0 */
/* The dictionaries of FIOS (ACM TOS 18(2) section 4.2): the base dictionary has half a byte per
 * chunk, its stream; the simplified one merges neighbours of one stream into ranges and answers
 * look-ups. Chunks beyond the end, and all of them before the first training, are in S0. Where
 * neighbours differ so often that ranges would take more room than the base (an eighth of the
 * chunks), look-ups read the base. The file is docs/formats/dictionary.md. Thread safety: one
 * owner. Memory is allocated at open: 1.125 bytes per chunk. */
#ifndef TRIB_POLICY_FIOS_DICTIONARY_H
#define TRIB_POLICY_FIOS_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rivals/fios/fios_select.h"

TRIB_C_BEGIN

#define TRIB_FIOS_STREAMS_MAX 16 /* half a byte */

struct trib_fios_dictionary {
    uint32_t chunks;
    uint8_t *base;         /* chunk 2i in the low half of byte i, 2i + 1 in the high half */
    uint32_t *range_start; /* ascending; the first is 0 */
    uint8_t *range_stream; /* neighbours differ */
    uint32_t ranges, ranges_max;
    bool simplified; /* the ranges say all that the base says */
};

/* What a file says besides. */
struct trib_fios_training_record {
    uint32_t chunks;
    uint32_t chunk_blocks; /* of 4 KiB */
    uint32_t streams;      /* that chunks may name: 0..streams-1 */
    uint32_t theta, features;
    bool decimal;
    uint64_t trained_blocks;                /* written while the workload was watched */
    double correlation[TRIB_FIOS_FEATURES]; /* of the features' ranks with lifetime */
};

int trib_fios_dictionary_open(struct trib_fios_dictionary *dictionary, uint32_t chunks);
void trib_fios_dictionary_close(struct trib_fios_dictionary *dictionary); /* a zeroed one is fine */

static inline uint8_t trib_fios_base_stream(const struct trib_fios_dictionary *dictionary, uint32_t chunk) {
    return dictionary->base[chunk / 2] >> (chunk % 2 * 4) & 15;
}
void trib_fios_base_set(struct trib_fios_dictionary *dictionary, uint32_t chunk, uint8_t stream);

/* Makes the ranges of chunks [from, to) from the base; from 0 starts anew, and the chunks must come
 * in order. Look-ups are right once all have come. */
void trib_fios_dictionary_reduce(struct trib_fios_dictionary *dictionary, uint32_t from, uint32_t to);

uint8_t trib_fios_dictionary_find(const struct trib_fios_dictionary *dictionary, uint32_t chunk);

/* ---- the file ---- */

/* Checks all `length` bytes; record and base (within `bytes`) are set on success. 0; -EPROTO (not a
 * dictionary, or of a later version), -EBADMSG (truncated or corrupt); the sentence has the offset.
 */
int trib_fios_dictionary_parse(const uint8_t *bytes, size_t length, struct trib_fios_training_record *record,
                               const uint8_t **base, struct trib_error *error);

/* Reads a file and opens the dictionary with it. 0; as parse; -errno of the file; -ENOMEM. */
int trib_fios_dictionary_load(struct trib_fios_dictionary *dictionary, const char *path,
                              struct trib_fios_training_record *record, struct trib_error *error);
/* The file has the new contents or, after an error, the old ones. 0, -errno, -ENOMEM. */
int trib_fios_dictionary_save(const struct trib_fios_dictionary *dictionary, const char *path,
                              const struct trib_fios_training_record *record, struct trib_error *error);

TRIB_C_END
#endif
