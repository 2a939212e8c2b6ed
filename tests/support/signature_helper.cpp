// SPDX-License-Identifier: Apache-2.0
// Prints where its code is loaded and the signatures of a few call paths: "name value" lines.
// argv[1]: a plugin.
#include <dlfcn.h>
#include <tributary/signature.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <thread>

#include "support/signature_paths.h"

namespace {

__attribute__((noinline)) void take(void *arg) {
    *static_cast<uint64_t *>(arg) = trib_signature_capture(TRIB_FRAME_HERE(), TRIB_SIGNATURE_DEPTH_MAX);
}

void show(const char *name, uint64_t signature) {
    printf("%s %" PRIx64 "\n", name, signature);
}

uint64_t along(const char *program) {
    uint64_t signature = 0;
    signature_path(program, 5, take, &signature);
    return signature;
}

} // namespace

int main(int argc, char **argv) {
    fprintf(stderr, "%p\n", reinterpret_cast<void *>(&take));
    for (const char *program : {"a", "b", "abcdefg", "gfedcba", "cccddd", "eeeeeeee"})
        show(program, along(program));
    std::thread([] { show("thread", along("abc")); }).join();
    static uint64_t sorted;
    int pair[2] = {2, 1};
    qsort(pair, 2, sizeof *pair, [](const void *, const void *) {
        sorted = along("ab");
        return 0;
    });
    show("qsort", sorted);
    if (argc > 1) {
        void *plugin = dlopen(argv[1], RTLD_NOW);
        auto call = plugin
                        ? reinterpret_cast<void (*)(signature_leaf *, void *)>(dlsym(plugin, "signature_plugin_call"))
                        : nullptr;
        uint64_t signature = 0;
        if (!call)
            return 1;
        call(take, &signature);
        show("plugin", signature);
    }
    return 0;
}
