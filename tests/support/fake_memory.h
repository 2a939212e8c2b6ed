/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that support/fake_daemon.hpp gives to processes, in C, whose atomics it has. One thread at a time. */
#ifndef TRIB_TEST_FAKE_MEMORY_H
#define TRIB_TEST_FAKE_MEMORY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fake_given {
    int ring_seals, table_seals;
    int64_t ring_more_bytes, table_more_bytes; /* than the answer says */
    uint32_t events;
};

/* Waits so long for one process at a listening socket and answers what it asks. 1: it joined, and *ring is mapped here;
 * -errno: so it gave up what it was given; 0: nobody, or another request. */
int fake_serve(int listener, const struct fake_given *given, void **ring, int wait_ms);

uint64_t fake_events(const void *ring);
uint32_t fake_names_lost(const void *ring);
uint32_t fake_broken(const void *ring);
void fake_spoil_tail(void *ring); /* as a wild write of the process would */

/* The next text: its kind, its body with a zero behind it; 0: none waits. What is taken makes room. */
int fake_take_text(void *ring, uint32_t events, uint64_t *position, char body[2049]);

#ifdef __cplusplus
}
#endif
#endif
