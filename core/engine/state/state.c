/* SPDX-License-Identifier: Apache-2.0 */
#include "state/region.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/options.h"

#define HUGE_AFTER_BYTES (4u << 20)

/* The last user may have been killed inside a change: the arena's own mark tells its user to rebuild, too. */
void trib_state_prepare(struct trib_state *state) {
    trib_state_table_rebuild(state);
    atomic_store_explicit(&state->header->arena_words[TRIB_ARENA_CHANGING], 1, memory_order_release);
}

static int check_config(const struct trib_state_config *config, struct trib_error *error) {
    if (config->attributes < 1 || config->attributes > TRIB_STATE_ATTRIBUTES_MAX)
        return trib_fail(error, -EINVAL, "state: %u attributes, 1 to %u are possible", config->attributes,
                         TRIB_STATE_ATTRIBUTES_MAX);
    if (config->runs < 1 || config->runs > TRIB_STATE_RUNS_MAX)
        return trib_fail(error, -EINVAL, "state: %u runs, 1 to %u are possible", config->runs, TRIB_STATE_RUNS_MAX);
    return 0;
}

/* Trees of millions of runs are walked at random: huge pages save most of the address translation.
 * Not for the first megabytes, so that small states stay small. */
static void advise_huge_pages(struct trib_state *state) {
    uint64_t bytes = (uint64_t)state->runs * TRIB_STATE_SLOT_BYTES;

    if (bytes > HUGE_AFTER_BYTES)
        (void)madvise((char *)state->slots + HUGE_AFTER_BYTES, bytes - HUGE_AFTER_BYTES,
                      MADV_HUGEPAGE); /* a hint: nothing depends on it */
}

/* Reserves addresses only: what is never touched costs nothing, so the default capacities can be
 * generous. */
static int open_anonymous(struct trib_state *state, const struct trib_state_config *config, struct trib_error *error) {
    struct trib_state_geometry geometry;

    trib_state_geometry_fill(&geometry, config->attributes, config->runs);
    void *region =
        mmap(NULL, geometry.total_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED)
        return trib_fail(error, -ENOMEM, "state: no room for %llu bytes of address space",
                         (unsigned long long)geometry.total_bytes);
    trib_state_bind(state, region, &geometry);
    advise_huge_pages(state);
    state->header->geometry = geometry;
    trib_state_prepare(state);
    return 0;
}

int trib_state_open(struct trib_state **out, const struct trib_state_config *config, struct trib_error *error) {
    int rc = check_config(config, error);
    if (rc)
        return rc;
    struct trib_state *state = calloc(1, sizeof *state);
    if (!state)
        return trib_fail(error, -ENOMEM, "state: out of memory");
    state->fd = -1;
    pthread_mutex_init(&state->lock, NULL);
    rc = config->path ? trib_state_file_open(state, config, error) : open_anonymous(state, config, error);
    if (rc) {
        pthread_mutex_destroy(&state->lock);
        free(state);
        return rc;
    }
    *out = state;
    return 0;
}

int trib_state_close(struct trib_state *state) {
    int rc = 0;

    if (!state)
        return 0;
    if (state->fd >= 0 && msync(state->header, state->total_bytes, MS_SYNC) != 0)
        rc = -errno;
    munmap(state->header, state->total_bytes);
    if (state->fd >= 0) {
        flock(state->fd, LOCK_UN); /* a forked child still has the file open */
        close(state->fd);
    }
    pthread_mutex_destroy(&state->lock);
    free(state);
    return rc;
}

void trib_state_lock(struct trib_state *state) {
    int rc = pthread_mutex_lock(&state->lock);
    assert(rc == 0);
}

void trib_state_unlock(struct trib_state *state) {
    int rc = pthread_mutex_unlock(&state->lock);
    assert(rc == 0);
}

uint64_t trib_state_clock(const struct trib_state *state) {
    return atomic_load_explicit(&state->header->clock_bytes, memory_order_relaxed);
}

uint64_t trib_state_clock_advance(struct trib_state *state, uint64_t bytes) {
    return atomic_fetch_add_explicit(&state->header->clock_bytes, bytes, memory_order_relaxed);
}

uint32_t trib_state_attribute_count(const struct trib_state *state) {
    return atomic_load_explicit(&state->header->rows_keyed, memory_order_relaxed);
}

uint32_t trib_state_attribute_capacity(const struct trib_state *state) {
    return state->attributes;
}

uint64_t trib_state_evictions(const struct trib_state *state) {
    return atomic_load_explicit(&state->header->evictions, memory_order_relaxed);
}

void trib_state_run_arena(struct trib_state *state, struct trib_state_arena *out) {
    out->slots = state->slots;
    out->capacity = state->runs;
    out->words = state->header->arena_words;
    out->needs_rebuild = atomic_load_explicit(&out->words[TRIB_ARENA_CHANGING], memory_order_acquire) != 0;
}
