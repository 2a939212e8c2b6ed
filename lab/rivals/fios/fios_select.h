/* SPDX-License-Identifier: Apache-2.0 */
/* From what a workload is like to the features that should tell its data apart: the analytical
 * model of FIOS (Bhimani et al., ACM TOS 18(2), 2022, section 3.6; base matrix of Fig. 7). Pure
 * functions. */
#ifndef TRIB_POLICY_FIOS_SELECT_H
#define TRIB_POLICY_FIOS_SELECT_H

#include <stdbool.h>
#include <stdint.h>
#include <tributary/error.h>

TRIB_C_BEGIN

/* Columns of the feature matrix; a set of them is a mask of bits 1 << feature. */
enum trib_fios_feature {
    TRIB_FIOS_FREQUENCY = 0,
    TRIB_FIOS_SEQUENTIALITY = 1,
    TRIB_FIOS_ADJACENT = 2,
    TRIB_FIOS_COHERENCY = 3,
    TRIB_FIOS_FEATURES = 4,
};

/* Bits of theta, in the paper's order from the most significant: [ACF RW R S lambda]. */
enum trib_fios_attribute {
    TRIB_FIOS_ACF = 1u << 4,
    TRIB_FIOS_RANDOM = 1u << 3,
    TRIB_FIOS_REUSE = 1u << 2,
    TRIB_FIOS_SIZE = 1u << 1,
    TRIB_FIOS_RATE = 1u << 0,
    TRIB_FIOS_THETAS = 1u << 5,
};

/* Of a workload, or the limits from which on one counts as high (all inclusive). */
struct trib_fios_attributes {
    double autocorrelation; /* of the time between writes, lag 1: -1..1 */
    double random_percent;  /* of the writes */
    double reuse;           /* bytes written / distinct bytes */
    double write_kib;       /* mean size */
    double gb_per_day;
};

struct trib_fios_selection {
    uint8_t rows;      /* alpha: bit i = row i + 1 of the base matrix is kept */
    uint8_t features;  /* psi: never empty */
    uint8_t uncovered; /* high attributes that no kept row accounts for */
    bool fallback;     /* no row was kept: features are our choice */
};

/* theta. */
uint32_t trib_fios_high(const struct trib_fios_attributes *workload, const struct trib_fios_attributes *limits);

/* f_map: rows whose every attribute is high; their features. For the five theta that keep no row
 * (the paper demands at least one feature) the rows that have one high attribute and lack one other
 * give theirs: 00001 A, 01000 C, 01001 AC; where that does not decide we do: 00000 F, 10000 C. */
struct trib_fios_selection trib_fios_select(uint32_t theta);

/* "FAC" and the like, in the order F S A C; at least TRIB_FIOS_FEATURES + 1 bytes. */
const char *trib_fios_feature_letters(uint32_t features, char *letters);

TRIB_C_END
#endif
