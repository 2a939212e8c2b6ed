/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that processes map: its size is sealed, so that nobody can take it away under another. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/source.h"

int trib_memory_make(const char *name, uint64_t bytes, void **memory, int *fd) {
    int made = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int code = 0;

    if (made < 0)
        return -errno;
    if (ftruncate(made, (off_t)bytes) != 0 || fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
        code = -errno;
        close(made);
        return code;
    }
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
    if (at == MAP_FAILED) {
        code = -errno;
        close(made);
        return code;
    }
    *memory = at;
    *fd = made;
    return 0;
}
