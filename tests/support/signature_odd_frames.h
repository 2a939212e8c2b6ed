/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIB_TESTS_SIGNATURE_ODD_FRAMES_H
#define TRIB_TESTS_SIGNATURE_ODD_FRAMES_H

#include "signature_paths.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void signature_odd_frame(void *arg, signature_leaf *leaf);

__attribute__((visibility("hidden"))) signature_odd_frame odd_deref_sp, odd_remember, odd_by_rip,
    odd_saved_by_expression, odd_signal_frame, odd_wrong_rules, odd_no_rules;

#ifdef __cplusplus
}
#endif
#endif
