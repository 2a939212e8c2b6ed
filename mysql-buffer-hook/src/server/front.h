/* SPDX-License-Identifier: Apache-2.0 */
/* The front end of an unmodified server: whoever commits a mini-transaction has dirtied its pages. One adapter per
 * server behind trib_front; a server that is not recognised stays as it is, and says so in one line, which is counted.
 *
 * Thread safety: start once, before main or when loaded; all else any thread, without lock or memory. */
#ifndef TRIB_BUFFER_FRONT_H
#define TRIB_BUFFER_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "server/server.h"

struct trib_front {
    const char *name;   /* "mtr_t::commit", ... */
    const char *cannot; /* "mtr_t::commit cannot be hooked: " */
    /* NULL: this server can be hooked; else why not. Changes nothing. */
    const char *(*refuses)(const struct trib_server *server);
    bool waits; /* for the first write of a page, because static constructors would undo the hook */
    int (*hook)(const struct trib_server *server); /* 0 or -errno */
    /* Other threads may be inside: what leads here stays, and comes to nothing. Makes no system call. */
    void (*unhook)(void);
};
extern const struct trib_front trib_front_mysql, trib_front_mariadb;

/* Before main, or when loaded. */
void trib_front_start(void);

/* On every write of a file that the shim records; cheap. */
void trib_front_ready(void);

/* For good, at any time: `why`, which lives for ever, goes into the status, the counter and a line on standard error.
 * NULL: silently (the engine itself notes). */
void trib_front_retire(const char *why);

bool trib_front_is_hooked(void);
/* How often there was a reason to do without a front end. */
unsigned trib_front_refusals(void);
/* "mtr_t::commit hooked", "off: ...", for people. */
void trib_front_describe(char *text, unsigned capacity);

#endif
