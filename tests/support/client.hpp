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

} // namespace trib_test
