/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: closed, duplicated, moved. Whatever may give a number another meaning makes the table forget it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/close_range.h>

#include <tributary/event.h>

#include "calls.h"
#include "descriptors.h"
#include "libc_entry.h"
#include "next.h"
#include "sink.h"
#include "record.h"

/* ---- closed ---- */

static void record_closed(const struct trib_descriptor *known) {
    if (known->nameless)
        trib_record_death(known->file, 0, TRIB_LENGTH_TO_END, TRIB_CAUSE_UNLINK);
    else
        trib_record_sync(known->file, 0, TRIB_LENGTH_TO_END, TRIB_CAUSE_CLOSE);
}

/* Told before the descriptor goes: its number may belong to another thread right after. Without a name, the data die
 * with the last of the descriptors that this process has written through. */
void trib_descriptor_ending(int fd) {
    struct trib_descriptor known;

    if (!trib_sink_wanted() || !trib_descriptor_closing(fd, &known))
        return;
    trib_descriptor_forget(fd);
    if (!known.nameless || !trib_descriptors_unnamed(known.file))
        record_closed(&known);
}

void trib_descriptors_ending(void) {
    trib_descriptors_visit(0, UINT_MAX, record_closed);
}

TRIB_CALL int close(int fd) {
    trib_descriptor_ending(fd);
    trib_descriptor_forget(fd);
    return TRIB_NEXT(close)(fd);
}

static void end(const struct trib_descriptor *known) {
    trib_descriptor_ending(known->fd);
}

static void end_between(unsigned first, unsigned last) {
    trib_descriptors_visit(first, last, end);
    trib_descriptors_forget(first, last);
}

TRIB_CALL int close_range(unsigned first, unsigned last, int flags) {
    if (!(flags & (int)CLOSE_RANGE_CLOEXEC))
        end_between(first, last);
    return TRIB_NEXT(close_range)(first, last, flags);
}

TRIB_CALL void closefrom(int first) {
    end_between(first < 0 ? 0 : (unsigned)first, UINT_MAX);
    TRIB_NEXT(closefrom)(first);
}

/* stdio closes inside libc after a last write, which may be the first that shows what the file is. */
TRIB_CALL int fclose(FILE *stream) {
    int kept = errno, fd = fileno(stream);
    uint32_t life = trib_descriptor_life(fd);

    errno = kept; /* of a stream without a descriptor */
    int result = TRIB_NEXT(fclose)(stream);
    if (fd >= 0 && trib_descriptor_life(fd) == life) {
        trib_descriptor_ending(fd);
        trib_descriptor_forget(fd);
    }
    return result;
}

TRIB_CALL int pclose(FILE *stream) {
    trib_descriptor_forget(fileno(stream));
    return TRIB_NEXT(pclose)(stream);
}

TRIB_CALL int fcloseall(void) {
    int result = TRIB_NEXT(fcloseall)();

    end_between(0, UINT_MAX);
    return result;
}

/* ---- duplicated ---- */

static int duplicated(int from, int to) {
    trib_descriptor_shared(from);
    if (to >= 0)
        trib_descriptor_forget(to);
    return to;
}

TRIB_CALL int dup(int fd) {
    return duplicated(fd, TRIB_NEXT(dup)(fd));
}

TRIB_CALL int dup2(int fd, int to) {
    if (fd != to)
        trib_descriptor_ending(to);
    int result = TRIB_NEXT(dup2)(fd, to);
    return fd == to ? result : duplicated(fd, result);
}

TRIB_CALL int dup3(int fd, int to, int flags) {
    if (fd != to)
        trib_descriptor_ending(to);
    return duplicated(fd, TRIB_NEXT(dup3)(fd, to, flags));
}

/* EINVAL: the memory could be read and was no hint. RocksDB 7.8 gives the kernel the address of an enum, half of the
 * 64 bits that it wants, so that chance refuses it; the hint is meant all the same. */
static void hinted(int fd, const void *hint, int result) {
    if (result == 0)
        trib_descriptor_hinted(fd, *(const uint64_t *)hint);
    else if (errno == EINVAL)
        trib_descriptor_hinted(fd, *(const unsigned *)hint);
}

/* libc, too, reads a third argument whether there is one or not. */
TRIB_CALL int fcntl(int fd, int command, ...) {
    va_list rest;

    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    int result = TRIB_NEXT(fcntl)(fd, command, argument);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        return duplicated(fd, result);
    if (command == F_SETFL) /* perhaps O_APPEND */
        trib_descriptor_forget(fd);
    if (command == F_SET_RW_HINT || command == F_SET_FILE_RW_HINT)
        hinted(fd, argument, result);
    return result;
}
TRIB_SAME(fcntl) int fcntl64(int fd, int command, ...);

/* Puts /dev/null in place of 0, 1 and 2 inside libc. */
TRIB_CALL int daemon(int keep_folder, int keep_streams) {
    int result = TRIB_NEXT(daemon)(keep_folder, keep_streams);

    trib_descriptors_forget(0, 2);
    return result;
}

/* ---- moved ---- */

/* What libc's own lseek() becomes: stdio moves descriptors by it. */
off_t trib_lseek(int fd, off_t offset, int whence) {
    off_t result = trib_entry_lseek(fd, offset, whence);

    if (result >= 0)
        trib_descriptor_moved(fd, result);
    return result;
}

TRIB_CALL off_t lseek(int fd, off_t offset, int whence) {
    off_t result = TRIB_NEXT(lseek)(fd, offset, whence);

    if (result >= 0)
        trib_descriptor_moved(fd, result);
    return result;
}
TRIB_SAME(lseek) off64_t lseek64(int fd, off64_t offset, int whence);

/* A descriptor may go to another process, which moves it from then on. */
TRIB_CALL ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
    if (message && message->msg_controllen)
        trib_descriptors_shared();
    return TRIB_NEXT(sendmsg)(socket, message, flags);
}
