/* SPDX-License-Identifier: Apache-2.0 */
/* Which server this process is, by what its executable exports. Thread safety: constant after
 * start-up, before which it is none. */
#ifndef TRIB_BUFFER_SERVER_H
#define TRIB_BUFFER_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "innodb/page_header.h"

enum trib_server_kind { TRIB_SERVER_NONE, TRIB_SERVER_MYSQL, TRIB_SERVER_MARIADB };

struct trib_server {
    enum trib_server_kind kind;
    uint8_t *mtr_commit;                          /* MySQL: mtr_t::commit(); NULL where it is not exported */
    const uint8_t *my_crc32c;                     /* MariaDB: my_crc32c() */
    const unsigned long *page_bytes, *pool_bytes; /* MySQL: srv_page_size, srv_buf_pool_size; final once InnoDB runs */
};

void trib_server_start(void);
const struct trib_server *trib_server(void);

static inline enum trib_page_dialect trib_server_dialect(void) {
    return trib_server()->kind == TRIB_SERVER_MARIADB ? TRIB_DIALECT_MARIADB : TRIB_DIALECT_MYSQL;
}

/* Of InnoDB: what the server exports, else the option. */
uint32_t trib_server_page_bytes(void);
/* Frames of the buffer pool; 0 = the server does not say. */
size_t trib_server_frames(void);

#endif
