/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIB_TEST_DESCRIPTORS_INSIDE_H
#define TRIB_TEST_DESCRIPTORS_INSIDE_H
#ifdef __cplusplus
extern "C" {
#else
#include <stdbool.h>
#endif

void descriptors_give_back(void);
bool descriptors_write(int fd);           /* as a hooked write looks at it: it would be recorded */
bool descriptors_remember(int fd);        /* what that write found */
void descriptors_spoil(int fd, int what); /* 0 both ours and not, 1 named but unknown, 2 owes a name it has not */
void descriptors_close(int fd);

#ifdef __cplusplus
}
#endif
#endif
