/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server.h"

#include <dlfcn.h>
#include <link.h>

#include "options.h"

static struct trib_server found;

/* A variable of this size; NULL: there is none, or something else has its name. */
static const void *variable(const char *name, size_t bytes) {
    void *address = dlsym(RTLD_DEFAULT, name);
    const ElfW(Sym) *symbol = NULL;
    Dl_info info;

    if (!address || !dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol ||
        ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_size != bytes)
        return NULL;
    return address;
}

void trib_server_start(void) {
    if (!dlsym(RTLD_DEFAULT, "thd_sql_command"))
        return;
    found.kind = dlsym(RTLD_DEFAULT, "_current_thd") ? TRIB_SERVER_MARIADB : TRIB_SERVER_MYSQL;
    found.mtr_commit = dlsym(RTLD_DEFAULT, "_ZN5mtr_t6commitEv");
    found.my_crc32c = dlsym(RTLD_DEFAULT, "my_crc32c");
    found.page_bytes = variable("srv_page_size", sizeof *found.page_bytes);
    found.pool_bytes = variable("srv_buf_pool_size", sizeof *found.pool_bytes);
}

const struct trib_server *trib_server(void) {
    return &found;
}

uint32_t trib_server_page_bytes(void) {
    const unsigned long *exported = trib_server()->page_bytes;

    if (exported && *exported >= 4096 && *exported <= TRIB_PAGE_BYTES_MAX)
        return (uint32_t)*exported;
    return (uint32_t)trib_buffer_settings()->page_bytes;
}

size_t trib_server_frames(void) {
    const unsigned long *bytes = trib_server()->pool_bytes;

    return bytes ? *bytes / trib_server_page_bytes() : 0;
}
