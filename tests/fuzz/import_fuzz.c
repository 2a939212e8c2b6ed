/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a public trace. The first byte chooses the format and whether addresses are packed.
 * Whatever comes out is an event that the pipeline takes: whole blocks, no overflow, discards and
 * reads inside what is written if addresses are packed. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "import/import.h"

#define FORMATS    9
#define ENDS_BELOW (1ull << 61)

static FILE *open_bytes(const uint8_t *data, size_t size) {
    return fmemopen((void *)(uintptr_t)data, size, "rb");
}

static struct trib_import *open_reader(FILE *in, const struct trib_import_format *format, const char *options) {
    struct trib_import *import = NULL;
    struct trib_error error;

    return trib_import_open(&import, in, format, options, &error) ? NULL : import;
}

static void check_events(struct trib_import *import, uint64_t end_bytes) {
    struct trib_event event;
    struct trib_error error = {""};
    uint64_t clock_bytes = 0;
    int rc;

    while ((rc = trib_import_next(import, &event, &error)) == 1) {
        assert(event.clock_bytes == clock_bytes && event.file == 0 && event.wall_ns);
        assert(event.length_bytes && event.length_bytes % TRIB_BLOCK_BYTES == 0);
        assert(event.offset_bytes % TRIB_BLOCK_BYTES == 0);
        assert(event.offset_bytes < end_bytes && event.length_bytes <= end_bytes - event.offset_bytes);
        if (event.kind == TRIB_EVENT_WRITE)
            clock_bytes += event.length_bytes;
        else
            assert(event.kind == TRIB_EVENT_READ || event.kind == TRIB_EVENT_DEATH);
    }
    assert(rc == 0 || error.text[0]);
}

static void both_passes(const uint8_t *data, size_t size, const struct trib_import_format *format) {
    struct trib_import_map *map = NULL;
    struct trib_error error;
    FILE *in = open_bytes(data, size);
    struct trib_import *import = in ? open_reader(in, format, "chunk=1M") : NULL;
    int rc = import ? trib_import_map_open(&map, trib_import_chunk_bytes(import)) : -1;

    if (rc == 0)
        rc = trib_import_learn(import, map, &error);
    trib_import_close(import);
    if (in)
        fclose(in);
    if (rc == 0 && (in = open_bytes(data, size))) {
        import = open_reader(in, format, "chunk=1M");
        trib_import_use(import, map);
        check_events(import, trib_import_map_bytes(map));
        trib_import_close(import);
        fclose(in);
    }
    trib_import_map_close(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    trib_import_guess((const char *)data + 1, size - 1);
    const struct trib_import_format *format = trib_import_formats[data[0] % FORMATS];
    if (data[0] & 0x80) {
        both_passes(data + 1, size - 1, format);
        return 0;
    }
    FILE *in = open_bytes(data + 1, size - 1);
    struct trib_import *import = in ? open_reader(in, format, "chunk=0,volume=all") : NULL;
    if (import)
        check_events(import, ENDS_BELOW);
    trib_import_close(import);
    if (in)
        fclose(in);
    return 0;
}
