/* SPDX-License-Identifier: Apache-2.0 */
/* What HotSpot tells of itself to debuggers: the tables gHotSpotVMStructs and gHotSpotVMIntConstants that libjvm
 * exports in every release since 6. Read once; nothing is written. */
#ifndef TRIB_JVM_HOTSPOT_H
#define TRIB_JVM_HOTSPOT_H

#include <stdbool.h>
#include <stdint.h>

struct trib_hotspot {
    int thread_state; /* offset in JavaThread */
    int in_native;    /* value of it: the thread runs native code */
    int continuation; /* offset in JavaThread of its innermost virtual thread; -1 = this release has none */
    int stack_base;   /* offset in JavaThread; 0 = unknown */
    uintptr_t interpreter, interpreter_end; /* code of the interpreter; 0 = unknown */
    uintptr_t code, code_end;               /* of all that is compiled or generated; 0 = unknown */
    bool has_frame_pointers;                /* -XX:+PreserveFramePointer */
    bool may_have_virtual_threads;
};

/* 0; -ENOTSUP: another JVM, or one that tells less. `release` is the major number. */
int trib_hotspot_read(int release, struct trib_hotspot *out);

/* Where generated code lies; it is there only once the VM runs. */
void trib_hotspot_read_code(struct trib_hotspot *out);

#endif
