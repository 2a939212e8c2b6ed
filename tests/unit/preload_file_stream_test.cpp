// SPDX-License-Identifier: Apache-2.0
// The stream of a whole file.
#include "support/catch.hpp"

extern "C" {
#include "files/file_stream.h"
}

TEST_CASE("a file has the stream of most of its bytes") {
    uint64_t votes = 0;
    CHECK(trib_file_stream(votes) == 0);
    votes = trib_file_stream_vote(votes, 3, 4096);
    CHECK(trib_file_stream(votes) == 3);
    for (int i = 0; i < 40; i++) // small ones do not turn it
        votes = trib_file_stream_vote(votes, 5, 100);
    CHECK(trib_file_stream(votes) == 3);
    votes = trib_file_stream_vote(votes, 5, 100000);
    CHECK(trib_file_stream(votes) == 5);
    for (int i = 0; i < 1000; i++) { // in turn, three to one
        votes = trib_file_stream_vote(votes, 7, 30000);
        votes = trib_file_stream_vote(votes, 5, 10000);
    }
    CHECK(trib_file_stream(votes) == 7);
}

TEST_CASE("a long past can be outvoted") {
    uint64_t votes = 0;
    for (int i = 0; i < 1000; i++)
        votes = trib_file_stream_vote(votes, 1, 1ull << 30);
    votes = trib_file_stream_vote(votes, 2, TRIB_FILE_STREAM_LEAD_MAX + 1);
    CHECK(trib_file_stream(votes) == 2);
    votes = trib_file_stream_vote(votes, 9, UINT64_MAX); // no overflow into the stream
    CHECK(trib_file_stream(votes) == 9);
}
