/* SPDX-License-Identifier: Apache-2.0 */
/* A library to dlopen. Built twice with the same code and different build-ids. */
#include "signature_paths.h"

__attribute__((visibility("default"))) void signature_plugin_call(signature_leaf *leaf, void *arg);

void signature_plugin_call(signature_leaf *leaf, void *arg) {
    leaf(arg);
    __asm__ volatile("" : : : "memory");
}
