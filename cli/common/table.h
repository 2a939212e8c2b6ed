// SPDX-License-Identifier: Apache-2.0
// Text for people: tables and paragraphs that fit a terminal of 80 columns, and numbers they can
// read. Pure functions apart from Table, which has one owner. Text is ASCII, so a byte is a column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cli {

constexpr unsigned TEXT_COLUMNS = 80;

std::string grouped(uint64_t value);                          // 1,234,567
std::string counted(uint64_t count, const std::string &word); // 1 event, 1,234 events, 2 processes
std::string si(double value);                                 // 999, 1.23k, 45.6M: at most 5 columns
std::string size_text(double bytes);                          // 4 KiB, 1.50 GiB: at most 9 columns
std::string size_option(uint64_t bytes);                      // the option grammar: 16M, 4096
std::string fixed(double value, int digits);
std::string printable(const std::string &text); // names that strangers chose: what is no printable ASCII becomes '?'
// `prefix`, then the words of `text`; further lines are indented as far as the prefix. Ends with a
// newline.
std::string wrapped(const std::string &prefix, const std::string &text);

// Colours only on a terminal, and never against NO_COLOR (no-color.org).
bool colours_wanted(int descriptor);

enum class Align { left, right };

struct Column {
    std::string title;
    Align align = Align::right;
    bool shrinks = false; // gives up width first when the table is too wide
};

class Table {
  public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {
    }
    void add(std::vector<std::string> cells, bool highlighted = false);
    void rule(); // a line before the next row
    std::string text(bool colours, unsigned width = TEXT_COLUMNS) const;

  private:
    struct Row {
        std::vector<std::string> cells;
        bool highlighted, rule;
    };
    std::vector<size_t> widths(unsigned width) const;
    std::string shortened(const std::string &cell, size_t column, size_t width) const;
    std::string line(const std::vector<std::string> &cells, const std::vector<size_t> &widths) const;

    std::vector<Column> columns_;
    std::vector<Row> rows_;
    bool rule_next_ = false;
};

} // namespace cli
