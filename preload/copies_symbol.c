/* SPDX-License-Identifier: Apache-2.0 */
/* Other adapters have a symbol of their own. In a file of its own, else the compiler takes this one for the only one.
 */
#include "copies.h"

__attribute__((weak)) const char *const trib_copies_symbol = TRIB_COPIES_PRELOAD;
