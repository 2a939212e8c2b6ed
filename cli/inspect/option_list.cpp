// SPDX-License-Identifier: Apache-2.0
#include "inspect/option_list.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <string>

#include "common/table.h"

namespace cli {

namespace {

const char *type_name(trib_option_type type) {
    switch (type) {
    case TRIB_OPTION_BOOL:
        return "on or off";
    case TRIB_OPTION_U32:
    case TRIB_OPTION_U64:
        return "number";
    case TRIB_OPTION_SIZE:
        return "size";
    case TRIB_OPTION_DOUBLE:
        return "number";
    case TRIB_OPTION_PERCENT:
        return "percent";
    case TRIB_OPTION_ENUM:
        return "one of";
    case TRIB_OPTION_FLAGS:
        return "any of";
    case TRIB_OPTION_TEXT:
        return "text";
    }
    return "text";
}

std::string limit(const trib_option_spec &spec, double value) {
    if (spec.type == TRIB_OPTION_SIZE)
        return size_option(static_cast<uint64_t>(value));
    return fmt::format("{:.10g}", value);
}

bool is_bounded(const trib_option_spec &spec) {
    return spec.minimum != 0 || spec.maximum != 0;
}

std::string joined(std::string choices, const std::string &separator) {
    for (size_t at = 0; (at = choices.find('|', at)) != std::string::npos; at += separator.size())
        choices.replace(at, 1, separator);
    return choices;
}

std::string fallback_text(const trib_option_spec &spec) {
    if (!spec.fallback)
        return "";
    return *spec.fallback ? spec.fallback : "(empty)";
}

} // namespace

std::string option_values(const trib_option_spec &spec) {
    std::string text = type_name(spec.type);
    if (spec.choices)
        return text + " " + joined(spec.choices, spec.type == TRIB_OPTION_FLAGS ? "+" : " ");
    if (is_bounded(spec))
        text += fmt::format(" {} to {}", limit(spec, spec.minimum), limit(spec, spec.maximum));
    return text;
}

std::string options_text(const trib_option_spec *specs) {
    std::string out;
    for (; specs && specs->key; specs++) {
        std::string fallback = fallback_text(*specs);
        std::string value = option_values(*specs) + (fallback.empty() ? "" : "; default " + fallback);
        out += wrapped(fmt::format("  {:<16} ", specs->key), specs->help ? specs->help : "");
        out += wrapped(std::string(19, ' '), value);
    }
    return out;
}

std::string options_markdown(const trib_option_spec *specs) {
    std::string out = "| key | values | default | meaning |\n|---|---|---|---|\n";
    for (; specs && specs->key; specs++)
        out += fmt::format("| `{}` | {} | {} | {} |\n", specs->key, option_values(*specs), fallback_text(*specs),
                           specs->help ? specs->help : "");
    return out;
}

Json options_json(const trib_option_spec *specs) {
    Json list = Json::array();
    for (; specs && specs->key; specs++) {
        Json json = {{"key", specs->key}, {"type", type_name(specs->type)}};
        json["choices"] = Json::array();
        std::string choices = specs->choices ? specs->choices : "";
        for (size_t from = 0, to; !choices.empty() && from <= choices.size(); from = to + 1) {
            to = std::min(choices.find('|', from), choices.size());
            json["choices"].push_back(choices.substr(from, to - from));
        }
        json["default"] = specs->fallback ? Json(specs->fallback) : Json(nullptr);
        json["minimum"] = is_bounded(*specs) ? Json(specs->minimum) : Json(nullptr);
        json["maximum"] = is_bounded(*specs) ? Json(specs->maximum) : Json(nullptr);
        json["help"] = specs->help ? specs->help : "";
        list.push_back(std::move(json));
    }
    return list;
}

} // namespace cli
