/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of interposed calls share. */
#ifndef TRIB_PRELOAD_CALLS_H
#define TRIB_PRELOAD_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct iocb;
struct iovec;
struct msghdr;
struct open_how;

/* A regular file by its name, asked before a call that may end it. */
struct trib_named {
    uint64_t file, size_bytes, links;
};
/* False: not there, not a regular file, nobody listens, or nothing may be asked. flags of fstatat. Keeps errno. */
bool trib_named_look(int folder, const char *path, int flags, struct trib_named *out);

/* Before a descriptor is closed or replaced: records that and forgets it. */
void trib_descriptor_ending(int fd);

/* An alternate signal stack that was set before the start. By its thread. */
void trib_stack_start(void);

/* After a vfork, in the parent: reports the program that the child has started, if the shim will not see it. */
void trib_programs_report(void);

/* What syscall() does in place of the bare system call (calls/raw.c); as that, these are no cancellation points. */
long trib_raw_write(int fd, const void *buffer, size_t length);
long trib_raw_writev(int fd, const struct iovec *parts, int count);
long trib_raw_pwrite(int fd, const void *buffer, size_t length, off_t offset);
long trib_raw_pwritev(int fd, const struct iovec *parts, int count, off_t offset, long unused);
long trib_raw_copy_file_range(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t length,
                              unsigned flags);
long trib_raw_splice(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t length, unsigned flags);
long trib_raw_io_submit(unsigned long context, long count, struct iocb **requests);
long trib_raw_open(const char *path, int flags, mode_t mode);
long trib_raw_openat(int folder, const char *path, int flags, mode_t mode);
long trib_raw_openat2(int folder, const char *path, const struct open_how *how, size_t how_bytes);
long trib_raw_creat(const char *path, mode_t mode);
long trib_raw_close(int fd);
long trib_raw_fcntl(int fd, int command, void *argument);
long trib_raw_sendmsg(int socket, const struct msghdr *message, int flags);
long trib_raw_fsync(int fd);
long trib_raw_fdatasync(int fd);
long trib_raw_ftruncate(int fd, off_t length);
long trib_raw_fallocate(int fd, int mode, off_t offset, off_t length);
long trib_raw_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
long trib_raw_seccomp(unsigned operation, unsigned flags, void *arguments);

#endif
