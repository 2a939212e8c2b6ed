/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile state files. The first byte of an input chooses what the rest is:
 *   mode 0 (of 4): a whole file, as it is.
 *   mode 1, 2: changes to a valid file (count, then 2 bytes offset and 8 bytes value each), the
 * header sealed again if bit 2 is set, so that the checks behind the checksum are reached. mode 3:
 * the same changes, made by a hostile neighbour while we have the file mapped. Only memory safety
 * and an end are asked of us then. What opens is then used: the bytes after the changes are writes,
 * deaths and look-ups. A file that is refused must be unchanged; runs that were opened must not
 * overlap and must add up. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "lifetime/estimate.h"
#include "lifetime/extents.h"
#include "state/region.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ATTRIBUTES     8u
#define RUNS           32u
#define FILE_BYTES_MAX (1u << 16)
#define OPERATION      8u
#define LIVE_MAX       (RUNS + 1)

struct input {
    const uint8_t *data;
    size_t size;
};

struct world {
    struct trib_state *state;
    struct trib_extents *extents;
};

static int scratch = -1;
static char path[64];
static uint8_t valid[FILE_BYTES_MAX], file[FILE_BYTES_MAX], after[FILE_BYTES_MAX];
static size_t valid_bytes;

static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "state_fuzz: %s\n", what);
    abort();
}

static void put_file(const uint8_t *bytes, size_t length) {
    require(ftruncate(scratch, 0) == 0, "truncate");
    require(pwrite(scratch, bytes, length, 0) == (ssize_t)length, "write");
}

static int open_world(struct world *world) {
    struct trib_state_config config = {.path = path, .attributes = ATTRIBUTES, .runs = RUNS};
    int rc = trib_state_open(&world->state, &config, NULL);

    if (rc == 0)
        require(trib_extents_open(&world->extents, world->state) == 0, "extents");
    return rc;
}

static void close_world(struct world *world) {
    trib_extents_close(world->extents);
    trib_state_close(world->state);
}

static void learn(void *arg, const struct trib_death *death) {
    struct trib_attribute *row = trib_state_attribute(arg, death->attribute);
    if (row)
        trib_estimate_sample(row, (double)death->age_bytes, 0.5);
}

/* One operation of eight bytes. */
static void operate(struct world *world, const uint8_t *op) {
    struct trib_event event = {.file = op[1] % 4u,
                               .offset_bytes = op[2] * 512ull,
                               .length_bytes = op[3] * 512ull + op[4] % 3u,
                               .stream = op[5],
                               .cause = TRIB_CAUSE_TRIM};
    uint64_t clock = trib_state_clock_advance(world->state, op[6] * 65536ull);
    uint64_t key = op[7] % 16u;

    if (op[0] % 4 == 0) {
        if (op[0] & 16)
            event.length_bytes = TRIB_LENGTH_TO_END;
        trib_extents_kill(world->extents, &event, clock, learn, world->state);
        return;
    }
    trib_attribute_ref ref = trib_state_intern(world->state, key, &event.who);
    if (op[0] & 32)
        event.offset_bytes <<= 38;
    trib_extents_write(world->extents, &event, ref, clock, learn, world->state);
    struct trib_attribute *row = trib_state_attribute(world->state, trib_state_find(world->state, key));
    if (row)
        trib_estimate_effective(row, clock);
}

struct live {
    struct trib_death runs[LIVE_MAX];
    uint32_t count;
    uint64_t bytes;
};

static void collect(void *arg, const struct trib_death *run) {
    struct live *live = arg;
    if (live->count < LIVE_MAX)
        live->runs[live->count++] = *run;
    live->bytes += run->length_bytes;
}

static bool overlap(const struct trib_death *a, const struct trib_death *b) {
    return a->file == b->file && a->offset_bytes < b->offset_bytes + b->length_bytes &&
           b->offset_bytes < a->offset_bytes + a->length_bytes;
}

static void check(struct world *world) {
    struct live live = {.count = 0};
    struct trib_extents_stats stats;

    trib_extents_visit(world->extents, trib_state_clock(world->state), collect, &live);
    trib_extents_statistics(world->extents, &stats);
    require(live.count <= RUNS && stats.runs == live.count, "runs do not add up");
    require(stats.live_bytes == live.bytes, "live bytes do not add up");
    for (uint32_t i = 0; i < live.count; i++) {
        require(live.runs[i].length_bytes > 0, "an empty run");
        for (uint32_t j = 0; j < i; j++)
            require(!overlap(&live.runs[i], &live.runs[j]), "runs overlap");
    }
    require(trib_state_attribute_count(world->state) <= ATTRIBUTES, "too many rows");
}

static void survey(struct world *world) {
    struct live live = {.count = 0};
    trib_attribute_ref ref;

    trib_extents_visit(world->extents, 0, collect, &live);
    for (uint32_t next = 0; (next = trib_state_next(world->state, next, &ref));)
        (void)trib_state_attribute(world->state, ref);
}

static void remove_scratch(void) {
    unlink(path);
}

static void make_valid(void) {
    struct trib_state_geometry geometry;
    struct world world = {NULL, NULL};

    snprintf(path, sizeof path, "%s/state-fuzz-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    scratch = mkostemp(path, O_CLOEXEC);
    require(scratch >= 0, "mkostemp");
    atexit(remove_scratch);
    trib_state_geometry_fill(&geometry, ATTRIBUTES, RUNS);
    valid_bytes = geometry.total_bytes;
    require(valid_bytes <= sizeof valid, "valid file too large");
    require(ftruncate(scratch, (off_t)valid_bytes) == 0, "truncate");
    require(pwrite(scratch, &geometry, sizeof geometry, 0) == sizeof geometry, "write");
    require(open_world(&world) == 0, "open");
    for (unsigned i = 0; i < 60; i++) {
        uint8_t op[OPERATION] = {(uint8_t)(i % 7), (uint8_t)(i * 5), (uint8_t)(i * 11), 8, 0, 1, 1, (uint8_t)i};
        operate(&world, op);
    }
    close_world(&world);
    require(pread(scratch, valid, valid_bytes, 0) == (ssize_t)valid_bytes, "read");
}

/* Applies the input's changes. */
static void change(struct input *in, uint8_t *bytes) {
    unsigned count = in->size ? in->data[0] % 32u : 0;

    for (in->size ? (in->data++, in->size--) : 0; count > 0 && in->size >= 10; count--) {
        size_t offset = (size_t)(in->data[0] | in->data[1] << 8) % (valid_bytes - 7);
        memcpy(bytes + offset, in->data + 2, 8);
        in->data += 10;
        in->size -= 10;
    }
}

static void seal(uint8_t *bytes) {
    uint64_t checksum = trib_hash(bytes, offsetof(struct trib_state_geometry, checksum));
    memcpy(bytes + offsetof(struct trib_state_geometry, checksum), &checksum, sizeof checksum);
}

static void use(struct world *world, struct input in, bool trusted) {
    if (trusted)
        check(world);
    for (; in.size >= OPERATION; in.data += OPERATION, in.size -= OPERATION)
        operate(world, in.data);
    survey(world);
    if (trusted)
        check(world);
}

static void open_changed(struct input in, size_t length) {
    struct world world = {NULL, NULL};

    put_file(file, length);
    if (open_world(&world) != 0) {
        require(pread(scratch, after, length, 0) == (ssize_t)length, "read");
        require(memcmp(file, after, length) == 0, "a refused file was changed");
        return;
    }
    trib_state_lock(world.state);
    use(&world, in, true);
    trib_state_unlock(world.state);
    close_world(&world);
}

static void change_mapped(struct input in) {
    struct world world = {NULL, NULL};

    put_file(valid, valid_bytes);
    require(open_world(&world) == 0, "the valid file does not open");
    require(pread(scratch, file, valid_bytes, 0) == (ssize_t)valid_bytes, "read");
    use(&world, (struct input){in.data, in.size < 32 ? in.size : 32}, true);
    change(&in, (uint8_t *)world.state->header);
    use(&world, in, false);
    close_world(&world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input in = {data + 1, size - 1};

    if (size == 0)
        return 0;
    if (scratch < 0)
        make_valid();
    if (data[0] % 4 == 0) {
        size_t length = in.size < sizeof file ? in.size : sizeof file;
        memcpy(file, in.data, length);
        open_changed((struct input){NULL, 0}, length);
    } else if (data[0] % 4 < 3) {
        memcpy(file, valid, valid_bytes);
        change(&in, file);
        if (data[0] & 4)
            seal(file);
        open_changed(in, valid_bytes);
    } else {
        change_mapped(in);
    }
    return 0;
}
