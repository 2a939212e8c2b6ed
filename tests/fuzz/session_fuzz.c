/* SPDX-License-Identifier: Apache-2.0 */
/* A session file as its recorder finds it after processes scribbled over it. Three producers of this process join and
 * submit; then the input changes the file under the recorder's eyes, takes turns with more events, and the recorder has to
 * come to an end with events that make sense. An input is a list of steps of twelve bytes:
 *   byte 0 mod 8: 0 submit, 1 name a file, 2 take, 3 the header's table of slots, 4 a ring's ends, 5 its turns,
 *   6 its events, 7 its texts; byte 1: which ring (of four; nobody has joined the last); bytes 2, 3: where; 4..11: the value. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tributary/session.h>

#include "log/log.h"
#include "recorder/recorder.h"
#include "recorder/recorder_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PRODUCERS   3u
#define RING_EVENTS 1024u
#define STEP_BYTES  12u
#define BATCH       256u

struct world {
    struct trib_session *session;
    struct trib_producer *producers[PRODUCERS];
    struct trib_session_geometry geometry;
    char *file;
    uint64_t told; /* bytes, so that nothing that is told stays unread */
};

static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "session_fuzz: %s\n", what);
    abort();
}

static void hear_path(void *arg, uint64_t id, const char *path) {
    struct world *world = arg;
    world->told += id + strlen(path);
}

static void hear_program(void *arg, uint32_t number, const char *path) {
    hear_path(arg, number, path);
}

static void hear_uncovered(void *arg, enum trib_uncovered why, const char *path) {
    require(why > TRIB_COVERED && why < TRIB_UNCOVERED_COUNT, "uncovered");
    hear_path(arg, (uint64_t)why, path);
}

static void take_module(void *arg, uint32_t index, const struct trib_module *module) {
    require(index < TRIB_TEXTS_MODULES && module->build_id_bytes <= sizeof module->build_id, "module");
    hear_path(arg, index, module->path);
}

static void take_signature(void *arg, uint64_t signature, const struct trib_frame *frames, uint32_t count) {
    struct world *world = arg;
    require(count <= TRIB_SIGNATURE_DEPTH_MAX, "frames");
    for (uint32_t i = 0; i < count; i++) {
        require(frames[i].module < TRIB_TEXTS_MODULES, "frame's module");
        world->told += frames[i].offset_bytes;
    }
    world->told += signature;
}

static unsigned take(struct world *world) {
    static struct trib_event batch[BATCH];
    const struct trib_session_sink sink = {world, hear_path, take_module, take_signature, hear_program,
                                            hear_uncovered};
    unsigned count = trib_session_take(world->session, batch, BATCH, &sink);

    require(count <= BATCH, "more than asked for");
    for (unsigned i = 0; i < count; i++) {
        require(batch[i].kind >= TRIB_EVENT_WRITE && batch[i].kind <= TRIB_EVENT_READ, "kind");
        require(i == 0 || batch[i].wall_ns >= batch[i - 1].wall_ns, "time goes back");
    }
    return count;
}

static void be_quiet(void *arg, enum trib_log_level level, const char *line) {
    (void)arg, (void)level, (void)line;
}

static void open_world(struct world *world) {
    static char path[64];
    struct trib_session_config config = {.path = path, .ring_events = RING_EVENTS};

    snprintf(path, sizeof path, "/dev/shm/session_fuzz-%d", (int)getpid());
    unlink(path);
    require(trib_session_open(&world->session, &config, NULL) == 0, "open");
    trib_session_geometry_fill(&world->geometry, RING_EVENTS);
    for (unsigned i = 0; i < PRODUCERS; i++)
        require(trib_producer_join(&world->producers[i], path, NULL) == 0, "join");
    int fd = open(path, O_RDWR | O_CLOEXEC);
    world->file = mmap(NULL, world->geometry.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    require(fd >= 0 && world->file != MAP_FAILED, "map");
    close(fd);
}

static void change(struct world *world, const uint8_t *step) {
    char *rings = world->file + world->geometry.rings_at + step[1] % (PRODUCERS + 1) * world->geometry.slot_bytes;
    size_t where = (size_t)(step[2] | step[3] << 8) * 8, span, ends = sizeof(struct trib_ring_ends);
    char *start = rings;

    switch (step[0] % 8) {
    case 3: /* the slots, and the counters before them */
        start = world->file + offsetof(struct trib_session_header, heartbeat_ns);
        span = offsetof(struct trib_session_header, slots) - offsetof(struct trib_session_header, heartbeat_ns) +
               (PRODUCERS + 1) * sizeof(struct trib_session_slot);
        break;
    case 4:
        span = ends;
        break;
    case 5:
        start += ends;
        span = RING_EVENTS * 8;
        break;
    case 6:
        start += ends + RING_EVENTS * 8;
        span = RING_EVENTS * sizeof(struct trib_event);
        break;
    default:
        start += world->geometry.slot_bytes - TRIB_SESSION_TEXT_BYTES;
        span = TRIB_SESSION_TEXT_BYTES;
        break;
    }
    memcpy(start + where % span, step + 4, 8);
}

static void submit(struct world *world, const uint8_t *step) {
    struct trib_event event = {.kind = (uint8_t)(1 + step[2] % 5), .file = step[3], .stream = TRIB_STREAM_UNDECIDED};

    memcpy(&event.length_bytes, step + 4, 8);
    event.who.signature = step[5];
    for (unsigned i = 0; i <= step[2]; i++)
        trib_producer_submit(world->producers[step[1] % PRODUCERS], &event);
}

static void act(struct world *world, const uint8_t *step) {
    char name[9] = "";

    if (step[0] % 8 == 0) {
        submit(world, step);
    } else if (step[0] % 8 == 1) {
        memcpy(name, step + 4, 8);
        trib_producer_name_file(world->producers[step[1] % PRODUCERS], step[2], name);
    } else if (step[0] % 8 == 2) {
        take(world);
    } else {
        change(world, step);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct world world = {.told = 0};
    struct trib_session_status status;
    unsigned rounds = 0;

    trib_log_to(be_quiet, NULL);
    open_world(&world);
    for (; size >= STEP_BYTES; data += STEP_BYTES, size -= STEP_BYTES)
        act(&world, data);
    trib_session_stop(world.session);
    while (take(&world) > 0)
        require(++rounds < 4 * (PRODUCERS + 1) * RING_EVENTS / BATCH + 64, "no end");
    trib_session_status(world.session, &status);
    for (unsigned i = 0; i < PRODUCERS; i++)
        trib_producer_leave(world.producers[i]);
    munmap(world.file, world.geometry.total_bytes);
    trib_session_close(world.session);
    return 0;
}
