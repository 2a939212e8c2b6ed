/* SPDX-License-Identifier: Apache-2.0 */
/* The one parser of options: opens a text, lets components take their keys, and says at the end what nobody took. All
 * of it is public (tributary/options.h), because adapters that are built elsewhere use it. Thread safety: one owner. */
#ifndef TRIB_BASE_OPTIONS_H
#define TRIB_BASE_OPTIONS_H

#include <stdbool.h>

#include <tributary/options.h>

#endif
