/* SPDX-License-Identifier: Apache-2.0 */
#include <tributary/error.h>

const char *trib_version(void) {
    return TRIB_VERSION;
}
