// SPDX-License-Identifier: Apache-2.0
// The screen of `trib top`, on ncurses. One thread; the terminal is given back whatever happens.
#include <algorithm>
#include <clocale>
#include <cstdlib>
#define NCURSES_NOMACROS // some of them are names of ours
#include <curses.h>

#include "common/failure.h"
#include "common/table.h"
#include "record/top.h"

namespace cli {

namespace {

constexpr size_t FIXED_LINES = 16; // head, titles, rules, keys: what is not a table's row

class Screen {
  public:
    Screen() {
        std::setlocale(LC_CTYPE, "");
        if (!newterm(nullptr, stdout, stdin))
            throw Failure(EXIT_RUNTIME, "this terminal is not known (TERM); use --once");
        cbreak();
        noecho();
        curs_set(0);
        keypad(stdscr, TRUE);
    }
    ~Screen() {
        endwin();
    }
    Screen(const Screen &) = delete;
    Screen &operator=(const Screen &) = delete;

    void draw(const std::vector<std::string> &lines, size_t skip, const std::string &foot) const {
        ::werase(stdscr);
        const size_t room = LINES > 1 ? static_cast<size_t>(LINES - 1) : 0;
        for (size_t i = 0; i < room && skip + i < lines.size(); i++)
            mvaddnstr(static_cast<int>(i), 0, lines[skip + i].c_str(), COLS);
        attron(A_REVERSE);
        mvaddnstr(LINES - 1, 0, foot.c_str(), COLS);
        attroff(A_REVERSE);
        ::wrefresh(stdscr);
    }
    int key(double seconds) const {
        ::wtimeout(stdscr, static_cast<int>(seconds * 1000));
        return ::wgetch(stdscr);
    }
};

// Rows that three tables may have, so that each shows something.
size_t rows_for(int lines) {
    const size_t room = static_cast<size_t>(std::max(lines, 1));
    return room > FIXED_LINES + 6 ? (room - FIXED_LINES) / 3 : 2;
}

} // namespace

int top_screen(const std::string &address, double interval_seconds) {
    Symbols symbols;
    TopPage page;
    Json status = top_status(address); // nobody there: said before the screen is taken
    const Screen screen;
    std::string foot;
    size_t skip = 0;
    for (;;) {
        page.width = static_cast<unsigned>(std::max(COLS, 40));
        page.rows = rows_for(LINES);
        const std::vector<std::string> lines = top_lines(status, address, page, symbols);
        skip = std::min(skip, lines.size() - 1);
        screen.draw(lines, skip,
                    foot.empty() ? " q quit   sort by: b bytes  l lifetime  s stream   arrows scroll " : foot);
        const int key = screen.key(interval_seconds);
        if (key == 'q' || key == 'Q')
            return EXIT_OK;
        page.order = key == 'b'   ? TopOrder::bytes
                     : key == 'l' ? TopOrder::lifetime
                     : key == 's' ? TopOrder::stream
                                  : page.order;
        skip += key == KEY_DOWN ? 1 : 0;
        skip -= key == KEY_UP && skip ? 1 : 0;
        if (key != ERR)
            continue; // the same figures, shown another way
        try {
            status = top_status(address);
            foot.clear();
        } catch (const Failure &failure) {
            foot = std::string(" ") + failure.what() + "; q quits ";
        }
    }
}

} // namespace cli
