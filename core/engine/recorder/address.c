/* SPDX-License-Identifier: Apache-2.0 */
/* The socket's path. A daemon that was killed leaves its socket behind, and the next one replaces it. Of several that
 * start at once one gets the path: whoever looks, binds and listens holds a lock. No state. */
#include "recorder/address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"

#define LOCK_TURNS    250 /* looks at a lock that another holds */
#define LOCK_PAUSE_NS 20000000l

/* ---- locks ---- */

/* Whoever unlinks a lock holds it; so one that is still there under its name is everybody's. */
static int try_lock(const char *path, int *out) {
    struct stat mine, named;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600), code = 0;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &mine) != 0 || !S_ISREG(mine.st_mode) || (mine.st_uid != geteuid() && mine.st_uid != 0))
        code = -EPERM; /* somebody else could keep it for ever */
    else if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        code = -EAGAIN;
    else if (lstat(path, &named) != 0 || named.st_ino != mine.st_ino || named.st_dev != mine.st_dev)
        code = -EAGAIN;
    if (code)
        close(fd);
    else
        *out = fd;
    return code;
}

int trib_address_lock(const char *path, bool waits, int *out) {
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    int code = try_lock(path, out);

    for (unsigned turn = 0; waits && code == -EAGAIN && turn < LOCK_TURNS; turn++) {
        nanosleep(&pause, NULL);
        code = try_lock(path, out);
    }
    return code;
}

void trib_address_unlock(const char *path, int lock) {
    if (lock < 0)
        return;
    unlink(path);
    flock(lock, LOCK_UN); /* at once, whoever else has a copy of the descriptor */
    close(lock);
}

/* ---- the socket ---- */

/* Another user's folder may have a socket of the same name: only one folder's are known by it. */
void trib_address_name(char *out, size_t capacity, const char *path, const char *folder) {
    static const char ending[] = ".sock";
    const size_t before = strlen(folder) + 1, behind = sizeof ending - 1;
    size_t length = strlen(path);
    bool is_named = length > before + behind && strncmp(path, folder, before - 1) == 0 && path[before - 1] == '/' &&
                    !strchr(path + before, '/') && strcmp(path + length - behind, ending) == 0;

    if (is_named)
        path += before;
    length = is_named ? length - before - behind : length;
    snprintf(out, capacity, "%.*s", (int)(length < capacity ? length : capacity - 1), path);
}

static int address_of(struct sockaddr_un *out, const char *path, struct trib_error *error) {
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (path[0] != '/')
        return trib_fail(error, -EINVAL, "socket '%.64s': programs need an absolute path to join", path);
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

static int bind_and_listen(int fd, const struct sockaddr_un *address, const struct trib_access *access) {
    const struct sockaddr *where = (const struct sockaddr *)address;
    mode_t before = umask(0177);
    int code = bind(fd, where, sizeof *address) ? -errno : 0;

    if (code == -EADDRINUSE && is_stale(address) && unlink(address->sun_path) == 0)
        code = bind(fd, where, sizeof *address) ? -errno : 0;
    umask(before);
    if (code)
        return code;
    if (trib_access_has_others(access) && trib_access_admit(access, address->sun_path) != 0 &&
        chmod(address->sun_path, 0666) != 0)
        code = -errno;
    if (code == 0 && listen(fd, SOMAXCONN) != 0)
        code = -errno;
    if (code)
        unlink(address->sun_path);
    return code;
}

/* Without a lock where none can be made: then the folder is not ours alone anyway. */
static int listen_locked(int fd, const struct sockaddr_un *address, const struct trib_access *access) {
    char path[sizeof address->sun_path + sizeof ".lock"];
    int lock = -1;

    snprintf(path, sizeof path, "%s.lock", address->sun_path);
    if (trib_address_lock(path, true, &lock) == -EAGAIN)
        return -EADDRINUSE;
    int code = bind_and_listen(fd, address, access);
    trib_address_unlock(path, lock);
    return code;
}

static int fail_to_listen(const char *path, int code, struct trib_error *error) {
    char name[sizeof((struct sockaddr_un *)NULL)->sun_path];
    struct stat status;

    if (code != -EADDRINUSE)
        return trib_fail(error, code, "socket %s: %s", path, strerror(-code));
    if (lstat(path, &status) == 0 && !S_ISSOCK(status.st_mode))
        return trib_fail(error, code, "socket %s: what is there is no socket; move it away, or name another path",
                         path);
    trib_address_name(name, sizeof name, path, TRIB_ADDRESS_FOLDER);
    return trib_fail(error, code, "socket %s: another daemon has it; end that with `trib daemon stop %s`", path, name);
}

int trib_address_listen(const char *path, const struct trib_access *access, int *out, struct trib_error *error) {
    struct sockaddr_un address;
    int code = address_of(&address, path, error);

    if (code)
        return code;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return trib_fail(error, -errno, "no socket: %s", strerror(errno));
    code = listen_locked(fd, &address, access);
    if (code) {
        close(fd);
        return fail_to_listen(path, code, error);
    }
    *out = fd;
    return 0;
}

void trib_address_sweep(const char *path) {
    struct sockaddr_un address;
    struct trib_error ignored;
    char lock_path[sizeof address.sun_path + sizeof ".lock"];
    int lock;

    if (address_of(&address, path, &ignored) != 0)
        return;
    snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    if (trib_address_lock(lock_path, false, &lock) != 0)
        return;
    if (is_stale(&address))
        unlink(path);
    trib_address_unlock(lock_path, lock);
}
