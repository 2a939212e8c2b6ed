/* SPDX-License-Identifier: Apache-2.0 */
/* What the shim learns of each write: native frames above the first of the JDK's libraries, then Java frames; of
 * threads that run no Java, or are inside the VM, the native path. Thread safety: any thread. Keeps errno. */
#ifndef TRIB_JVM_IDENTIFY_H
#define TRIB_JVM_IDENTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "shim.h"

/* Before the first write. Kept: `options` must outlive the process's writes. */
void trib_jvm_identify_as(const struct trib_jvm_options *options);

/* The VM has been met: whether frame pointers will do. */
void trib_jvm_identify_fast(void);

/* Code moved or classes went: what is known of chains is void. */
void trib_jvm_identify_forget(void);

trib_shim_identify trib_jvm_identify;

struct trib_jvm_counts {
    uint64_t writes;               /* all that were recorded */
    uint64_t java, native;         /* with Java frames, and without */
    uint64_t mapped;               /* pages; they go by who mapped them */
    uint64_t pieces;               /* that go with what was written before them */
    uint64_t asked;                /* of JVMTI */
    uint64_t hits, checked, wrong; /* of the fast path; checked against JVMTI */
    uint64_t signatures_lost;      /* that found no room in the list for people */
    /* Of one in 61 call paths, clock reading included; 0 = none yet. */
    double fast_median_ns, fast_p99_ns, asked_median_ns, asked_p99_ns;
    bool is_fast;
    char why_slow[96];
};
void trib_jvm_count(struct trib_jvm_counts *out);

#endif
