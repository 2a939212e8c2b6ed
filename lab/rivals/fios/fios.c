/* SPDX-License-Identifier: Apache-2.0 */
/* Paper       Bhimani et al., "Automatic Stream Identification to Improve Flash Endurance in Data
 *             Centers", ACM Transactions on Storage 18(2), 2022: FIOS, sections 3.1 to 3.6 and 4.
 * Idea        A chunk of 32 KiB goes on as it began. Watch a workload for a while; describe each
 *             chunk by up to four features (how often it is written, whether sequentially, when
 *             last, whether together with others); group the rows by k-means into as many clusters
 *             as there are streams; from then on look the chunk's stream up. Which features suit a
 *             workload follows from five of its attributes (fios_select.h). Never learns again.
 * Uses        Block address, per 4-KiB block; trims end lifetimes, for the correlations only.
 * Constants   Theirs: chunk of 64 sectors, at most 16 streams, frequency against the median, ten
 *             steps of the decimal matrix, equal weights. Ours: limits from which an attribute is
 *             high (from their Table 3 and the three cases that the text fixes), adjacent access
 *             against the median of last-write times, 64 windows of coherency, friends if two
 *             chunks share both windows, lambda high, training until twice the capacity was
 *             written (a drive is filled first; only what comes then shows what is updated).
 * Deviations  Trained offline in the paper; here from the beginning of the run, with everything in
 *             S0 until then (dictionary= for a trained one). Inter-arrival times are in blocks
 *             written. Coherency of the decimal matrix is rounded to ninths, as the other features
 *             are: then the matrix has at most 2,000 distinct rows and k-means costs the same for
 *             any drive. Clusters are named by distance from the origin, so that S0 holds what was
 *             not touched, too. Runs on any gc=; the paper's is gc=preserve.
 * Cost        place: a binary search per chunk. Memory while it learns: 4 bytes per block, 34 per
 *             chunk, 0.8 MiB; then 1.125 per chunk. Training is spread over the writes that follow
 *             (fios_core.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "log/log.h"
#include "rivals/fios/fios_core.h"
#include "rivals/rivals.h"

struct settings {
    struct trib_fios_knobs knobs;
    char dictionary[TRIB_OPTION_TEXT_MAX], save[TRIB_OPTION_TEXT_MAX];
    double train_percent;
};

#define FIELD(name) offsetof(struct settings, name)

/* clang-format off */
static const struct trib_option_spec options[] = {
    {.key = "train", .fallback = "200", .type = TRIB_OPTION_PERCENT,
     .offset = FIELD(train_percent), .minimum = 0.1, .maximum = 100000,
     .help = "of the capacity written at the start to learn from"},
    {.key = "dictionary", .fallback = "", .type = TRIB_OPTION_TEXT, .offset = FIELD(dictionary),
     .help = "file of an earlier training, used instead of one (docs/formats/dictionary.md)"},
    {.key = "save", .fallback = "", .type = TRIB_OPTION_TEXT, .offset = FIELD(save),
     .help = "file that gets the dictionary once it is trained"},
    TRIB_FIOS_OPTIONS(struct settings, "binary"),
    TRIB_OPTIONS_END,
};
/* clang-format on */

enum stage { WATCHING, TRAINING, TRAINED };

struct fios {
    struct trib_fios_core core;
    struct settings settings;
    enum stage stage;
    uint64_t train_blocks;
};

static int use_file(struct fios *fios, struct trib_error *error) {
    struct trib_fios_core *core = &fios->core;
    struct trib_fios_training_record record;
    struct trib_fios_dictionary loaded;
    int rc = trib_fios_dictionary_load(&loaded, fios->settings.dictionary, &record, error);
    if (rc)
        return rc;
    if (record.chunk_blocks != core->chunk_blocks || record.chunks != core->chunks || record.streams > core->streams) {
        trib_fios_dictionary_close(&loaded);
        return trib_fail(error, -EINVAL,
                         "fios: the dictionary is for %u chunks of %u blocks in %u streams, this "
                         "drive has %u of %u in %u",
                         record.chunks, record.chunk_blocks, record.streams, core->chunks, core->chunk_blocks,
                         core->streams);
    }
    trib_fios_dictionary_close(&core->dictionary[core->current]);
    core->dictionary[core->current] = loaded;
    trib_fios_core_stop_learning(core);
    fios->stage = TRAINED;
    return 0;
}

static int fios_open(void **self, const struct trib_policy_env *env, struct trib_options *given,
                     struct trib_error *error) {
    struct fios *fios = calloc(1, sizeof *fios);
    if (!fios)
        return trib_fail(error, -ENOMEM, "fios: out of memory");
    int rc = trib_options_take(given, options, &fios->settings, error);
    if (rc == 0)
        rc = trib_fios_core_open(&fios->core, &fios->settings.knobs, env, "fios", false, error);
    if (rc == 0 && fios->settings.dictionary[0])
        rc = use_file(fios, error);
    if (rc) {
        trib_fios_core_close(&fios->core);
        free(fios);
        return rc;
    }
    fios->train_blocks = (uint64_t)((double)env->blocks * fios->settings.train_percent / 100) + 1;
    if (fios->stage == WATCHING)
        trib_fios_trace_begin(&fios->core.trace, 0, fios->train_blocks, 0);
    *self = fios;
    return 0;
}

static void fios_close(void *self) {
    struct fios *fios = self;
    if (fios->settings.save[0] && fios->stage != TRAINED)
        trib_log(TRIB_LOG_WARNING,
                 "fios: nothing saved: %" PRIu64 " blocks were written, training takes %" PRIu64
                 " and the writes after them",
                 fios->core.block_clock, fios->train_blocks);
    trib_fios_core_close(&fios->core);
    free(fios);
}

static uint16_t fios_place(void *self, const struct trib_placement *page) {
    return trib_fios_core_place(&((struct fios *)self)->core, page);
}

static void save(const struct fios *fios) {
    const struct trib_fios_core *core = &fios->core;
    struct trib_error error = {""};
    struct trib_fios_training_record record = {.chunks = core->chunks,
                                               .chunk_blocks = core->chunk_blocks,
                                               .streams = core->result.streams ? core->result.streams : 1,
                                               .theta = core->result.theta,
                                               .features = core->result.features,
                                               .decimal = fios->settings.knobs.matrix == TRIB_FIOS_DECIMAL,
                                               .trained_blocks = fios->train_blocks};
    for (uint32_t feature = 0; feature < TRIB_FIOS_FEATURES; feature++)
        record.correlation[feature] = core->result.correlation[feature];
    if (trib_fios_dictionary_save(&core->dictionary[core->current], fios->settings.save, &record, &error))
        trib_log(TRIB_LOG_ERROR, "fios: not saved: %s", error.text);
}

static void fios_tick(void *self, uint64_t clock_bytes) {
    struct fios *fios = self;
    (void)clock_bytes; /* blocks that reach the drive are the clock */
    if (fios->stage == WATCHING && fios->core.block_clock >= fios->train_blocks) {
        trib_fios_core_train(&fios->core);
        fios->stage = TRAINING;
    } else if (fios->stage == TRAINING && trib_fios_training_step(fios->core.training, TRIB_FIOS_STEP_CHUNKS)) {
        trib_fios_core_swap(&fios->core);
        trib_fios_core_stop_learning(&fios->core);
        fios->stage = TRAINED;
        if (fios->settings.save[0])
            save(fios);
    }
}

static void fios_discarded(void *self, uint64_t lba, uint64_t blocks, uint64_t clock_bytes) {
    struct trib_fios_core *core = &((struct fios *)self)->core;
    (void)clock_bytes;
    if (core->trace.birth)
        trib_fios_trace_discard(&core->trace, lba, blocks, core->block_clock);
}

static uint32_t fios_reclusterings(void *self) {
    const struct fios *fios = self;
    return fios->stage == TRAINED && !fios->settings.dictionary[0];
}

static uint64_t fios_memory_bytes(void *self) {
    return trib_fios_core_memory_bytes(&((const struct fios *)self)->core);
}

const struct trib_policy trib_policy_fios = {
    .name = "fios",
    .summary = "features of 32-KiB chunks, learned once (TOS'22)",
    .options = options,
    .needs = TRIB_NEEDS_LBA | TRIB_NEEDS_PAGE,
    .gc = "preserve",
    .open = fios_open,
    .close = fios_close,
    .place = fios_place,
    .tick = fios_tick,
    .blocks = {.discarded = fios_discarded},
    .reclusterings = fios_reclusterings,
    .memory_bytes = fios_memory_bytes,
};
