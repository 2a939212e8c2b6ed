/* SPDX-License-Identifier: Apache-2.0 */
/* A random sequence of every call that the shim stands before, right and wrong ones, in the folder of the second
 * argument: prints results and errno, then what the files hold. Equal seeds must print equal lines, shim or not. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/falloc.h>
#include <linux/fs.h>

#define FILES 6
#define FDS   8

static unsigned long state;
static int fds[FDS];
static char data[1 << 17];
static void *const nowhere = (void *)16;

static unsigned below(unsigned bound) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(state >> 33) % bound;
}

static const char *name(void) {
    static const char *const names[FILES + 1] = {"one",     "two",         "three.log", "four.o",
                                                 "five.db", "six-journal", "no/such"};
    return names[below(50) == 0 ? FILES : below(FILES)];
}

static int fd(void) {
    return below(60) == 0 ? -1 : fds[below(FDS)];
}

static size_t length(void) {
    static const size_t most[] = {1, 100, 4096, 70000};
    return below((unsigned)most[below(4)] + 1);
}

static off_t offset(void) {
    return below(40) == 0 ? -1 : (off_t)below(200000);
}

static const void *bytes(void) {
    return below(80) == 0 ? nowhere : data + below(4096);
}

static void keep(int made) {
    int *slot = &fds[below(FDS)];
    if (made < 0)
        return;
    close(*slot);
    *slot = made;
}

static long do_open(void) {
    static const int more[] = {0, O_TRUNC, O_APPEND, O_EXCL, O_SYNC, O_TRUNC | O_APPEND};
    int flags = (int)below(3) | O_CREAT | more[below(6)], made;
    switch (below(5)) {
    case 0:
        made = openat(AT_FDCWD, name(), flags, 0600);
        break;
    case 1:
        made = creat(name(), 0600);
        break;
    case 2:
        made = open(".", O_TMPFILE | O_RDWR, 0600);
        break;
    default:
        made = open(name(), flags, 0600);
    }
    int kept = errno;
    keep(made);
    errno = kept;
    return made < 0 ? -1 : 0;
}

static long do_write(void) {
    struct iovec parts[3] = {{data, length()}, {data + 7, length()}, {data + 9, length()}};
    switch (below(9)) {
    case 0:
        return pwrite(fd(), bytes(), length(), offset());
    case 1:
        return writev(fd(), parts, (int)below(4));
    case 2:
        return pwritev(fd(), parts, (int)below(4), offset());
    case 3:
        return pwritev2(fd(), parts, (int)below(4), offset(), below(8) == 0 ? RWF_APPEND : 0);
    case 4:
        return syscall(SYS_write, fd(), bytes(), length());
    case 5:
        return syscall(SYS_pwrite64, fd(), bytes(), length(), offset());
    default:
        return write(fd(), bytes(), length());
    }
}

static long do_range(void) {
    static const int modes[] = {0,
                                FALLOC_FL_KEEP_SIZE,
                                FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                FALLOC_FL_ZERO_RANGE,
                                FALLOC_FL_COLLAPSE_RANGE,
                                FALLOC_FL_INSERT_RANGE,
                                FALLOC_FL_PUNCH_HOLE};
    switch (below(7)) {
    case 0:
        return ftruncate(fd(), offset());
    case 1:
        return truncate(name(), offset());
    case 2:
        return posix_fallocate(fd(), offset(), (off_t)length());
    case 3:
        return fsync(fd());
    case 4:
        return fdatasync(fd());
    case 5:
        return sync_file_range(fd(), offset(), (off_t)length(), SYNC_FILE_RANGE_WRITE);
    default:
        return fallocate(fd(), modes[below(7)], (off_t)below(30) * 4096, (off_t)below(8) * 4096);
    }
}

static long do_name(void) {
    static const unsigned flags[] = {0, RENAME_NOREPLACE, RENAME_EXCHANGE};
    switch (below(9)) {
    case 0:
        return unlink(name());
    case 1:
        return unlinkat(AT_FDCWD, name(), below(10) ? 0 : AT_REMOVEDIR);
    case 2:
        return remove(name());
    case 3:
        return rename(name(), name());
    case 4:
        return renameat(AT_FDCWD, name(), AT_FDCWD, name());
    case 5:
        return renameat2(AT_FDCWD, name(), AT_FDCWD, name(), flags[below(3)]);
    case 6:
        return syscall(SYS_renameat2, AT_FDCWD, name(), AT_FDCWD, name(), flags[below(3)]);
    case 7:
        return syscall(SYS_unlink, name());
    default:
        return link(name(), name());
    }
}

static long do_descriptor(void) {
    int made = -1;
    switch (below(7)) {
    case 0:
        made = dup(fd());
        break;
    case 1:
        made = fcntl(fd(), F_DUPFD_CLOEXEC, 100);
        break;
    case 2:
        made = dup2(fd(), 50);
        break;
    case 3:
        made = dup3(fd(), 51, O_CLOEXEC);
        break;
    case 4:
        return close(below(2) ? -1 : 999);
    case 5:
        return fcntl(fd(), F_SETFL, below(3) ? 0 : O_APPEND);
    default:
        return lseek(fd(), offset(), (int)below(3));
    }
    int kept = errno;
    if (made == 50 || made == 51) { /* fixed numbers stay out of the table */
        write(made, data, 10);
        close(made);
        errno = kept;
        return made;
    }
    keep(made);
    errno = kept;
    return made < 0 ? -1 : 0;
}

static long do_copy(void) {
    off64_t from = (off64_t)below(1000), to = (off64_t)below(100000);
    int pipes[2];
    long result;
    switch (below(3)) {
    case 0:
        return copy_file_range(fd(), below(2) ? &from : NULL, fd(), below(2) ? &to : NULL, length(), 0) * 1000000 + to;
    case 1:
        return sendfile(fd(), fd(), below(2) ? &from : NULL, length()) * 1000000 + from;
    default:
        if (pipe(pipes))
            return -2;
        write(pipes[1], data, 1000);
        result = splice(pipes[0], NULL, fd(), below(2) ? &to : NULL, length(), 0) * 1000000 + to;
        int kept = errno;
        close(pipes[0]);
        close(pipes[1]);
        errno = kept;
        return result;
    }
}

static long do_map(void) {
    size_t size = 65536;
    int file = fd(), kept;
    struct stat known;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (memory == MAP_FAILED)
        return -1;
    kept = errno;
    fstat(file, &known);
    for (unsigned i = 0; i < 4; i++) {
        size_t at = below((unsigned)size);
        if ((off_t)at < known.st_size)
            memory[at] = (char)i;
    }
    errno = kept;
    long result = msync(memory, size, below(2) ? MS_SYNC : MS_ASYNC);
    return result * 10 + munmap(memory, size);
}

static long do_stdio(void) {
    static const char *const modes[] = {"w", "a", "r+", "w+", "a+"};
    FILE *file = fopen(name(), modes[below(5)]);
    if (!file)
        return -1;
    long result = fprintf(file, "%d %s\n", 17, "lines of text");
    result += (long)fwrite(data, 1, length(), file);
    result += fseek(file, (long)below(1000), SEEK_SET);
    result += fputs("behind the seek", file);
    if (below(4) == 0)
        result += freopen(name(), "w", file) ? fputc('x', file) : -1;
    return result * 10 + fclose(file);
}

static void print_files(void) {
    static char content[1 << 20];
    struct dirent **entries;
    int count = scandir(".", &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        int file = open(entries[i]->d_name, O_RDONLY);
        ssize_t got;
        unsigned long hash = 14695981039346656037ul;
        while ((got = read(file, content, sizeof content)) > 0)
            for (ssize_t at = 0; at < got; at++)
                hash = (hash ^ (unsigned char)content[at]) * 1099511628211ul;
        printf("%s %lx\n", entries[i]->d_name, hash);
        close(file);
    }
}

int main(int count, char **arguments) {
    static long (*const deeds[])(void) = {do_open,  do_open, do_write,      do_write, do_write, do_write,
                                          do_range, do_name, do_descriptor, do_copy,  do_map,   do_stdio};
    if (count != 4 || chdir(arguments[2]) != 0)
        return 2;
    state = strtoul(arguments[1], NULL, 10);
    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (char)below(256);
    for (unsigned i = 0; i < FDS; i++)
        fds[i] = open(name(), O_RDWR | O_CREAT, 0600);
    for (long step = strtol(arguments[3], NULL, 10); step; step--) {
        unsigned which = below(sizeof deeds / sizeof *deeds);
        errno = step % 2 ? 1234 : 0;
        long result = deeds[which]();
        printf("%u %ld %d\n", which, result, errno);
    }
    print_files();
    return 0;
}
