// SPDX-License-Identifier: Apache-2.0
// Stands for the shim where only the write-buffer hook is tested.
#include "support/buffer_hook.hpp"

#include <atomic>

extern "C" {
std::atomic<int> trib_quiet_calls; // preload/quiet.h, which C++ cannot read
thread_local int trib_quiet_child;

void *trib_copies_first(const char *) { // preload/copies.h: there is no other copy
    return nullptr;
}
}

void trib_shim_name_signature(uint64_t) {
}

uint64_t trib_shim_identify_native(const trib_shim_write *write, trib_context *who) {
    who->signature = trib_test::kNativeSignature;
    return write->length_bytes;
}
