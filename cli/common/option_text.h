// SPDX-License-Identifier: Apache-2.0
// Option texts ("key=value,key=value") put together from several flags: a later value replaces an
// earlier one, keys keep the order of their first appearance. The core checks names and values;
// here only the shape. One owner.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cli {

class OptionText {
  public:
    void set(const std::string &key, const std::string &value);
    // A first word without '=' is the value of `head_key` ("pcstream,distance=log" with head_key
    // "policy"). Throws Failure (usage) for an item without '='.
    void merge(const std::string &text, const std::string &head_key = "");
    void erase(const std::string &key);
    std::string get(const std::string &key) const; // "" when absent
    bool has(const std::string &key) const;
    std::string text() const;

  private:
    std::vector<std::pair<std::string, std::string>> items_;
};

} // namespace cli
