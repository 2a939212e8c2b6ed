// SPDX-License-Identifier: Apache-2.0
// The module map: names that keep their index, and a loader that cannot be asked for an address.
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "signature/loader.h"
#include "signature/modules.h"

#include "support/catch.hpp"
#include "support/signature_oracle.hpp"
#include "support/signature_paths.h"

namespace {

__attribute__((noinline)) void take(void *arg) {
    *static_cast<uint64_t *>(arg) = trib_signature_capture(TRIB_FRAME_HERE(), TRIB_SIGNATURE_DEPTH_DEFAULT);
}

__attribute__((noinline)) uint64_t along(const char *program) {
    uint64_t signature = 0;
    signature_path(program, 1, take, &signature);
    return signature;
}

uint32_t named(unsigned number) {
    struct trib_frame frame = {};
    const std::string name = "java:pkg.Class.method" + std::to_string(number) + "()V";
    return trib_signature_named_frame(name.c_str(), &frame) == 0 ? frame.module : UINT32_MAX;
}

using PluginCall = void (*)(signature_leaf *, void *);

__attribute__((noinline)) uint64_t through(PluginCall call) {
    uint64_t signature = 0;
    call(take, &signature);
    __asm__ volatile("" : : : "memory");
    return signature;
}

} // namespace

TEST_CASE("threads that name the same modules at once get the same indexes") {
    constexpr unsigned kNames = 300;
    std::vector<std::vector<uint32_t>> index(4);
    std::vector<std::thread> threads;
    for (auto &mine : index)
        threads.emplace_back([&mine] {
            for (unsigned i = 0; i < kNames; i++)
                mine.push_back(named(i));
        });
    for (auto &thread : threads)
        thread.join();
    for (unsigned i = 0; i < kNames; i++) {
        struct trib_module module;
        REQUIRE(index[0][i] != UINT32_MAX);
        REQUIRE(trib_signature_module(index[0][i], &module) == 0);
        CHECK(std::string(module.path) == "java:pkg.Class.method" + std::to_string(i));
        for (const auto &other : index)
            CHECK(other[i] == index[0][i]);
        for (unsigned before = 0; before < i; before++)
            REQUIRE(index[0][before] != index[0][i]);
    }
    struct trib_signature_stats stats;
    trib_signature_statistics(&stats);
    CHECK(stats.modules >= kNames);
    CHECK(stats.modules < kNames + 50);
}

TEST_CASE("a segment that was found once is found in the map again, and is confirmed") {
    struct trib_segment first, second;
    const auto address = reinterpret_cast<uintptr_t>(&take);
    REQUIRE(trib_modules_find(address, &first));
    REQUIRE(trib_modules_find(address + 1, &second));
    REQUIRE(first.index != TRIB_SEGMENT_NONE);
    CHECK(second.index == first.index);
    CHECK(second.build_id_hash == first.build_id_hash);
    REQUIRE(trib_modules_segment(first.index));
    CHECK(trib_modules_segment(first.index)->base == first.base);
    CHECK(trib_modules_confirm(first.index, address));
    CHECK(trib_modules_segment(TRIB_SEGMENTS_MAX - 1) == nullptr);
}

TEST_CASE("a library that went is not confirmed, and voids what was remembered") {
    void *handle = dlopen(SIGNATURE_PLUGIN, RTLD_NOW);
    REQUIRE(handle);
    const auto address = reinterpret_cast<uintptr_t>(dlsym(handle, "signature_plugin_call"));
    struct trib_segment segment;
    REQUIRE(trib_modules_find(address, &segment));
    CHECK(trib_modules_confirm(segment.index, address));
    const uint32_t generation = trib_modules_generation;
    dlclose(handle);
    CHECK_FALSE(trib_modules_find(address, &segment));
    CHECK_FALSE(trib_modules_confirm(segment.index, address));
    CHECK(trib_modules_generation != generation);
}

TEST_CASE("without _dl_find_object signatures are the same, and new libraries wait for the call") {
    uint64_t signature[2] = {0, 0}, plugin[3] = {0, 0, 0};
    void *handle = nullptr;
    for (volatile int old_loader = 0; old_loader < 2; old_loader = old_loader + 1) { // one call site
        trib_loader_forget_find(old_loader == 1);
        trib_signature_modules_changed();
        signature[old_loader] = along("abcdef");
    }
    CHECK(signature[0] != TRIB_SIGNATURE_UNKNOWN);
    CHECK(signature[0] == signature[1]);
    for (volatile int turn = 0; turn < 3; turn = turn + 1) {
        if (turn == 0)
            handle = dlopen(SIGNATURE_PLUGIN, RTLD_NOW);
        if (turn == 1)
            trib_signature_modules_changed();
        if (turn == 2)
            trib_loader_forget_find(false);
        REQUIRE(handle);
        plugin[turn] = through(reinterpret_cast<PluginCall>(dlsym(handle, "signature_plugin_call")));
    }
    CHECK(plugin[0] == TRIB_SIGNATURE_UNKNOWN); // its first frame lies in no known file
    CHECK(plugin[1] != TRIB_SIGNATURE_UNKNOWN);
    CHECK(plugin[1] == plugin[2]);
    trib_loader_forget_find(true);
    dlclose(handle);
    trib_signature_modules_changed();
    struct trib_frame frame;
    struct trib_module module;
    struct trib_segment segment;
    REQUIRE(trib_signature_frames(plugin[1], &frame, 1) >= 1);
    REQUIRE(trib_signature_module(frame.module, &module) == 0); // people can still be told of it
    CHECK(std::string(module.path) == SIGNATURE_PLUGIN);
    CHECK_FALSE(trib_modules_find(reinterpret_cast<uintptr_t>(&module), &segment));
    trib_loader_forget_find(false);
    trib_signature_modules_changed();
}

TEST_CASE("more names than there is room for are refused, and their frames are right all the same") {
    struct trib_frame frame = {}, again = {};
    unsigned number = 100000;
    while (named(number) != UINT32_MAX && number < 110000)
        number++;
    CHECK(number < 100000 + TRIB_MODULES_KNOWN_MAX + 1);
    CHECK(trib_signature_named_frame("java:one.more", &frame) == -ENOSPC);
    CHECK(trib_signature_named_frame("java:one.more", &again) == -ENOSPC);
    CHECK(frame.build_id == again.build_id);
    CHECK(named(100000) != UINT32_MAX); // those that are there stay
}
