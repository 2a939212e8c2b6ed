/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that every pipeline takes, besides those of its policy and its drive; for documentation and help. */
#ifndef TRIB_PIPELINE_OPTIONS_H
#define TRIB_PIPELINE_OPTIONS_H

#include "base/options.h"

TRIB_C_BEGIN

extern const struct trib_option_spec trib_pipeline_options[];

TRIB_C_END
#endif
