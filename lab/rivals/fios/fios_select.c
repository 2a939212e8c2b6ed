/* SPDX-License-Identifier: Apache-2.0 */
#include "rivals/fios/fios_select.h"

enum { ROWS = 6 };

#define F (1u << TRIB_FIOS_FREQUENCY)
#define S (1u << TRIB_FIOS_SEQUENTIALITY)
#define A (1u << TRIB_FIOS_ADJACENT)
#define C (1u << TRIB_FIOS_COHERENCY)

/* Fig. 7. Its printed arrows put F on the fourth row; Table 1 and the text ("S and F need two rows
 * each") make rows 3 and 4 S, 5 and 6 F. */
static const struct {
    uint8_t attributes, feature;
} base_matrix[ROWS] = {
    {TRIB_FIOS_ACF | TRIB_FIOS_RATE, A},
    {TRIB_FIOS_ACF | TRIB_FIOS_RANDOM, C},
    {TRIB_FIOS_SIZE, S},
    {TRIB_FIOS_ACF | TRIB_FIOS_SIZE, S},
    {TRIB_FIOS_REUSE, F},
    {TRIB_FIOS_ACF | TRIB_FIOS_REUSE, F},
};

uint32_t trib_fios_high(const struct trib_fios_attributes *workload, const struct trib_fios_attributes *limits) {
    uint32_t theta = 0;
    if (workload->autocorrelation >= limits->autocorrelation)
        theta |= TRIB_FIOS_ACF;
    if (workload->random_percent >= limits->random_percent)
        theta |= TRIB_FIOS_RANDOM;
    if (workload->reuse >= limits->reuse)
        theta |= TRIB_FIOS_REUSE;
    if (workload->write_kib >= limits->write_kib)
        theta |= TRIB_FIOS_SIZE;
    if (workload->gb_per_day >= limits->gb_per_day)
        theta |= TRIB_FIOS_RATE;
    return theta;
}

/* Theta without R and S, as a row of each of those would be kept. */
static uint8_t fall_back(uint32_t theta) {
    switch (theta) {
    case 0:
        return F; /* nothing is known: what every other system uses */
    case TRIB_FIOS_RATE:
        return A;
    case TRIB_FIOS_RANDOM | TRIB_FIOS_RATE:
        return A | C;
    default: /* RANDOM, or ACF alone: one attribute short of C; ACF is of A, S and F, too */
        return C;
    }
}

struct trib_fios_selection trib_fios_select(uint32_t theta) {
    struct trib_fios_selection selection = {0};
    uint32_t covered = 0;
    for (uint32_t row = 0; row < ROWS; row++) {
        if (base_matrix[row].attributes & ~theta)
            continue;
        selection.rows |= (uint8_t)(1u << row);
        selection.features |= base_matrix[row].feature;
        covered |= base_matrix[row].attributes;
    }
    selection.uncovered = (uint8_t)(theta & ~covered);
    selection.fallback = selection.features == 0;
    if (selection.fallback)
        selection.features = fall_back(theta);
    return selection;
}

const char *trib_fios_feature_letters(uint32_t features, char *letters) {
    static const char names[TRIB_FIOS_FEATURES] = {'F', 'S', 'A', 'C'};
    char *end = letters;
    for (uint32_t feature = 0; feature < TRIB_FIOS_FEATURES; feature++)
        if (features >> feature & 1)
            *end++ = names[feature];
    *end = '\0';
    return letters;
}
