/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's rounds, in C, for tests/support/recorder.hpp: its headers have atomics that C++ does not read. */
#include "support/recorder_inside.h"
#include "recorder/recorder.h"

static void module_said(void *arg, uint32_t index, const struct trib_module *module) {
    const struct trib_test_said *said = arg;

    said->module(said->arg, index, module->path);
}

static void no_program(void *arg, uint32_t number, const char *path) {
    (void)arg, (void)number, (void)path;
}

static void uncovered_said(void *arg, enum trib_uncovered why, const char *path) {
    const struct trib_test_said *said = arg;

    said->uncovered(said->arg, why, path);
}

static void signature_said(void *arg, uint64_t signature, const struct trib_frame *frames, uint32_t count) {
    const struct trib_test_said *said = arg;

    said->signature(said->arg, signature, count ? frames[0].module : UINT32_MAX);
}

static void name_said(void *arg, uint64_t file, const char *path) {
    const struct trib_test_said *said = arg;

    said->name(said->arg, file, path);
}

int trib_test_recorder_listen(struct trib_recorder **out, const char *address) {
    const struct trib_recorder_config config = {.address = address, .listener = -1, .ring_events = 1024};
    struct trib_error error = {""};

    return trib_recorder_open(out, &config, &error);
}

int trib_test_recorder_start(struct trib_recorder *recorder) {
    return trib_recorder_start(recorder);
}

unsigned trib_test_recorder_take(struct trib_recorder *recorder, struct trib_event *batch, unsigned capacity,
                                 const struct trib_test_said *said) {
    const struct trib_texts_sink sink = {(void *)(uintptr_t)said, name_said,  module_said,
                                         signature_said,          no_program, uncovered_said};

    return trib_recorder_take(recorder, batch, capacity, &sink);
}

void trib_test_recorder_count(const struct trib_recorder *recorder, struct trib_test_counts *out) {
    struct trib_recorder_counts counts;

    trib_recorder_count(recorder, &counts);
    *out = (struct trib_test_counts){.events_dropped = counts.events_dropped,
                                     .bytes_dropped = counts.bytes_dropped,
                                     .processes = counts.processes,
                                     .processes_live = counts.processes_live,
                                     .rejoined = counts.rejoined,
                                     .damaged = counts.damaged};
}

uint32_t trib_test_recorder_producers(const struct trib_recorder *recorder, struct trib_status_producer *out,
                                      uint32_t capacity) {
    return trib_recorder_producers(recorder, out, capacity);
}

void trib_test_recorder_stop(struct trib_recorder *recorder) {
    trib_recorder_stop(recorder);
}

void trib_test_recorder_give_up(struct trib_recorder *recorder) {
    trib_recorder_give_up(recorder);
}

void trib_test_recorder_close(struct trib_recorder *recorder) {
    trib_recorder_close(recorder);
}

void trib_test_recorder_publish(struct trib_recorder *recorder, const struct trib_context *who, uint16_t stream) {
    trib_recorder_publish(recorder, who, stream);
}

uint64_t trib_test_place_slot(const struct trib_context *who) {
    return trib_place_key(who) % TRIB_PLACES;
}
