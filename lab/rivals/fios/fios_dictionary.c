/* SPDX-License-Identifier: Apache-2.0 */
#include "rivals/fios/fios_dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log/assert.h"

#define CHUNKS_PER_RANGE 8 /* 5 bytes a range: more ranges than this and the base is smaller */

int trib_fios_dictionary_open(struct trib_fios_dictionary *dictionary, uint32_t chunks) {
    uint32_t ranges_max = chunks / CHUNKS_PER_RANGE + 1;
    *dictionary = (struct trib_fios_dictionary){.chunks = chunks, .ranges_max = ranges_max};
    dictionary->base = calloc((size_t)chunks / 2 + 1, 1);
    dictionary->range_start = calloc(ranges_max, sizeof *dictionary->range_start);
    dictionary->range_stream = calloc(ranges_max, sizeof *dictionary->range_stream);
    if (!dictionary->base || !dictionary->range_start || !dictionary->range_stream) {
        trib_fios_dictionary_close(dictionary);
        return -ENOMEM;
    }
    dictionary->ranges = 1; /* all S0 */
    dictionary->simplified = true;
    return 0;
}

void trib_fios_dictionary_close(struct trib_fios_dictionary *dictionary) {
    free(dictionary->base);
    free(dictionary->range_start);
    free(dictionary->range_stream);
    *dictionary = (struct trib_fios_dictionary){0};
}

void trib_fios_base_set(struct trib_fios_dictionary *dictionary, uint32_t chunk, uint8_t stream) {
    uint32_t shift = chunk % 2 * 4;
    uint8_t *byte = &dictionary->base[chunk / 2];
    TRIB_HOT_ASSERT(chunk < dictionary->chunks && stream < TRIB_FIOS_STREAMS_MAX);
    *byte = (uint8_t)((*byte & ~(15u << shift)) | (uint32_t)stream << shift);
}

void trib_fios_dictionary_reduce(struct trib_fios_dictionary *dictionary, uint32_t from, uint32_t to) {
    if (from == 0) {
        dictionary->ranges = 0;
        dictionary->simplified = true;
    }
    for (uint32_t chunk = from; chunk < to && dictionary->simplified; chunk++) {
        uint8_t stream = trib_fios_base_stream(dictionary, chunk);
        uint32_t last = dictionary->ranges - 1;
        if (dictionary->ranges && dictionary->range_stream[last] == stream)
            continue;
        if (dictionary->ranges == dictionary->ranges_max) {
            dictionary->simplified = false;
            break;
        }
        dictionary->range_start[dictionary->ranges] = chunk;
        dictionary->range_stream[dictionary->ranges++] = stream;
    }
}

uint8_t trib_fios_dictionary_find(const struct trib_fios_dictionary *dictionary, uint32_t chunk) {
    if (chunk >= dictionary->chunks)
        return 0;
    if (!dictionary->simplified)
        return trib_fios_base_stream(dictionary, chunk);
    uint32_t low = 0;
    for (uint32_t count = dictionary->ranges; count > 1;) { /* the last start <= chunk */
        uint32_t half = count / 2;
        low += dictionary->range_start[low + half] <= chunk ? half : 0;
        count -= half;
    }
    return dictionary->range_stream[low];
}
