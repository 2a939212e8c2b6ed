/* SPDX-License-Identifier: Apache-2.0 */
/* What a file is for, by its name: trib_kind_of is public (tributary/client.h), for adapters that are built elsewhere.
 */
#ifndef TRIB_BASE_KINDS_H
#define TRIB_BASE_KINDS_H

#include <tributary/client.h>

#endif
