// SPDX-License-Identifier: Apache-2.0
#include "record/top.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

#include <tributary/signature.h>
#include <tributary/status.h>

#include "common/failure.h"
#include "common/table.h"
#include "record/address.h"
#include "record/daemon.h"
#include "record/lost.h"

namespace cli {

namespace {

double number(const Json &row, const char *key) {
    return row.value(key, 0.0);
}

std::string bytes_text(const Json &row, const char *key) {
    return size_text(number(row, key));
}

std::string pages_text(const Json &row, const char *key) {
    return size_text(number(row, key) * TRIB_BLOCK_BYTES);
}

std::string counted_of(const Json &status, const char *key, const char *word) {
    return counted(static_cast<uint64_t>(number(status, key)), word);
}

std::string text_of(const Json &status, const char *key) {
    return printable(status.value(key, std::string()));
}

// Nibbles of a build-id; what is no such text gives an empty one.
void read_build_id(const std::string &text, trib_module &module) {
    unsigned byte = 0;
    for (size_t i = 0; i + 1 < text.size() && module.build_id_bytes < sizeof module.build_id; i += 2)
        if (std::sscanf(text.c_str() + i, "%2x", &byte) == 1)
            module.build_id[module.build_id_bytes++] = static_cast<uint8_t>(byte);
}

// "module!function+0x12" -> "function"; without a function it stays.
std::string function_of(const std::string &text) {
    const size_t mark = text.find('!');
    if (mark == std::string::npos)
        return text;
    const std::string function = text.substr(mark + 1);
    return function.substr(0, function.rfind("+0x"));
}

std::vector<Json> sorted_paths(const Json &status, TopOrder order) {
    std::vector<Json> rows = status.value("paths", Json::array());
    const char *key = order == TopOrder::lifetime ? "lifetime_bytes" : "stream";
    if (order != TopOrder::bytes) // as they come
        std::stable_sort(rows.begin(), rows.end(), [&](const Json &a, const Json &b) {
            return order == TopOrder::lifetime ? number(a, key) > number(b, key) : number(a, key) < number(b, key);
        });
    return rows;
}

void add_lines(std::vector<std::string> &lines, const std::string &text) {
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
        lines.push_back(text.substr(at, end - at));
}

void add_table(std::vector<std::string> &lines, const std::string &title, const Table &table, const TopPage &page) {
    lines.emplace_back();
    lines.push_back(title);
    add_lines(lines, table.text(false, page.width));
}

size_t shown(size_t count, const TopPage &page) {
    return page.rows ? std::min(page.rows, count) : count;
}

void add_paths(std::vector<std::string> &lines, const Json &status, const TopPage &page, Symbols &symbols) {
    Table table(
        {{"written"}, {"live"}, {"lifetime"}, {"stream"}, {"kind", Align::left}, {"call path", Align::left, true}});
    const std::vector<Json> rows = sorted_paths(status, page.order);
    const size_t count = shown(rows.size(), page);
    for (size_t i = 0; i < count; i++) {
        const Json &row = rows[i];
        const double lifetime = number(row, "lifetime_bytes");
        table.add({bytes_text(row, "written_bytes"), bytes_text(row, "live_bytes"),
                   lifetime > 0 ? size_text(lifetime) : "-", fmt::format("S{:.0f}", number(row, "stream")),
                   file_kind_name(static_cast<uint8_t>(number(row, "file_kind"))), symbols.path_of(row)});
    }
    const char *names[] = {"bytes", "lifetime", "stream"};
    add_table(lines,
              fmt::format("CALL PATHS  {} of {}, by {}", count, number(status, "paths_total"),
                          names[static_cast<int>(page.order)]),
              table, page);
}

void add_streams(std::vector<std::string> &lines, const Json &status, const TopPage &page) {
    Table table(
        {{"stream", Align::left}, {"written"}, {"copied out"}, {"copied in"}, {"valid"}, {"superblocks"}, {"WAF"}});
    const Json rows = status.value("streams", Json::array());
    const size_t count = shown(rows.size(), page);
    for (size_t i = 0; i < count; i++) {
        const Json &row = rows[i];
        const bool internal = row.value("internal", false);
        const double waf = number(row, "waf");
        table.add({fmt::format("{}{:.0f}", internal ? "GC" : "S", number(row, "stream")), pages_text(row, "host_pages"),
                   pages_text(row, "gc_pages_out"), pages_text(row, "gc_pages_in"), pages_text(row, "valid_pages"),
                   grouped(static_cast<uint64_t>(number(row, "superblocks"))), waf > 0 ? fixed(waf, 3) : "-"});
    }
    add_table(lines, fmt::format("STREAMS  {}", rows.size()), table, page);
}

void add_processes(std::vector<std::string> &lines, const Json &status, const TopPage &page) {
    Table table({{"pid"}, {"user"}, {"events"}, {"written"}, {"lost"}, {"lost bytes"}, {"program", Align::left, true}});
    const Json rows = status.value("producers", Json::array());
    const size_t count = shown(rows.size(), page);
    for (size_t i = 0; i < count; i++) {
        const Json &row = rows[i];
        const double pid = number(row, "pid");
        std::string program = text_of(row, "program");
        program.erase(0, program.rfind('/') + 1); // the end tells more than the beginning
        if (row.value("damaged", false))
            program += " (ring damaged)";
        if (number(row, "broken") > 0)
            program += " (gave up)";
        table.add({pid > 0 ? fmt::format("{:.0f}", pid) : "?", fmt::format("{:.0f}", number(row, "user")),
                   grouped(static_cast<uint64_t>(number(row, "events"))), bytes_text(row, "bytes"),
                   grouped(static_cast<uint64_t>(number(row, "events_dropped"))), bytes_text(row, "bytes_dropped"),
                   program});
    }
    add_table(lines, fmt::format("PROCESSES  {} of {} joined now", count, number(status, "producers_total")), table,
              page);
}

void add_head(std::vector<std::string> &lines, const Json &status, const std::string &address) {
    const auto up = static_cast<unsigned>(number(status, "uptime_seconds"));
    const double waf = number(status, "waf");
    std::string text = wrapped("daemon    ", fmt::format("{}, pid {:.0f}, up {}:{:02}:{:02}{}", printable(address),
                                                         number(status, "pid"), up / 3600, up / 60 % 60, up % 60,
                                                         number(status, "paused") > 0 ? ", PAUSED" : ""));
    text += wrapped("drive     ",
                    fmt::format("{} under policy {}: placement {} ({})", text_of(status, "drive"),
                                text_of(status, "policy"), text_of(status, "placement"), text_of(status, "evidence")));
    text +=
        wrapped("written   ", fmt::format("{} in {}, WAF {}", bytes_text(status, "written_bytes"),
                                          counted_of(status, "events", "event"), waf > 0 ? fixed(waf, 3) : "unknown"));
    text += wrapped("lost      ",
                    fmt::format("{} ({}); {} refused", counted_of(status, "events_dropped", "event"),
                                bytes_text(status, "bytes_dropped"), counted_of(status, "joins_refused", "join")));
    const double uncovered = number(status, "starts_uncovered");
    if (uncovered > 0)
        text += wrapped("uncovered ", fmt::format("{}: {}", counted_of(status, "starts_uncovered", "start"),
                                                  text_of(status, "uncovered")));
    const auto refused = static_cast<uint64_t>(number(status, "drive_errors"));
    if (refused)
        text += wrapped("errors    ",
                        fmt::format("{} of the drive: {}", grouped(refused), drive_advice(text_of(status, "drive"))));
    const std::string stopped = text_of(status, "trace_stopped");
    if (!stopped.empty())
        text += wrapped("trace     ", "stopped: " + stopped);
    add_lines(lines, text);
}

} // namespace

std::string Symbols::name_of(const Json &frame) {
    const std::string path = frame.value("module", std::string());
    const uint64_t offset = frame.value("offset", uint64_t{0});
    auto [known, is_new] = names_.try_emplace({path, offset});
    if (!is_new)
        return known->second;
    trib_module module = {};
    char text[512];
    std::snprintf(module.path, sizeof module.path, "%s", path.c_str());
    read_build_id(frame.value("build_id", std::string()), module);
    trib_signature_symbolise(&module, offset, text, sizeof text);
    return known->second = printable(function_of(text));
}

std::string Symbols::path_of(const Json &row) {
    std::string text;
    for (const Json &frame : row.value("frames", Json::array()))
        text += (text.empty() ? "" : " < ") + name_of(frame);
    return text.empty() ? row.value("signature", std::string("?")) : text;
}

std::vector<std::string> top_lines(const Json &status, const std::string &address, const TopPage &page,
                                   Symbols &symbols) {
    std::vector<std::string> lines;
    add_head(lines, status, address);
    add_paths(lines, status, page, symbols);
    add_streams(lines, status, page);
    add_processes(lines, status, page);
    return lines;
}

Json top_status(const std::string &address) {
    try {
        return Json::parse(ask_status(address, TRIB_STATUS_JSON));
    } catch (const Json::exception &) {
        throw Failure(EXIT_RUNTIME, address + ": its answer is not a status; a daemon of another version?");
    }
}

int top(const TopOptions &options) {
    const std::string address = daemon_address(options.name, false);
    if (!options.once && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO))
        return top_screen(address, options.interval_seconds);
    Symbols symbols;
    std::string text;
    for (const std::string &line : top_lines(top_status(address), address, TopPage(), symbols))
        text += line + "\n";
    write_text(text, "");
    return EXIT_OK;
}

} // namespace cli
