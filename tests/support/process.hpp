// SPDX-License-Identifier: Apache-2.0
// Runs a program as its users do: arguments as they are, no stream a terminal.
#pragma once

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/wait.h>
#include <vector>

#include "support/folder.hpp"

namespace trib_test {

struct Outcome {
    int code = -1; // -1: ended by a signal
    std::string out, err;
    nlohmann::ordered_json json() const {
        return nlohmann::ordered_json::parse(out);
    }
};

using Environment = std::map<std::string, std::string>;

inline std::string quoted(const std::string &text) {
    std::string safe = "'";
    for (char c : text)
        safe += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return safe + "'";
}

// The environment holds for the command alone, not for the shell that starts it.
inline Outcome run(const std::vector<std::string> &command, const Environment &environment = {}) {
    Folder folder;
    std::string line = "env -u TRIBUTARY_OPTIONS";
    for (const auto &[name, value] : environment)
        line += " " + quoted(name + "=" + value);
    for (const std::string &argument : command)
        line += " " + quoted(argument);
    line += " >" + quoted(folder / "out") + " 2>" + quoted(folder / "err") + " </dev/null";
    const int status = std::system(line.c_str());
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome.out = read_file(folder / "out");
    outcome.err = read_file(folder / "err");
    return outcome;
}

inline bool has(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

} // namespace trib_test
