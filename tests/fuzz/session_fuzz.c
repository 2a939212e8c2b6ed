/* SPDX-License-Identifier: Apache-2.0 */
/* Rings as their recorder finds them after processes scribbled over them. Three clients of this process join and
 * submit; then the input changes the rings under the recorder's eyes, takes turns with more events, and the recorder
 * has to come to an end with events that make sense. An input is a list of steps of twelve bytes: byte 0 mod 8: 0
 * submit, 1 name a file, 2 take, 3 the ring's head, 4 its ends, 5 its turns, 6 its events, 7 its texts; byte 1: which
 * ring; bytes 2, 3: where; 4..11: the value. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tributary/client.h>

#include "log/log.h"
#include "recorder/recorder.h"
#include "ring/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void *trib_test_ring_memory(struct trib_client *client, uint64_t *bytes); /* support/client_inside.c */

#define PRODUCERS   3u
#define RING_EVENTS 1024u
#define STEP_BYTES  12u
#define BATCH       256u

struct world {
    struct trib_recorder *recorder;
    struct trib_client *clients[PRODUCERS];
    uint64_t said; /* bytes, so that nothing that is said stays unread */
};

static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "session_fuzz: %s\n", what);
    abort();
}

static void take_path(void *arg, uint64_t id, const char *path) {
    struct world *world = arg;
    world->said += id + strlen(path);
}

static void take_program(void *arg, uint32_t number, const char *path) {
    take_path(arg, number, path);
}

static void take_uncovered(void *arg, enum trib_uncovered why, const char *path) {
    require(why > TRIB_COVERED && why < TRIB_UNCOVERED_COUNT, "uncovered");
    take_path(arg, (uint64_t)why, path);
}

static void take_module(void *arg, uint32_t index, const struct trib_module *module) {
    require(index < TRIB_TEXTS_MODULES && module->build_id_bytes <= sizeof module->build_id, "module");
    take_path(arg, index, module->path);
}

static void take_signature(void *arg, uint64_t signature, const struct trib_frame *frames, uint32_t count) {
    struct world *world = arg;
    require(count <= TRIB_SIGNATURE_DEPTH_MAX, "frames");
    for (uint32_t i = 0; i < count; i++) {
        require(frames[i].module < TRIB_TEXTS_MODULES, "frame's module");
        world->said += frames[i].offset_bytes;
    }
    world->said += signature;
}

static unsigned take(struct world *world) {
    static struct trib_event batch[BATCH];
    const struct trib_texts_sink sink = {world, take_path, take_module, take_signature, take_program, take_uncovered};
    unsigned count = trib_recorder_take(world->recorder, batch, BATCH, &sink);

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
    struct trib_recorder_config config = {.address = path, .listener = -1, .ring_events = RING_EVENTS};
    struct trib_error error = {.text = ""};

    snprintf(path, sizeof path, "/dev/shm/session_fuzz-%d", (int)getpid());
    require(trib_recorder_open(&world->recorder, &config, &error) == 0, "open");
    require(trib_recorder_start(world->recorder) == 0, "start");
    for (unsigned i = 0; i < PRODUCERS; i++) {
        require(trib_client_open(&world->clients[i], path, &error) == 0, "client");
        int code = -EAGAIN;
        for (int tries = 0; tries < 500 && code; tries++) /* on a starved machine one may time out */
            if ((code = trib_client_join(world->clients[i])) != 0)
                usleep(10000);
        require(code == 0, "join");
    }
}

static void change(struct world *world, const uint8_t *step) {
    uint64_t bytes;
    char *start = trib_test_ring_memory(world->clients[step[1] % PRODUCERS], &bytes), *events = start + TRIB_PAGE_BYTES;
    size_t where = (size_t)(step[2] | step[3] << 8) * 8, span, ends = sizeof(struct trib_ring_ends);

    switch (step[0] % 8) {
    case 3:
        span = sizeof(struct trib_ring_head);
        break;
    case 4:
        start = events;
        span = ends;
        break;
    case 5:
        start = events + ends;
        span = RING_EVENTS * 8;
        break;
    case 6:
        start = events + ends + RING_EVENTS * 8;
        span = RING_EVENTS * sizeof(struct trib_event);
        break;
    default:
        start += trib_ring_text_at(RING_EVENTS);
        span = TRIB_TEXT_RING_BYTES;
        break;
    }
    memcpy(start + where % span, step + 4, 8);
}

static void submit(struct world *world, const uint8_t *step) {
    struct trib_event event = {.kind = (uint8_t)(1 + step[2] % 5), .file = step[3], .stream = TRIB_STREAM_UNDECIDED};

    memcpy(&event.length_bytes, step + 4, 8);
    event.who.signature = step[5];
    for (unsigned i = 0; i <= step[2]; i++)
        trib_client_submit(world->clients[step[1] % PRODUCERS], &event);
}

static void act(struct world *world, const uint8_t *step) {
    char name[9] = "";

    if (step[0] % 8 == 0) {
        submit(world, step);
    } else if (step[0] % 8 == 1) {
        memcpy(name, step + 4, 8);
        trib_client_name_file(world->clients[step[1] % PRODUCERS], step[2], name);
    } else if (step[0] % 8 == 2) {
        take(world);
    } else {
        change(world, step);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct world world = {.said = 0};
    struct trib_recorder_counts counts;
    unsigned rounds = 0;

    trib_log_to(be_quiet, NULL);
    open_world(&world);
    for (; size >= STEP_BYTES; data += STEP_BYTES, size -= STEP_BYTES)
        act(&world, data);
    trib_recorder_stop(world.recorder);
    while (take(&world) > 0)
        require(++rounds < 4 * (PRODUCERS + 1) * RING_EVENTS / BATCH + 64, "no end");
    trib_recorder_count(world.recorder, &counts);
    require(counts.processes >= PRODUCERS, "processes");
    for (unsigned i = 0; i < PRODUCERS; i++)
        trib_client_close(world.clients[i]);
    trib_recorder_close(world.recorder);
    return 0;
}
