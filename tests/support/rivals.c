/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that link this know the laboratory's policies, as `trib` does. */
#include <stdlib.h>

#include "rivals/rivals.h"

__attribute__((constructor)) static void add_rivals(void) {
    if (trib_policies_add(&trib_rivals, NULL) != 0)
        abort();
}
