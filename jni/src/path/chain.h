/* SPDX-License-Identifier: Apache-2.0 */
/* The raw chain of frame pointers as a key: equal chains mean equal Java stacks, for as long as no code moves. Needs
 * a JVM that keeps frame pointers (-XX:+PreserveFramePointer). Frames of the interpreter count with their method,
 * because all of them return to the same few places. Nothing that is read is followed but frame pointers inside the
 * thread's stack.
 *
 * There is no key, and the caller asks JVMTI, when the chain does not lead out of Java again (a library without
 * frame pointers broke it), or in a virtual thread, of which only the upper frames may be on the stack. Thread
 * safety: any thread, about itself. */
#ifndef TRIB_JVM_CHAIN_H
#define TRIB_JVM_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#define TRIB_CHAIN_FRAMES_MAX 96u /* of a longer one nothing is kept */

/* A chain as it lay on this thread's stack. Comparing needs no word of it to find the next, which walking does. */
struct trib_chain {
    unsigned count; /* 0 = nothing is kept */
    unsigned methods;
    struct {
        uintptr_t at, place; /* where the frame pointer is kept; the return address beside it */
    } frame[TRIB_CHAIN_FRAMES_MAX];
    struct {
        uintptr_t at, method;
    } interpreted[TRIB_CHAIN_FRAMES_MAX];
};

/* Whether this JVM's frames can be chained at all; why not, else. */
bool trib_chain_possible(char why[96]);

/* `frame` is the interposed function's, `thread` trib_vm_thread. `kept` may be NULL. */
bool trib_chain_key(const void *frame, const char *thread, uint64_t *key, struct trib_chain *kept);

/* The stack of this thread holds that very chain now, which begins at `frame`. */
bool trib_chain_is(const struct trib_chain *kept, const void *frame, const char *thread);

#endif
