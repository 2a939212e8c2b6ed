/* SPDX-License-Identifier: Apache-2.0 */
/* The hook's figures, as one line. Thread safety: any thread. */
#ifndef TRIB_BUFFER_STATUS_H
#define TRIB_BUFFER_STATUS_H

#include <stddef.h>

/* As snprintf. */
int trib_buffer_status(char *text, size_t capacity);

#endif
