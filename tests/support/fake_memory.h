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

/* What is mapped here of what a process of this program is about to get. */
typedef void fake_giving(void *arg, const char *program, void *ring, void *table);

struct fake_server {
    int listener; /* a socket */
    struct fake_given given;
    fake_giving *giving;
    void *arg;
};

/* Waits so long for one process and answers what it asks. -errno: so it gave up what it was given. */
int fake_serve(const struct fake_server *server, int wait_ms);

uint64_t fake_events(const void *ring);
uint32_t fake_names_lost(const void *ring);
uint32_t fake_broken(const void *ring);
void fake_fall_silent(void *table); /* as a daemon that was killed a while ago */
void fake_spoil_tail(void *ring);   /* as a wild write of the process would */

/* The next text: its kind, its body with a zero behind it; 0: none waits. What is taken makes room. */
int fake_take_text(void *ring, uint32_t events, uint64_t *position, char body[2049]);

#ifdef __cplusplus
}
#endif
#endif
