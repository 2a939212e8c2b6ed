/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap/trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "state/state.h"
#include "wrap/drive_wrap.h"
#include "wrap/page_parts.h"
#include "wrap/policy_wrap.h"

struct settings {
    uint32_t pages;
};

struct trib_trial {
    struct trib_pipeline *pipeline;
    struct trib_policy_wrap policy;
    struct trib_drive_wrap drive;
    struct trib_observer observer;
    struct settings settings;
    bool by_block;
};

const struct trib_option_spec trib_trial_options[] = {
    {.key = "pages",
     .fallback = "front+content+modifications",
     .type = TRIB_OPTION_FLAGS,
     .offset = offsetof(struct settings, pages),
     .choices = "front|content|modifications|flusher",
     .help = "what counts of a database page's context, to compare (docs/formats/page-context.md)"},
    TRIB_OPTIONS_END,
};

/* ---- open and close ---- */

/* Moves the items of `text` whose key is the trial's own to `own`, both "key=value,...". */
static void split(char *text, char *own) {
    char *kept = text, *taken = own;

    for (char *item = text; item;) {
        char *comma = strchr(item, ','), *next = comma ? comma + 1 : NULL;
        size_t length = comma ? (size_t)(comma - item) : strlen(item);
        size_t key = strcspn(item, "=,");
        bool ours = strlen(trib_trial_options[0].key) == key && !strncmp(item, trib_trial_options[0].key, key);
        char **to = ours ? &taken : &kept;
        if (*to != (ours ? own : text))
            *(*to)++ = ',';
        memmove(*to, item, length);
        *to += length;
        item = next;
    }
    *kept = *taken = '\0';
}

static int take_own(struct trib_trial *trial, char *text, struct trib_error *error) {
    struct trib_options *options = NULL;
    char *own = malloc(strlen(text) + 1);

    if (!own)
        return trib_fail(error, -ENOMEM, "out of memory");
    split(text, own);
    int code = trib_options_open(&options, own, error);
    if (code == 0)
        code = trib_options_take(options, trib_trial_options, &trial->settings, error);
    trib_options_close(options);
    free(own);
    return code;
}

static const struct trib_policy *wrap_policy(void *arg, const struct trib_policy *named) {
    struct trib_trial *trial = arg;
    return trib_policy_wrap(&trial->policy, named, &trial->observer);
}

static const struct trib_drive *wrap_drive(void *arg, const struct trib_drive *named) {
    struct trib_trial *trial = arg;
    return trib_drive_wrap(&trial->drive, named, &trial->observer);
}

int trib_trial_open(struct trib_trial **out, const char *options, struct trib_error *error) {
    struct trib_trial *trial = calloc(1, sizeof *trial);
    char *text = strdup(options ? options : "");
    struct trib_pipeline_wraps wraps = {.arg = trial, .policy = wrap_policy, .drive = wrap_drive};

    int code = trial && text ? take_own(trial, text, error) : trib_fail(error, -ENOMEM, "out of memory");
    if (code == 0)
        code = trib_pipeline_open_wrapped(&trial->pipeline, text, false, &wraps, error);
    if (code == 0)
        trial->by_block = trib_policy_needs(trial->policy.inner, text) & TRIB_NEEDS_LBA;
    free(text);
    if (code)
        free(trial);
    else
        *out = trial;
    return code;
}

int trib_trial_close(struct trib_trial *trial) {
    int code = trial ? trib_pipeline_close(trial->pipeline) : 0;

    free(trial);
    return code;
}

/* ---- events ---- */

struct trib_pipeline *trib_trial_pipeline(const struct trib_trial *trial) {
    return trial->pipeline;
}

int trib_trial_process(struct trib_trial *trial, const struct trib_event *event) {
    struct trib_event seen = *event;
    uint64_t clock_bytes = trib_state_clock(trial->policy.state);

    if (event->kind == TRIB_EVENT_WRITE)
        seen.who = trib_page_parts(event->who, event->thread, trial->settings.pages);
    int code = trib_pipeline_process(trial->pipeline, &seen);
    if (event->kind != TRIB_EVENT_WRITE || code == -EINVAL || !trial->observer.wrote)
        return code;
    struct trib_write_report write = {.who = seen.who,
                                      .key = trib_pipeline_key(trial->pipeline, &seen.who),
                                      .clock_bytes = clock_bytes,
                                      .length_bytes = event->length_bytes,
                                      .stream = trial->by_block ? TRIB_STREAM_UNDECIDED : trial->policy.placed};
    trial->observer.wrote(trial->observer.arg, &write);
    return code;
}

/* ---- instruments ---- */

void trib_trial_observe(struct trib_trial *trial, const struct trib_observer *observer) {
    trial->observer = *observer;
}

void trib_trial_future(struct trib_trial *trial, const uint32_t *deaths, uint64_t count) {
    trial->policy.deaths = deaths;
    trial->policy.deaths_count = count;
}

void trib_trial_cost(const struct trib_trial *trial, struct trib_cost_report *out) {
    const struct trib_policy_wrap *wrap = &trial->policy;

    *out = (struct trib_cost_report){.place_calls = wrap->place.calls,
                                     .died_calls = wrap->died.calls,
                                     .place_ns = trib_probe_median_ns(&wrap->place),
                                     .died_ns = trib_probe_median_ns(&wrap->died)};
    if (wrap->inner->needs & TRIB_NEEDS_SIGNATURE)
        out->state_bytes = trib_state_attribute_count(wrap->state) * sizeof(struct trib_attribute);
    if (wrap->inner->memory_bytes)
        out->state_bytes += wrap->inner->memory_bytes(wrap->self);
}
