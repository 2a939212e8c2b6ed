// SPDX-License-Identifier: Apache-2.0
#include "source/survey.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "common/failure.h"
#include "common/progress.h"

namespace cli {

static uint64_t blocks_up(uint64_t bytes) {
    return bytes / TRIB_BLOCK_BYTES + (bytes % TRIB_BLOCK_BYTES != 0);
}

uint64_t LiveBlocks::add(Extents &extents, uint64_t first, uint64_t end) {
    auto next = extents.upper_bound(first);
    if (next != extents.begin() && std::prev(next)->second >= first) {
        --next;
        first = next->first;
    }
    uint64_t covered = 0;
    while (next != extents.end() && next->first <= end) {
        covered += next->second - next->first;
        end = std::max(end, next->second);
        next = extents.erase(next);
    }
    extents.emplace_hint(next, first, end);
    live_blocks_ += end - first - covered;
    peak_blocks_ = std::max(peak_blocks_, live_blocks_);
    return end - first - covered;
}

void LiveBlocks::remove(Extents &extents, uint64_t first, uint64_t end) {
    if (first >= end)
        return;
    auto next = extents.upper_bound(first);
    if (next != extents.begin() && std::prev(next)->second > first)
        --next;
    while (next != extents.end() && next->first < end) {
        uint64_t from = next->first, to = next->second;
        next = extents.erase(next);
        dies_ = true;
        live_blocks_ -= std::min(to, end) - std::max(from, first);
        if (from < first)
            extents.emplace(from, first);
        if (to > end)
            extents.emplace(end, to);
    }
}

void LiveBlocks::write(const trib_event &event) {
    uint64_t end_bytes = event.offset_bytes + event.length_bytes;
    seen_.insert(event.file);
    if (event.file == 0)
        address_end_bytes_ = std::max(address_end_bytes_, end_bytes);
    File &file = files_[event.file];
    bool appends = event.offset_bytes >= file.end_bytes; // even into the last, partial block
    uint64_t first = event.offset_bytes / TRIB_BLOCK_BYTES, end = blocks_up(end_bytes);
    file.end_bytes = std::max(file.end_bytes, end_bytes);
    uint64_t added = add(file.extents, first, end);
    dies_ = dies_ || (!appends && added < end - first);
}

void LiveBlocks::kill(const trib_event &event) {
    auto found = files_.find(event.file);
    if (found == files_.end() || event.cause == TRIB_CAUSE_OVERWRITE || event.cause == TRIB_CAUSE_REUSE)
        return;
    File &file = found->second;
    bool to_end = event.length_bytes == TRIB_LENGTH_TO_END || event.offset_bytes + event.length_bytes >= file.end_bytes;
    uint64_t end = to_end ? UINT64_MAX : (event.offset_bytes + event.length_bytes) / TRIB_BLOCK_BYTES;
    remove(file.extents, blocks_up(event.offset_bytes), end);
    if (to_end)
        file.end_bytes = std::min(file.end_bytes, event.offset_bytes);
    if (file.extents.empty())
        files_.erase(found);
}

void LiveBlocks::apply(const trib_event &event) {
    if (event.length_bytes == 0)
        return;
    if (event.kind == TRIB_EVENT_WRITE)
        write(event);
    else if (event.kind == TRIB_EVENT_DEATH)
        kill(event);
}

// The pipeline would refuse it too, but only after the drive has been sized by it.
static void check_range(const trib_event &event, uint64_t number) {
    bool to_end = event.length_bytes == TRIB_LENGTH_TO_END && event.kind != TRIB_EVENT_WRITE;
    if (!to_end && event.offset_bytes + event.length_bytes < event.offset_bytes)
        throw Failure(EXIT_RUNTIME, fmt::format("event {}: offset {} + length {} overflows; the recorder that wrote "
                                                "this trace is at fault",
                                                number, event.offset_bytes, event.length_bytes));
}

static void count_write(Survey &survey, const trib_event &event) {
    if (event.kind != TRIB_EVENT_WRITE)
        return;
    survey.host_bytes += event.length_bytes;
    if (event.who.signature != TRIB_SIGNATURE_UNKNOWN)
        survey.signature_bytes += event.length_bytes;
    if (event.who.file_kind != TRIB_FILE_UNKNOWN)
        survey.kind_bytes += event.length_bytes;
    if (event.who.write_hint != TRIB_HINT_NOT_SET)
        survey.hint_bytes += event.length_bytes;
    if (event.who.level != TRIB_LEVEL_UNKNOWN)
        survey.level_bytes += event.length_bytes;
    if (event.stream != TRIB_STREAM_UNDECIDED)
        survey.named_bytes += event.length_bytes;
}

Survey survey_source(const SourceSpec &source) {
    Survey survey;
    LiveBlocks live;
    std::unique_ptr<EventSource> events = open_source(source);
    Progress progress("reading");
    while (events->next()) {
        const trib_trace_item &item = events->item();
        survey.dictionary.learn(item);
        if (item.kind == TRIB_TRACE_GAP) {
            survey.dropped_events += item.gap_events;
            survey.dropped_bytes += item.gap_bytes;
        }
        if (item.kind != TRIB_TRACE_EVENT)
            continue;
        survey.events++;
        count_write(survey, item.event);
        check_range(item.event, survey.events);
        live.apply(item.event);
        if (survey.events % 4096 == 0)
            progress.show(events->position_bytes(), events->size_bytes());
    }
    survey.files = live.files();
    survey.peak_live_bytes = live.peak_bytes();
    survey.address_end_bytes = live.address_end_bytes();
    survey.dies = live.dies();
    survey.truncated = events->was_truncated();
    survey.what = events->what();
    survey.source_note = events->note();
    return survey;
}

} // namespace cli
