/* SPDX-License-Identifier: Apache-2.0 */
/* What an application says of its writes beside their call path: a name for a table, a column family, a level
 * (io.tributary.Tributary.tag). A tagged path has the tag as a frame of its own. Thread safety: any thread. */
#ifndef TRIB_JVM_TAGS_H
#define TRIB_JVM_TAGS_H

#include <stdint.h>

#include <tributary/signature.h>

#define TRIB_TAGS_MAX 1000u

/* Of the calling thread, now; 0 = none. */
extern _Thread_local uint32_t trib_tag_here __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A number of 1 to TRIB_TAGS_MAX for `name`, the same each time; 0: no room for another name. */
uint32_t trib_tag_intern(const char *name);

/* The frame that stands for tag `number`. */
struct trib_frame trib_tag_frame(uint32_t number);

#endif
