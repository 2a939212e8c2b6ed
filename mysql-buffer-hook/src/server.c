/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"

#include <dlfcn.h>
#include <pthread.h>

#include "options.h"

static struct trib_server found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void look(void) {
    if (!dlsym(RTLD_DEFAULT, "thd_sql_command"))
        return;
    found.kind = dlsym(RTLD_DEFAULT, "_current_thd") ? TRIB_SERVER_MARIADB : TRIB_SERVER_MYSQL;
    found.mtr_commit = dlsym(RTLD_DEFAULT, "_ZN5mtr_t6commitEv");
    found.my_crc32c = dlsym(RTLD_DEFAULT, "my_crc32c");
    found.page_bytes = dlsym(RTLD_DEFAULT, "srv_page_size");
    found.pool_bytes = dlsym(RTLD_DEFAULT, "srv_buf_pool_size");
}

const struct trib_server *trib_server(void) {
    pthread_once(&once, look);
    return &found;
}

uint32_t trib_server_page_bytes(void) {
    const unsigned long *exported = trib_server()->page_bytes;

    if (exported && *exported >= 4096 && *exported <= TRIB_PAGE_BYTES_MAX)
        return (uint32_t)*exported;
    return trib_buffer_settings()->page_bytes;
}

size_t trib_server_frames(void) {
    const unsigned long *bytes = trib_server()->pool_bytes;

    return bytes ? *bytes / trib_server_page_bytes() : 0;
}
