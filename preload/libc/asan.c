/* SPDX-License-Identifier: Apache-2.0 */
/* AddressSanitizer's runtime, where it is a library (gcc's default), ends a program that has another library before it
 * on the list, unless this says otherwise. It asks for a function of this name, of which the program's own comes first.
 * Ours may be before it: it defines none of the functions that the runtime stands in front of but to call the next. */
#include <tributary/error.h>

TRIB_EXPORT const char *__asan_default_options(void);

const char *__asan_default_options(void) {
    return "verify_asan_link_order=0";
}
