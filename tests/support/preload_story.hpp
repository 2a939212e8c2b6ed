// SPDX-License-Identifier: Apache-2.0
// A deed of preload_story_*.c under the shim, alone or in a session, and what was said of it.
#pragma once
#include "support/catch.hpp"

#include "support/preload.hpp"

namespace trib_test {

using Lines = std::vector<std::string>;

struct Story {
    Folder folder; // of the deeds
    Folder traces;
    Outcome outcome;
    Said said;

    Story(const std::string &name, bool session, bool may_lose = false) {
        const std::vector<std::string> command = {PRELOAD_STORY, name, folder.file("")};
        const std::string trace = traces.file("trace");
        outcome = session ? run_in_session(command, trace) : run_alone(command, trace);
        INFO(name << ": " << outcome.err);
        REQUIRE((outcome.code == 0 || outcome.code == 77));
        if (outcome.code == 0)
            said = read_said(trace);
        CHECK((!said.has_gap || may_lose));
    }
    bool skipped() const {
        if (outcome.code == 77)
            skip("the program says that the machine cannot do it");
        return outcome.code == 77;
    }
    Lines of(const std::string &name) const {
        const auto found = said.of.find(name);
        return found == said.of.end() ? Lines{} : found->second;
    }
};

} // namespace trib_test
