/* SPDX-License-Identifier: Apache-2.0 */
/* A trial: a replay with the laboratory's wrappers around its policy and its drive, and a filter before its events. It
 * says what was written and what died, what the policy's calls cost, and can tell the policy the future; none of that
 * is in the flow, and without it the figures are the same. Thread safety: one owner. */
#ifndef TRIB_LAB_TRIAL_H
#define TRIB_LAB_TRIAL_H

#include <tributary/options.h>
#include <tributary/pipeline.h>

TRIB_C_BEGIN

struct trib_trial;

struct trib_write_report {
    struct trib_context who;
    uint64_t key, clock_bytes, length_bytes; /* key: salted signature; 0 = unknown */
    uint16_t stream;                         /* TRIB_STREAM_UNDECIDED where the policy decides block by block */
};

/* Each may be NULL; must not call back. */
struct trib_observer {
    void *arg;
    void (*wrote)(void *arg, const struct trib_write_report *write); /* after the write */
    void (*died)(void *arg, const struct trib_death_report *death);
    /* Below the file system, in the order that the drive gets them; lba and length in blocks. */
    void (*block_wrote)(void *arg, uint64_t lba, uint64_t blocks, uint16_t stream);
    void (*block_discarded)(void *arg, uint64_t lba, uint64_t blocks);
};

/* What the policy costs; nanoseconds are medians over every 61st call, clock reading included; 0 if there were none. */
struct trib_cost_report {
    uint64_t place_calls, died_calls;
    double place_ns, died_ns;
    uint64_t state_bytes; /* rows of the attribute table in use, and what the policy keeps itself */
};

/* Keys that a trial takes besides a pipeline's. */
extern const struct trib_option_spec trib_trial_options[];

/* As trib_pipeline_open, replay. */
int trib_trial_open(struct trib_trial **out, const char *options, struct trib_error *error);
int trib_trial_close(struct trib_trial *trial); /* as trib_pipeline_close */

/* For status, drive and the like. Events go through trib_trial_process, or `wrote` and `pages` do not see them. */
struct trib_pipeline *trib_trial_pipeline(const struct trib_trial *trial);
int trib_trial_process(struct trib_trial *trial, const struct trib_event *event);

void trib_trial_observe(struct trib_trial *trial, const struct trib_observer *observer);

/* Known work, before its first event: deaths[i] is how many blocks will have reached the drive when the i-th of them
 * dies, UINT32_MAX if it never does. For policies that need the future; the array must outlive the trial. */
void trib_trial_future(struct trib_trial *trial, const uint32_t *deaths, uint64_t count);

void trib_trial_cost(const struct trib_trial *trial, struct trib_cost_report *out);

TRIB_C_END
#endif
