// SPDX-License-Identifier: Apache-2.0
// SQLite under TPC-C: creates a database, fills it, runs transactions, prints one line of JSON. The
// same seed and number of transactions give the same database, so a run with a hook can be compared
// with one without. CPU and disk decide only how long it takes; --seconds instead of --transactions
// lets them decide how much is done.
#include "tables.hpp"
#include "transactions.hpp"

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <thread>

#include <CLI/CLI.hpp>

namespace {

struct Asked {
    std::string database, journal = "delete", synchronous = "full";
    int64_t warehouses = 1, divide = 1, transactions = 0, seconds = 0, rate = 0, cache_kib = 2000;
    uint64_t seed = 1;
    bool acknowledge = false;
};

struct Outcome {
    std::array<int64_t, tpcc::kKindNames.size()> done{};
    int64_t total = 0, new_orders = 0;
    double seconds = 0;
};

double Seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void SleepUntil(double seconds) {
    const double left = seconds - Seconds();
    if (left > 0)
        std::this_thread::sleep_for(std::chrono::duration<double>(left));
}

// To whoever kills this program: one more transaction has ended, for good.
void Acknowledge() {
    std::putchar('\n');
    std::fflush(stdout);
}

void Configure(tpcc::Database &database, const Asked &asked) {
    database.Execute("PRAGMA journal_mode = " + asked.journal);
    database.Execute("PRAGMA synchronous = " + asked.synchronous);
    database.Execute("PRAGMA cache_size = -" + std::to_string(asked.cache_kib));
}

Outcome Run(tpcc::Database &database, tpcc::Random &random, const tpcc::Size &size, const Asked &asked) {
    constexpr double kProgressSeconds = 10;
    tpcc::Terminal terminal(database, random, size);
    Outcome outcome;
    const double started = Seconds();
    double told = started, now = started;
    while (asked.transactions ? outcome.total < asked.transactions
                              : now - started < static_cast<double>(asked.seconds)) {
        if (asked.rate)
            SleepUntil(started + static_cast<double>(outcome.total) / static_cast<double>(asked.rate));
        outcome.done[static_cast<size_t>(terminal.Next())]++;
        outcome.total++;
        if (asked.acknowledge)
            Acknowledge();
        now = Seconds();
        if (now - told < kProgressSeconds)
            continue;
        told = now;
        std::fprintf(stderr, "sqlite-tpcc: %" PRId64 " transactions in %.0f s\n", outcome.total, now - started);
    }
    outcome.seconds = Seconds() - started;
    outcome.new_orders = terminal.new_orders();
    return outcome;
}

void Print(const Asked &asked, const Outcome &outcome, double fill_seconds, uint64_t checksum) {
    std::printf("{\"load\": \"sqlite-tpcc\", \"sqlite\": \"%s\", \"journal\": \"%s\", "
                "\"warehouses\": %" PRId64 ", \"divide\": %" PRId64 ", \"seed\": %" PRIu64,
                sqlite3_libversion(), asked.journal.c_str(), asked.warehouses, asked.divide, asked.seed);
    for (size_t kind = 0; kind < outcome.done.size(); kind++)
        std::printf(", \"%s\": %" PRId64, tpcc::kKindNames[kind], outcome.done[kind]);
    std::printf(", \"transactions\": %" PRId64 ", \"fill_seconds\": %.2f, \"run_seconds\": %.2f, \"tpm\": %.1f"
                ", \"tpm_c\": %.1f, \"checksum\": \"%016" PRIx64 "\"}\n",
                outcome.total, fill_seconds, outcome.seconds, 60 * static_cast<double>(outcome.total) / outcome.seconds,
                60 * static_cast<double>(outcome.new_orders) / outcome.seconds, checksum);
}

int Load(const Asked &asked) {
    if (std::filesystem::exists(asked.database))
        throw std::runtime_error(asked.database + " exists; give a new file, or delete it");
    tpcc::Database database(asked.database);
    Configure(database, asked);
    tpcc::Random random(asked.seed);
    const tpcc::Size size(asked.warehouses, asked.divide);
    const double started = Seconds();
    tpcc::CreateTables(database);
    tpcc::FillTables(database, random, size);
    const double fill_seconds = Seconds() - started;
    std::fprintf(stderr, "sqlite-tpcc: filled in %.1f s\n", fill_seconds);
    const Outcome outcome = Run(database, random, size, asked);
    Print(asked, outcome, fill_seconds, tpcc::Checksum(database));
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    CLI::App app{"SQLite under TPC-C, deterministic from a seed"};
    Asked asked;
    app.add_option("--database", asked.database, "file to create")->required();
    app.add_option("--warehouses", asked.warehouses, "about 80 MB each")->check(CLI::Range(1, 10000));
    app.add_option("--divide", asked.divide, "divide a warehouse's customers, orders and items by this")
        ->check(CLI::Range(1, 1000));
    app.add_option("--seed", asked.seed, "of data and load");
    auto *transactions = app.add_option("--transactions", asked.transactions, "how many")->check(CLI::PositiveNumber);
    auto *seconds = app.add_option("--seconds", asked.seconds, "or how long")->check(CLI::PositiveNumber);
    transactions->excludes(seconds);
    app.add_option("--rate", asked.rate, "transactions per second at most; 0 = as fast as they go")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--journal", asked.journal, "SQLite's journal_mode; delete is its default")
        ->check(CLI::IsMember({"delete", "truncate", "persist", "wal"}));
    app.add_option("--synchronous", asked.synchronous, "SQLite's synchronous; full is its default")
        ->check(CLI::IsMember({"off", "normal", "full", "extra"}));
    app.add_option("--cache", asked.cache_kib, "page cache in KiB; 2000 is SQLite's default")
        ->check(CLI::PositiveNumber);
    app.add_flag("--acknowledge", asked.acknowledge, "print a line when a transaction has ended");
    CLI11_PARSE(app, argc, argv);
    if (!asked.transactions && !asked.seconds)
        asked.transactions = 10000;
    try {
        return Load(asked);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "sqlite-tpcc: %s\n", failure.what());
        return 1;
    }
}
