// SPDX-License-Identifier: Apache-2.0
// Processes of a daemon, as tests make them.
#pragma once

#include <string>

#include <tributary/client.h>

namespace trib_test {

// 0 and a client that has joined, or what refused it.
inline int join_at(const std::string &address, trib_client **out) {
    trib_client *client = nullptr;
    int code = trib_client_open(&client, address.c_str(), nullptr);
    if (code == 0 && (code = trib_client_join(client)) != 0) {
        trib_client_close(client);
        return code;
    }
    if (code == 0)
        *out = client;
    return code;
}

inline trib_client *join(const std::string &address) {
    trib_client *client = nullptr;
    return join_at(address, &client) == 0 ? client : nullptr;
}

// What a process leaves that is killed between taking a place in its ring and filling it.
extern "C" bool trib_test_claim_without_publishing(trib_client *client, const trib_event *event);
inline bool claim_without_publishing(trib_client *client, const trib_event &event) {
    return trib_test_claim_without_publishing(client, &event);
}

// The first daemon that a client joined gets the event as it stands, time and all.
extern "C" bool trib_test_submit_as_is(trib_client *client, const trib_event *event);
inline bool submit_as_is(trib_client *client, const trib_event &event) {
    return trib_test_submit_as_is(client, &event);
}

// Records of its ring of texts. The module's key, which its paths name, also if it is not really put.
extern "C" bool trib_test_put_name(trib_client *client, uint64_t file, const char *path);
extern "C" void trib_test_put_lying_name(trib_client *client, uint64_t file, uint32_t claimed_bytes); // 8 are there
extern "C" bool trib_test_put_uncovered(trib_client *client, uint64_t why, const char *path);
extern "C" uint64_t trib_test_put_module(trib_client *client, const char *path, bool really);
extern "C" bool trib_test_put_signature(trib_client *client, uint64_t signature, uint64_t module_key);
extern "C" bool trib_test_put_deep_signature(trib_client *client, uint64_t signature, uint64_t module_key,
                                             uint32_t frames);
// What the process claims to have dropped, and the invariants that broke and names that were lost in it.
extern "C" void trib_test_claim_drops(trib_client *client, uint64_t events, uint64_t bytes);
extern "C" void trib_test_claim_broken(trib_client *client, uint32_t broken, uint32_t names_lost);
// What it says to have missed without a daemon: before it joins.
extern "C" void trib_test_claim_missed(trib_client *client, uint64_t events, uint64_t bytes);
// Gives the ring back, as closing does, while another thread is still inside a call.
extern "C" void trib_test_leave(trib_client *client);
// Which daemon it has joined.
extern "C" uint64_t trib_test_epoch(trib_client *client);
// When the daemon last gave a sign of life.
extern "C" uint64_t trib_test_heartbeat_ns(trib_client *client);
// Whether the daemon's table says that it knows a signature or a module.
extern "C" bool trib_test_is_known(trib_client *client, uint64_t key);
// As if the process had called exec: before it joins.
extern "C" void trib_test_set_image(trib_client *client, uint64_t image);
// How long it waits now after a join that failed; and as if that time were over.
extern "C" uint64_t trib_test_backoff_ns(trib_client *client);
extern "C" void trib_test_try_now(trib_client *client);
// As if the rings of former daemons had been left ten seconds ago.
extern "C" void trib_test_let_retired_age(trib_client *client);
// What it has mapped now.
extern "C" const void *trib_test_ring_memory(trib_client *client, uint64_t *bytes);
extern "C" const void *trib_test_table_memory(trib_client *client, uint64_t *bytes);
// Damages the memory of a client that has joined: 0 the ring, 1 the ring of texts, 2 where these are.
extern "C" void trib_test_spoil(trib_client *client, int what);

} // namespace trib_test
