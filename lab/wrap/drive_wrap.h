/* SPDX-License-Identifier: Apache-2.0 */
/* A drive around another: reports the blocks on their way to it, in the order that it gets them. Thread safety: as the
 * drive inside; one replay. */
#ifndef TRIB_LAB_DRIVE_WRAP_H
#define TRIB_LAB_DRIVE_WRAP_H

#include <tributary/drive.h>

#include "wrap/trial.h"

TRIB_C_BEGIN

struct trib_drive_wrap {
    struct trib_drive outer; /* what the flow opens */
    struct trib_drive_model model;
    const struct trib_drive *inner;
    void *self; /* of the inner one */
    const struct trib_observer *observer;
};

/* The table to open instead of `inner`; lives in `wrap`. */
const struct trib_drive *trib_drive_wrap(struct trib_drive_wrap *wrap, const struct trib_drive *inner,
                                         const struct trib_observer *observer);

TRIB_C_END
#endif
