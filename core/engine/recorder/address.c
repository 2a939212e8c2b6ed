/* SPDX-License-Identifier: Apache-2.0 */
/* The socket's path. A daemon that was killed leaves its socket behind, and the next one replaces it. Of several that
 * start at once `trib daemon` lets one through. No state. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/options.h"
#include "recorder/listener.h"

#define BACKLOG 128

static int address_of(struct sockaddr_un *out, const char *path, struct trib_error *error) {
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof out->sun_path)
        return trib_fail(error, -ENAMETOOLONG, "socket %.64s...: a path has at most %zu bytes", path,
                         sizeof out->sun_path - 1);
    memcpy(out->sun_path, path, strlen(path) + 1);
    return 0;
}

/* Nobody answers at a socket that is there: its daemon was killed. */
static bool is_stale(const struct sockaddr_un *address) {
    struct stat status;
    int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused =
        probe >= 0 && connect(probe, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;

    if (probe >= 0)
        close(probe);
    return refused && lstat(address->sun_path, &status) == 0 && S_ISSOCK(status.st_mode);
}

static int bind_and_listen(int fd, const struct sockaddr_un *address, bool has_others) {
    const struct sockaddr *where = (const struct sockaddr *)address;
    mode_t before = umask(has_others ? 0111 : 0177);
    int code = bind(fd, where, sizeof *address) ? -errno : 0;

    if (code == -EADDRINUSE && is_stale(address) && unlink(address->sun_path) == 0)
        code = bind(fd, where, sizeof *address) ? -errno : 0;
    umask(before);
    if (code == 0 && listen(fd, BACKLOG) != 0) {
        code = -errno;
        unlink(address->sun_path);
    }
    return code;
}

int trib_address_listen(const char *path, bool has_others, int *out, struct trib_error *error) {
    struct sockaddr_un address;
    int code = address_of(&address, path, error);

    if (code)
        return code;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return trib_fail(error, -errno, "no socket: %s", strerror(errno));
    code = bind_and_listen(fd, &address, has_others);
    if (code) {
        close(fd);
        return trib_fail(error, code, "socket %s: %s", path,
                         code == -EADDRINUSE ? "another daemon has it" : strerror(-code));
    }
    *out = fd;
    return 0;
}
