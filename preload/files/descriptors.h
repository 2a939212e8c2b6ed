/* SPDX-License-Identifier: Apache-2.0 */
/* What the shim knows of each descriptor, so that no write pays for a question: which file, of what kind, at which
 * offset. An entry is filled when a descriptor is first written through and forgotten whenever its number may change
 * its meaning; a wrong guess in that direction costs one fstat.
 *
 * What is asked of the kernel, by raw calls and never once the program has locked itself in (quiet.h): fstat at a
 * descriptor's first write, which alone says which file it is; lseek for an offset that somebody else may have
 * moved, fstat for the end of a file that is appended to; fstatfs once for each device without a disk; F_GETFL and
 * readlinkat for a descriptor that nobody saw opened. Names come from the calls that open, or else from the kernel.
 *
 * Offset of write(): kept only where nobody else can move it: opened for writing alone, by this process, not for
 * appending, not duplicated, no child since. Everywhere else the kernel is asked after the write.
 *
 * Thread safety: any thread, signal handlers; no locks, no memory of its own but the slots (slots.h). In the child of a
 * vfork, which shares its parent's memory but not its descriptors, nothing is kept; names are its parent's until it
 * changes a descriptor of its own. Keeps errno. */
#ifndef TRIB_PRELOAD_DESCRIPTORS_H
#define TRIB_PRELOAD_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct trib_descriptor {
    int fd;
    bool appends;   /* O_APPEND: every write goes to the end, also a positioned one */
    bool nameless;  /* its data die when the descriptor is closed */
    bool in_memory; /* on tmpfs: mapped, it is shared memory and not storage */
    uint8_t kind;   /* enum trib_file_kind; known once named */
    uint8_t hint;   /* enum trib_write_hint, as the program gave it */
    uint64_t file;  /* trib_file_identity */
};

/* Whether the shim records writes through `fd`: a regular file, and the caller's frame is not of this library. */
bool trib_descriptor_look(int fd, const void *frame, struct trib_descriptor *out);

/* Before each event about it: sets out->kind; before the first records the name, if it was seen opened. A name that
 * does not fit goes with a later event, at the latest with the close; then it is counted as lost. */
void trib_descriptor_name(struct trib_descriptor *known);

/* Where hints are asked for (TRIBUTARY_HINTS=1): a write of `stream` joins the vote for the file's, which the kernel
 * receives as a write-life hint when it changes. */
void trib_descriptor_hint(const struct trib_descriptor *known, uint16_t stream, uint64_t length_bytes);

/* The program itself gave it a write-life hint. */
void trib_descriptor_hinted(int fd, uint64_t hint);

/* Where the `length` bytes that were just written at the descriptor's own position begin. */
uint64_t trib_descriptor_advance(const struct trib_descriptor *known, uint64_t length_bytes);
/* The same of bytes that went to the end of the file, by a call that does not move the position. */
uint64_t trib_descriptor_end(const struct trib_descriptor *known, uint64_t length_bytes);

/* How a descriptor came about. */
struct trib_opened {
    int flags;         /* of open(2) */
    int folder;        /* that `path` starts from: AT_FDCWD, or a descriptor */
    const char *path;  /* the kernel has accepted it; NULL: none */
    bool moves_unseen; /* stdio's, where nobody sees it move its offset */
};
/* fd was opened by this process, at offset 0. What is opened to be read alone is forgotten. */
void trib_descriptor_opened(int fd, const struct trib_opened *how);
/* `to` is the same open file from now on. -1 copies nothing; `from` is shared all the same. */
void trib_descriptor_copied(int from, int to);
void trib_descriptor_appends(int fd, bool appends); /* fcntl(F_SETFL) said so */
void trib_descriptor_moved(int fd, off_t offset);   /* lseek said so */
void trib_descriptor_shared(int fd);                /* somebody else may move it from now on */
void trib_descriptors_shared(void);                 /* all of them: a child came into being */

void trib_descriptor_forget(int fd);
void trib_descriptors_forget(unsigned first, unsigned last);

/* Marks the descriptors of a file that has lost its last name. False: nobody here has written through one. */
bool trib_descriptors_unnamed(uint64_t file);

/* A descriptor of the file that is open now and was written or mapped through, or -1. */
int trib_descriptor_of(uint64_t file);
/* The process ends: names that had no room so far get a last try. */
void trib_descriptors_settle(void);
/* In a child: its parent answers for files without a name, and for names that had no room. */
void trib_descriptors_inherited(void);

/* About to be closed: what to record. False if it was never written through. */
bool trib_descriptor_closing(int fd, struct trib_descriptor *out);
/* Each of first..last that was written through. */
void trib_descriptors_visit(unsigned first, unsigned last, void (*visit)(const struct trib_descriptor *known));
/* How often the number has been forgotten: the same before and after means the same open file. */
uint32_t trib_descriptor_life(int fd);

/* After a vfork, in the parent, on whose memory the child ran. */
void trib_descriptors_child_gone(void);

/* Set by vfork in the child's thread, which is also the parent's; cleared when the parent runs on. */
extern _Thread_local int trib_in_vfork __attribute__((tls_model("initial-exec"), visibility("hidden")));

#endif
