// SPDX-License-Identifier: Apache-2.0
// `trib inspect --events`: each item of a trace on a line, for people or as JSON lines.
#include <fmt/format.h>

#include <tributary/page.h>

#include "common/json.h"
#include "inspect/inspect.h"
#include "source/trace_file.h"

namespace cli {

namespace {

std::string length_text(uint64_t length_bytes) {
    return length_bytes == TRIB_LENGTH_TO_END ? "end" : std::to_string(length_bytes);
}

std::string event_text(const trib_event &event) {
    std::string text = fmt::format("{:>14} {:<6} file {:016x} {}+{}", event.clock_bytes, event_kind_name(event.kind),
                                   event.file, event.offset_bytes, length_text(event.length_bytes));
    if (event.cause != TRIB_CAUSE_NONE)
        text += fmt::format(" {}", cause_name(event.cause));
    if (event.kind != TRIB_EVENT_WRITE)
        return text;
    text += fmt::format(" by {:016x} {}", event.who.signature, file_kind_name(event.who.file_kind));
    if (event.who.write_hint != TRIB_HINT_NOT_SET)
        text += fmt::format(" {}", write_hint_name(event.who.write_hint));
    if (trib_page_is(&event.who))
        text += fmt::format(" {} page, 2^{} modifications", trib_page_class_name(trib_page_class_of(&event.who)),
                            trib_page_logarithm_of(&event.who));
    if (event.who.level != TRIB_LEVEL_UNKNOWN)
        text += fmt::format(" L{}", event.who.level);
    if (event.stream != TRIB_STREAM_UNDECIDED)
        text += fmt::format(" S{}", event.stream);
    return text;
}

std::string item_text(const trib_trace_item &item) {
    switch (item.kind) {
    case TRIB_TRACE_EVENT:
        return event_text(item.event);
    case TRIB_TRACE_NAME:
        return fmt::format("name   {:016x} {}", item.id, item.text);
    case TRIB_TRACE_MODULE:
        return fmt::format("module {} {}", item.module_index, item.module.path);
    case TRIB_TRACE_SIGNATURE:
        return fmt::format("signature {:016x}, {} frames", item.id, item.frame_count);
    case TRIB_TRACE_GAP:
        return fmt::format("gap    {} events, {} bytes", item.gap_events, item.gap_bytes);
    case TRIB_TRACE_NOTE:
        return fmt::format("note   {}", item.text);
    }
    return "";
}

Json event_json(const trib_event &event) {
    Json json = {{"item", "event"},
                 {"kind", event_kind_name(event.kind)},
                 {"cause", cause_name(event.cause)},
                 {"clock_bytes", event.clock_bytes},
                 {"wall_ns", event.wall_ns},
                 {"thread", event.thread},
                 {"file", fmt::format("{:#018x}", event.file)},
                 {"offset_bytes", event.offset_bytes}};
    json["length_bytes"] = event.length_bytes == TRIB_LENGTH_TO_END ? Json("end") : Json(event.length_bytes);
    json["signature"] = fmt::format("{:#018x}", event.who.signature);
    json["who"] = json_of(event.who);
    json["stream"] = event.stream == TRIB_STREAM_UNDECIDED ? Json(nullptr) : Json(event.stream);
    return json;
}

Json item_json(const trib_trace_item &item) {
    switch (item.kind) {
    case TRIB_TRACE_EVENT:
        return event_json(item.event);
    case TRIB_TRACE_NAME:
        return {{"item", "name"}, {"file", fmt::format("{:#018x}", item.id)}, {"path", item.text}};
    case TRIB_TRACE_MODULE:
        return {{"item", "module"}, {"index", item.module_index}, {"path", item.module.path}};
    case TRIB_TRACE_SIGNATURE: {
        Json frames = Json::array();
        for (uint32_t i = 0; i < item.frame_count; i++)
            frames.push_back({{"module", item.frames[i].module}, {"offset_bytes", item.frames[i].offset_bytes}});
        return {{"item", "signature"}, {"signature", fmt::format("{:#018x}", item.id)}, {"frames", frames}};
    }
    case TRIB_TRACE_GAP:
        return {{"item", "gap"}, {"dropped_events", item.gap_events}, {"dropped_bytes", item.gap_bytes}};
    case TRIB_TRACE_NOTE:
        return {{"item", "note"}, {"text", item.text}};
    }
    return nullptr;
}

} // namespace

void dump_items(const InspectOptions &options) {
    TraceFile trace(options.file, options.truncated_ok);
    uint64_t events = 0;
    while ((options.limit == 0 || events < options.limit) && trace.next()) {
        events += trace.item().kind == TRIB_TRACE_EVENT;
        if (options.json)
            fmt::print("{}\n", item_json(trace.item()).dump(-1, ' ', false, Json::error_handler_t::replace));
        else
            fmt::print("{}\n", item_text(trace.item()));
    }
}

} // namespace cli
