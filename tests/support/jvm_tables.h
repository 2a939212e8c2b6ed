/* SPDX-License-Identifier: Apache-2.0 */
/* Threads at the JVM adapter's tables, which C++ cannot include: how often what came back was not what was put in. */
#ifndef TRIB_TEST_JVM_TABLES_H
#define TRIB_TEST_JVM_TABLES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

unsigned jvm_recall_wrong(unsigned threads, unsigned rounds);
unsigned jvm_tags_wrong(unsigned threads, unsigned names);

#ifdef __cplusplus
}
#endif
#endif
