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

#include "calls/calls.h"
#include "files/descriptors.h"
#include "files/rings.h"
#include "libc/libc_entry.h"
#include "libc/next.h"
#include "libc/raw.h"
#include "record.h"
#include "sink.h"

/* ---- closed ---- */

static void record_closed(const struct trib_descriptor *known) {
    if (known->nameless)
        trib_record_death(known->file, 0, TRIB_LENGTH_TO_END, TRIB_CAUSE_UNLINK);
    else
        trib_record_sync(known->file, 0, TRIB_LENGTH_TO_END, TRIB_CAUSE_CLOSE);
}

/* Without a name, the data die with the last of the descriptors that this process has written through. */
static void record_ended(const struct trib_descriptor *was) {
    trib_descriptor_forget(was->fd);
    if (!was->nameless || !trib_descriptors_unnamed(was->file))
        record_closed(was);
}

/* Before the descriptor goes: its number may belong to another thread right after. */
void trib_descriptor_ending(int fd) {
    struct trib_descriptor known;

    if (trib_sink_wanted() && trib_descriptor_closing(fd, &known))
        record_ended(&known);
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
    trib_descriptor_copied(from, to);
    return to;
}

TRIB_CALL int dup(int fd) {
    return duplicated(fd, TRIB_NEXT(dup)(fd));
}

/* A number that is replaced is closed by that, if the call succeeds. */
static int replaced(int from, int result, const struct trib_descriptor *was) {
    if (result >= 0 && was->fd >= 0)
        record_ended(was);
    return duplicated(from, result);
}

static struct trib_descriptor look_replaced(int from, int to) {
    struct trib_descriptor was;

    if (from == to || !trib_sink_wanted() || !trib_descriptor_closing(to, &was))
        was.fd = -1;
    return was;
}

TRIB_CALL int dup2(int fd, int to) {
    struct trib_descriptor was = look_replaced(fd, to);

    return replaced(fd, TRIB_NEXT(dup2)(fd, to), &was);
}

TRIB_CALL int dup3(int fd, int to, int flags) {
    struct trib_descriptor was = look_replaced(fd, to);

    return replaced(fd, TRIB_NEXT(dup3)(fd, to, flags), &was);
}

/* EINVAL: the memory could be read and was no hint. RocksDB 7.8 gives the kernel the address of an enum, half of the
 * 64 bits that it wants, so that chance refuses it; the hint is meant all the same. F_SET_FILE_RW_HINT says EINVAL
 * without a look where the kernel no longer has it. */
static void hinted(int fd, int command, const void *hint, int result) {
    if (result == 0)
        trib_descriptor_hinted(fd, *(const uint64_t *)hint);
    else if (command == F_SET_RW_HINT && errno == EINVAL)
        trib_descriptor_hinted(fd, *(const unsigned *)hint);
}

/* What a call that succeeded has changed; `argument` is a pointer only where the kernel has read it. */
static int controlled(int fd, int command, void *argument, int result) {
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
        return duplicated(fd, result);
    if (command == F_SETFL && result == 0)
        trib_descriptor_appends(fd, (uintptr_t)argument & O_APPEND);
    if (command == F_SET_RW_HINT || command == F_SET_FILE_RW_HINT)
        hinted(fd, command, argument, result);
    return result;
}

/* libc, too, reads a third argument whether there is one or not. */
TRIB_CALL int fcntl(int fd, int command, ...) {
    va_list rest;

    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return controlled(fd, command, argument, TRIB_NEXT(fcntl)(fd, command, argument));
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

/* ---- sent ---- */

/* A descriptor may go to another process, which moves it from then on. Looked at once the kernel has read it. */
static void sent(const struct msghdr *message, ssize_t result) {
    if (result >= 0 && message->msg_controllen)
        trib_descriptors_shared();
}

TRIB_CALL ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
    ssize_t result = TRIB_NEXT(sendmsg)(socket, message, flags);

    sent(message, result);
    return result;
}

TRIB_CALL int sendmmsg(int socket, struct mmsghdr *messages, unsigned count, int flags) {
    int result = TRIB_NEXT(sendmmsg)(socket, messages, count, flags);

    for (int i = 0; i < result; i++)
        sent(&messages[i].msg_hdr, 0);
    return result;
}

/* ---- by number: calls/raw.c ---- */

long trib_raw_close(int fd) {
    trib_descriptor_ending(fd);
    trib_descriptor_forget(fd);
    return trib_syscall(SYS_close, fd);
}

long trib_raw_fcntl(int fd, int command, void *argument) {
    return controlled(fd, command, argument, (int)trib_syscall(SYS_fcntl, fd, command, argument));
}

long trib_raw_sendmsg(int socket, const struct msghdr *message, int flags) {
    long result = trib_syscall(SYS_sendmsg, socket, message, flags);

    sent(message, result);
    return result;
}
