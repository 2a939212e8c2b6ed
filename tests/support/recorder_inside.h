/* SPDX-License-Identifier: Apache-2.0 */
/* One recorder, driven round by round by a test. Thread safety: one caller. */
#ifndef TRIB_TEST_RECORDER_INSIDE_H
#define TRIB_TEST_RECORDER_INSIDE_H

#include <stdint.h>

#include <tributary/error.h>
#include <tributary/event.h>
#include <tributary/status.h>

TRIB_C_BEGIN

struct trib_recorder;

struct trib_test_said {
    void *arg;
    void (*name)(void *arg, uint64_t file, const char *path);
    void (*signature)(void *arg, uint64_t signature, uint32_t module); /* of its first frame */
    void (*module)(void *arg, uint32_t number, const char *path);
    void (*uncovered)(void *arg, uint32_t why, const char *path);
};

struct trib_test_counts {
    uint64_t events_dropped, bytes_dropped, processes, processes_live, rejoined, damaged;
};

int trib_test_recorder_listen(struct trib_recorder **out, const char *address); /* rings of 1024 events */
int trib_test_recorder_start(struct trib_recorder *recorder);
unsigned trib_test_recorder_take(struct trib_recorder *recorder, struct trib_event *batch, unsigned capacity,
                                 const struct trib_test_said *said);
void trib_test_recorder_count(const struct trib_recorder *recorder, struct trib_test_counts *out);
uint32_t trib_test_recorder_producers(const struct trib_recorder *recorder, struct trib_status_producer *out,
                                      uint32_t capacity);
void trib_test_recorder_stop(struct trib_recorder *recorder);
void trib_test_recorder_give_up(struct trib_recorder *recorder);
void trib_test_recorder_close(struct trib_recorder *recorder);
void trib_test_recorder_publish(struct trib_recorder *recorder, const struct trib_context *who, uint16_t stream);
/* Where the stream of a context stands in the table. */
uint64_t trib_test_place_slot(const struct trib_context *who);

TRIB_C_END
#endif
