/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a dictionary of FIOS. The first byte chooses: 0 as they are, else with both checksums made right, so
 * that the fuzzer gets behind them. What is accepted must be what its own dictionaries say; what is refused must say
 * where. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "rivals/fios/fios_dictionary.h"

enum { HEADER_BYTES = 128, BODY_HASH = 112, HEADER_HASH = 120, PREFIX = 1 };

static void put64(uint8_t *at, uint64_t value) {
    for (unsigned i = 0; i < 8; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static void seal(uint8_t *bytes, size_t size) {
    if (size < HEADER_BYTES)
        return;
    put64(bytes + BODY_HASH, trib_hash(bytes + HEADER_BYTES, size - HEADER_BYTES));
    put64(bytes + HEADER_HASH, trib_hash(bytes, HEADER_HASH));
}

/* Base and ranges of an accepted file agree with a dictionary made from its base. */
static void check_accepted(const struct trib_fios_training_record *record, const uint8_t *base, size_t size) {
    struct trib_fios_dictionary dictionary;

    assert(record->chunks >= 1 && (record->chunks + 1ull) / 2 <= size - HEADER_BYTES);
    assert(record->streams >= 1 && record->streams <= TRIB_FIOS_STREAMS_MAX);
    assert(record->chunk_blocks >= 1 && record->features >= 1);
    if (trib_fios_dictionary_open(&dictionary, record->chunks))
        return;
    memcpy(dictionary.base, base, (record->chunks + 1ull) / 2);
    trib_fios_dictionary_reduce(&dictionary, 0, record->chunks);
    for (uint32_t chunk = 0; chunk < record->chunks; chunk++) {
        uint8_t stream = trib_fios_dictionary_find(&dictionary, chunk);
        assert(stream < record->streams);
        assert(stream == trib_fios_base_stream(&dictionary, chunk));
    }
    trib_fios_dictionary_close(&dictionary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct trib_fios_training_record record;
    struct trib_error error = {""};
    const uint8_t *base = NULL;

    if (size < PREFIX)
        return 0;
    size_t length = size - PREFIX;
    uint8_t *bytes = malloc(length ? length : 1);
    if (!bytes)
        return 0;
    memcpy(bytes, data + PREFIX, length);
    if (data[0])
        seal(bytes, length);
    if (trib_fios_dictionary_parse(bytes, length, &record, &base, &error) == 0)
        check_accepted(&record, base, length);
    else
        assert(base == NULL && strstr(error.text, "offset "));
    free(bytes);
    return 0;
}
