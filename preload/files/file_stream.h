/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of a file, where a drive or a hint takes one per file and not per write: that of most of its bytes. A
 * majority vote with bytes for voices (Boyer and Moore, 1981): the stream in office loses it only when others have
 * written what it had written more than they, so that a few small writes change nothing. Pure functions on one word. */
#ifndef TRIB_PRELOAD_FILE_STREAM_H
#define TRIB_PRELOAD_FILE_STREAM_H

#include <stdint.h>

/* A long past must not outvote the present for ever. */
#define TRIB_FILE_STREAM_LEAD_MAX (64ull << 20)

/* Stream in the upper 16 bits, its lead in bytes below; 0: nobody has voted. */
static inline uint16_t trib_file_stream(uint64_t votes) {
    return (uint16_t)(votes >> 48);
}

static inline uint64_t trib_file_stream_vote(uint64_t votes, uint16_t stream, uint64_t bytes) {
    uint64_t lead = votes & ((1ull << 48) - 1);
    uint16_t office = trib_file_stream(votes);

    if (stream == office)
        lead += bytes;
    else if (bytes <= lead)
        lead -= bytes;
    else {
        lead = bytes - lead;
        office = stream;
    }
    if (lead > TRIB_FILE_STREAM_LEAD_MAX)
        lead = TRIB_FILE_STREAM_LEAD_MAX;
    return (uint64_t)office << 48 | lead;
}

#endif
