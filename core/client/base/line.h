/* SPDX-License-Identifier: Apache-2.0 */
/* A line for people on standard error, out of any place of a host. Descriptor 2 is the program's: it may have closed
 * it, and a database may have its number since. So a line goes only to what standard error was at start-up, or to a
 * file that is written at its end only, as a log is that was opened since; else nowhere, and the status has to say it.
 * Never by stdio: its stream would have been used, and have an orientation, before the program's first call.
 *
 * Thread safety: trib_line_start once; trib_line any thread, async-signal-safe, no lock, keeps errno. */
#ifndef TRIB_BASE_LINE_H
#define TRIB_BASE_LINE_H

#include <stdbool.h>

#include <tributary/error.h>

TRIB_C_BEGIN

#define TRIB_LINE_BYTES_MAX 2048 /* longer ones are cut */

void trib_line_start(void);

/* "tributary: " and up to eight pieces, which a NULL ends. False: standard error is something else now. */
bool trib_line(const char *const *pieces);

TRIB_C_END
#endif
