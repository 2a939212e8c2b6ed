// SPDX-License-Identifier: Apache-2.0
// SQLite with errors as exceptions and statements that are prepared once.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include <sqlite3.h>

namespace tpcc {

struct Row {
    sqlite3_stmt *statement;
    int64_t Integer(int column) const {
        return sqlite3_column_int64(statement, column);
    }
    std::string Text(int column) const {
        const unsigned char *text = sqlite3_column_text(statement, column);
        return text ? reinterpret_cast<const char *>(text) : "";
    }
};

class Database {
  public:
    explicit Database(const std::string &path) {
        if (sqlite3_open(path.c_str(), &handle_) == SQLITE_OK)
            return;
        const std::string message = sqlite3_errmsg(handle_);
        sqlite3_close(handle_);
        throw std::runtime_error(path + ": " + message);
    }
    ~Database() {
        for (auto &entry : statements_)
            sqlite3_finalize(entry.second);
        sqlite3_close(handle_);
    }
    Database(const Database &) = delete;
    Database &operator=(const Database &) = delete;

    // Settings: run once, not kept.
    void Execute(const std::string &sql) {
        if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
            Fail(sql);
    }

    // Runs a statement to its end; integers and texts are bound in order. `sql` is a literal: its
    // address names it.
    template <class... Values> void Run(const char *sql, const Values &...values) {
        Each(
            sql, [](const Row &) {}, values...);
    }

    // Calls `take` for each row.
    template <class Take, class... Values> void Each(const char *sql, Take take, const Values &...values) {
        sqlite3_stmt *statement = Prepared(sql);
        int position = 0;
        (Bind(statement, ++position, values), ...);
        int code;
        while ((code = sqlite3_step(statement)) == SQLITE_ROW)
            take(Row{statement});
        sqlite3_reset(statement);
        if (code != SQLITE_DONE)
            Fail(sql);
    }

    // The first column of the first row; `absent` when there is none.
    template <class... Values> int64_t Integer(const char *sql, int64_t absent, const Values &...values) {
        int64_t result = absent;
        Each(
            sql, [&](const Row &row) { result = row.Integer(0); }, values...);
        return result;
    }

  private:
    sqlite3_stmt *Prepared(const char *sql) {
        sqlite3_stmt *&statement = statements_[sql];
        if (!statement && sqlite3_prepare_v2(handle_, sql, -1, &statement, nullptr) != SQLITE_OK)
            Fail(sql);
        return statement;
    }
    void Bind(sqlite3_stmt *statement, int position, int64_t value) {
        sqlite3_bind_int64(statement, position, value);
    }
    void Bind(sqlite3_stmt *statement, int position, const std::string &value) {
        sqlite3_bind_text(statement, position, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
    }
    void Bind(sqlite3_stmt *statement, int position, std::nullptr_t) {
        sqlite3_bind_null(statement, position);
    }
    [[noreturn]] void Fail(const std::string &sql) {
        throw std::runtime_error(std::string(sqlite3_errmsg(handle_)) + " in: " + sql.substr(0, 200));
    }

    sqlite3 *handle_ = nullptr;
    std::unordered_map<const char *, sqlite3_stmt *> statements_;
};

} // namespace tpcc
