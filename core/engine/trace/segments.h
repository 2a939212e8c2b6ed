/* SPDX-License-Identifier: Apache-2.0 */
/* The files of one recording: NAME is the one being written or written last, NAME.1 the one before it, and so on. A
 * recording that outgrows a file goes on in the next; each file says which recording it belongs to and which number it
 * has (docs/formats/trace.md, "Recordings of several files"). Thread safety: one owner per path, which holds the lock
 * of NAME. Private to the trace room. */
#ifndef TRIB_TRACE_SEGMENTS_H
#define TRIB_TRACE_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <tributary/error.h>

#include "trace/trace.h"

#define TRIB_TRACE_PATH_BYTES 4096u

struct trib_trace_segment {
    uint64_t recording; /* random; 0: a file that belongs to none, as of older writers */
    uint64_t number;    /* from 0 */
};

/* A path taken apart: "t.trib.3" is file 3 of "t.trib", "t.trib" its file 0. */
struct trib_trace_name {
    char base[TRIB_TRACE_PATH_BYTES];
    uint32_t suffix;
};

/* 0 or -ENAMETOOLONG. */
int trib_trace_name_split(struct trib_trace_name *out, const char *path);
int trib_trace_name_of(char path[TRIB_TRACE_PATH_BYTES], const char *base, uint32_t suffix);

/* Moves NAME.1 ... up by one and NAME to NAME.1; of `keep` old files the last is deleted first. Nothing is touched that
 * is not a trace or that somebody writes. 0; -EEXIST, -EBUSY, -errno with a sentence that says what to do. */
int trib_trace_segments_rotate(const char *path, uint32_t keep, struct trib_error *error);

/* Takes back the last step of a rotation: NAME.1 is NAME again. 0 or -errno. */
int trib_trace_segments_return(const char *path);

/* Which segment begins at byte `start` of an open file; {0, 0} if it does not say, or is damaged. `room` is for its
 * first block, TRIB_TRACE_BLOCK_HEADER_BYTES + TRIB_TRACE_PAYLOAD_BYTES. */
struct trib_trace_segment trib_trace_segment_of(int fd, off_t start, uint8_t *room);

/* Opens the file of `base` that holds `wanted`, looking from `suffix` upwards, which is where rotation moves files;
 * sets `suffix` to where it was. The descriptor, or -ENOENT. */
int trib_trace_segment_open(const char *base, uint32_t *suffix, const struct trib_trace_segment *wanted, uint8_t *room);

#endif
