// SPDX-License-Identifier: Apache-2.0
#include "common/option_text.h"

#include <algorithm>
#include <sstream>

#include "common/failure.h"

namespace cli {

void OptionText::set(const std::string &key, const std::string &value) {
    for (auto &item : items_)
        if (item.first == key) {
            item.second = value;
            return;
        }
    items_.emplace_back(key, value);
}

void OptionText::merge(const std::string &text, const std::string &head_key) {
    std::istringstream stream(text);
    std::string item;
    bool first = true;
    while (std::getline(stream, item, ',')) {
        size_t equals = item.find('=');
        if (equals != std::string::npos && equals > 0)
            set(item.substr(0, equals), item.substr(equals + 1));
        else if (first && !head_key.empty() && !item.empty() && equals == std::string::npos)
            set(head_key, item);
        else
            throw Failure(EXIT_USAGE, "'" + item + "' in '" + text + "' is not key=value; see trib options");
        first = false;
    }
}

void OptionText::erase(const std::string &key) {
    items_.erase(std::remove_if(items_.begin(), items_.end(), [&](const auto &i) { return i.first == key; }),
                 items_.end());
}

std::string OptionText::get(const std::string &key) const {
    for (const auto &item : items_)
        if (item.first == key)
            return item.second;
    return "";
}

bool OptionText::has(const std::string &key) const {
    return std::any_of(items_.begin(), items_.end(), [&](const auto &i) { return i.first == key; });
}

std::string OptionText::text() const {
    std::string out;
    for (const auto &item : items_)
        out += (out.empty() ? "" : ",") + item.first + "=" + item.second;
    return out;
}

} // namespace cli
