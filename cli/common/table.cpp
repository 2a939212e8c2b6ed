// SPDX-License-Identifier: Apache-2.0
#include "common/table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <iterator>
#include <sstream>
#include <unistd.h>

namespace cli {

std::string grouped(uint64_t value) {
    std::string digits = std::to_string(value);
    for (size_t at = digits.size(); at > 3; at -= 3)
        digits.insert(at - 3, ",");
    return digits;
}

namespace {
// Three significant digits where the unit has a fraction.
std::string scaled(double value, double base, const std::vector<const char *> &units) {
    size_t unit = 0;
    while (unit + 1 < units.size() && std::fabs(value) >= base - 0.5) {
        value /= base;
        unit++;
    }
    int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f}{}", value, digits, units[unit]);
}
} // namespace

std::string si(double value) {
    return scaled(value, 1000, {"", "k", "M", "G", "T", "P", "E"});
}

std::string size_text(double bytes) {
    return scaled(bytes, 1024, {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"});
}

std::string counted(uint64_t count, const std::string &word) {
    const char *ending = word.back() == 's' ? "es" : "s";
    return grouped(count) + " " + word + (count == 1 ? "" : ending);
}

std::string size_option(uint64_t bytes) {
    static const char units[] = {'T', 'G', 'M', 'K'};
    for (unsigned i = 0; i < sizeof(units); i++) {
        uint64_t unit = uint64_t{1} << (10 * (4 - i));
        if (bytes >= unit && bytes % unit == 0)
            return fmt::format("{}{}", bytes / unit, units[i]);
    }
    return std::to_string(bytes);
}

std::string fixed(double value, int digits) {
    return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

std::string wrapped(const std::string &prefix, const std::string &text) {
    std::istringstream words(text);
    std::string word, line = prefix, out;
    bool fresh = true; // the line has no word yet
    while (words >> word) {
        if (!fresh && line.size() + 1 + word.size() > TEXT_COLUMNS) {
            out += line + "\n";
            line.assign(prefix.size(), ' ');
            fresh = true;
        }
        line += (fresh ? "" : " ") + word;
        fresh = false;
    }
    return out + line + "\n";
}

std::string printable(const std::string &text) {
    std::string out = text;
    std::replace_if(
        out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
    return out;
}

bool colours_wanted(int descriptor) {
    const char *refused = std::getenv("NO_COLOR"); // NOLINT(concurrency-mt-unsafe): read before threads start
    return isatty(descriptor) && !(refused && *refused);
}

void Table::add(std::vector<std::string> cells, bool highlighted) {
    cells.resize(columns_.size());
    rows_.push_back({std::move(cells), highlighted, rule_next_});
    rule_next_ = false;
}

void Table::rule() {
    rule_next_ = true;
}

std::vector<size_t> Table::widths(unsigned width) const {
    std::vector<size_t> widths;
    for (const Column &column : columns_)
        widths.push_back(column.title.size());
    for (const Row &row : rows_)
        for (size_t i = 0; i < widths.size(); i++)
            widths[i] = std::max(widths[i], row.cells[i].size());
    size_t total = columns_.size() - 1;
    for (size_t w : widths)
        total += w;
    for (size_t i = 0; i < widths.size() && total > width; i++) {
        if (!columns_[i].shrinks)
            continue;
        size_t least = std::max<size_t>(columns_[i].title.size(), 8);
        size_t given = std::min(total - width, widths[i] - std::min(widths[i], least));
        widths[i] -= given;
        total -= given;
    }
    return widths;
}

// Where the beginning is another row's as well, what differs is behind it: the end stays then.
std::string Table::shortened(const std::string &cell, size_t column, size_t width) const {
    if (cell.size() <= width)
        return cell;
    const size_t kept = width - 2;
    const std::string head = cell.substr(0, kept);
    const bool ambiguous = std::any_of(rows_.begin(), rows_.end(), [&](const Row &row) {
        return row.cells[column] != cell && row.cells[column].compare(0, kept, head) == 0;
    });
    if (!ambiguous)
        return head + "..";
    const size_t front = kept / 3;
    return cell.substr(0, front) + ".." + cell.substr(cell.size() - (kept - front));
}

std::string Table::line(const std::vector<std::string> &cells, const std::vector<size_t> &widths) const {
    std::string out;
    for (size_t i = 0; i < cells.size(); i++) {
        std::string cell = shortened(cells[i], i, widths[i]);
        out += i ? " " : "";
        out += columns_[i].align == Align::left ? fmt::format("{:<{}}", cell, widths[i])
                                                : fmt::format("{:>{}}", cell, widths[i]);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
}

std::string Table::text(bool colours, unsigned width) const {
    std::vector<size_t> columns = widths(width);
    size_t total = columns.size() - 1;
    for (size_t w : columns)
        total += w;
    std::vector<std::string> titles;
    std::transform(columns_.begin(), columns_.end(), std::back_inserter(titles),
                   [](const Column &column) { return column.title; });

    std::string rule(total, '-');
    std::string out = line(titles, columns) + "\n" + rule + "\n";
    for (const Row &row : rows_) {
        if (row.rule)
            out += rule + "\n";
        std::string text = line(row.cells, columns);
        out += row.highlighted && colours ? "\033[1;32m" + text + "\033[0m\n" : text + "\n";
    }
    return out;
}

} // namespace cli
