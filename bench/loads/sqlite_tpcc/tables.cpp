// SPDX-License-Identifier: Apache-2.0
#include "tables.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tpcc {
namespace {

const char *const kTables[] = {
    "CREATE TABLE warehouse (w_id INTEGER PRIMARY KEY, w_name TEXT, w_street_1 TEXT, w_street_2 "
    "TEXT, w_city TEXT,"
    " w_state TEXT, w_zip TEXT, w_tax INTEGER, w_ytd INTEGER)",
    "CREATE TABLE district (d_id INTEGER, d_w_id INTEGER, d_name TEXT, d_street_1 TEXT, d_street_2 "
    "TEXT, d_city TEXT,"
    " d_state TEXT, d_zip TEXT, d_tax INTEGER, d_ytd INTEGER, d_next_o_id INTEGER, PRIMARY KEY "
    "(d_w_id, d_id))",
    "CREATE TABLE customer (c_id INTEGER, c_d_id INTEGER, c_w_id INTEGER, c_first TEXT, c_middle "
    "TEXT, c_last TEXT,"
    " c_street_1 TEXT, c_street_2 TEXT, c_city TEXT, c_state TEXT, c_zip TEXT, c_phone TEXT, "
    "c_since INTEGER,"
    " c_credit TEXT, c_credit_lim INTEGER, c_discount INTEGER, c_balance INTEGER, c_ytd_payment "
    "INTEGER,"
    " c_payment_cnt INTEGER, c_delivery_cnt INTEGER, c_data TEXT, PRIMARY KEY (c_w_id, c_d_id, "
    "c_id))",
    "CREATE TABLE history (h_c_id INTEGER, h_c_d_id INTEGER, h_c_w_id INTEGER, h_d_id INTEGER, "
    "h_w_id INTEGER,"
    " h_date INTEGER, h_amount INTEGER, h_data TEXT)",
    "CREATE TABLE new_order (no_o_id INTEGER, no_d_id INTEGER, no_w_id INTEGER, PRIMARY KEY "
    "(no_w_id, no_d_id, no_o_id))",
    "CREATE TABLE orders (o_id INTEGER, o_d_id INTEGER, o_w_id INTEGER, o_c_id INTEGER, o_entry_d "
    "INTEGER,"
    " o_carrier_id INTEGER, o_ol_cnt INTEGER, o_all_local INTEGER, PRIMARY KEY (o_w_id, o_d_id, "
    "o_id))",
    "CREATE TABLE order_line (ol_o_id INTEGER, ol_d_id INTEGER, ol_w_id INTEGER, ol_number "
    "INTEGER, ol_i_id INTEGER,"
    " ol_supply_w_id INTEGER, ol_delivery_d INTEGER, ol_quantity INTEGER, ol_amount INTEGER, "
    "ol_dist_info TEXT,"
    " PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
    "CREATE TABLE item (i_id INTEGER PRIMARY KEY, i_im_id INTEGER, i_name TEXT, i_price INTEGER, "
    "i_data TEXT)",
    "CREATE TABLE stock (s_i_id INTEGER, s_w_id INTEGER, s_quantity INTEGER, s_dist_01 TEXT, "
    "s_dist_02 TEXT,"
    " s_dist_03 TEXT, s_dist_04 TEXT, s_dist_05 TEXT, s_dist_06 TEXT, s_dist_07 TEXT, s_dist_08 "
    "TEXT, s_dist_09 TEXT,"
    " s_dist_10 TEXT, s_ytd INTEGER, s_order_cnt INTEGER, s_remote_cnt INTEGER, s_data TEXT, "
    "PRIMARY KEY (s_w_id, s_i_id))",
    "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_first)",
    "CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
};

const char *const kEverything[] = {
    "SELECT * FROM warehouse ORDER BY w_id",
    "SELECT * FROM district ORDER BY d_w_id, d_id",
    "SELECT * FROM customer ORDER BY c_w_id, c_d_id, c_id",
    "SELECT * FROM history ORDER BY rowid",
    "SELECT * FROM new_order ORDER BY no_w_id, no_d_id, no_o_id",
    "SELECT * FROM orders ORDER BY o_w_id, o_d_id, o_id",
    "SELECT * FROM order_line ORDER BY ol_w_id, ol_d_id, ol_o_id, ol_number",
    "SELECT * FROM item ORDER BY i_id",
    "SELECT * FROM stock ORDER BY s_w_id, s_i_id",
};

class Filler {
  public:
    Filler(Database &database, Random &random, const Size &size) : database_(database), random_(random), size_(size) {
    }

    void Items() {
        for (int64_t i = 1; i <= size_.items; i++)
            database_.Run("INSERT INTO item VALUES (?,?,?,?,?)", i, Number(1, 10000), Text(14, 24), Number(100, 10000),
                          random_.Data());
    }

    void Warehouse(int64_t w) {
        const int64_t ytd = 3000000 * kDistricts;
        database_.Run("INSERT INTO warehouse VALUES (?,?,?,?,?,?,?,?,?)", w, Text(6, 10), Text(10, 20), Text(10, 20),
                      Text(10, 20), Text(2, 2), random_.Zip(), Number(0, 2000), ytd);
        for (int64_t i = 1; i <= size_.items; i++)
            database_.Run("INSERT INTO stock VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,0,0,0,?)", i, w, Number(10, 100), Info(),
                          Info(), Info(), Info(), Info(), Info(), Info(), Info(), Info(), Info(), random_.Data());
    }

    void District(int64_t w, int64_t d) {
        database_.Run("INSERT INTO district VALUES (?,?,?,?,?,?,?,?,?,3000000,?)", d, w, Text(6, 10), Text(10, 20),
                      Text(10, 20), Text(10, 20), Text(2, 2), random_.Zip(), Number(0, 2000), size_.customers + 1);
        for (int64_t c = 1; c <= size_.customers; c++)
            Customer(w, d, c);
        std::vector<int64_t> customers;
        for (int64_t c = 1; c <= size_.customers; c++)
            customers.push_back(c);
        for (size_t i = customers.size() - 1; i > 0; i--)
            std::swap(customers[i], customers[static_cast<size_t>(Number(0, static_cast<int64_t>(i)))]);
        for (int64_t o = 1; o <= size_.customers; o++)
            Order(w, d, o, customers[static_cast<size_t>(o - 1)]);
    }

  private:
    int64_t Number(int64_t first, int64_t last) {
        return random_.Uniform(first, last);
    }
    std::string Text(int64_t shortest, int64_t longest) {
        return random_.Text(shortest, longest);
    }
    std::string Info() {
        return Text(24, 24);
    }

    void Customer(int64_t w, int64_t d, int64_t c) {
        const std::string last = Random::LastName(c <= 1000 ? c - 1 : random_.NonUniform(255, 0, 999));
        const std::string credit = random_.Percent(10) ? "BC" : "GC";
        database_.Run("INSERT INTO customer VALUES "
                      "(?,?,?,?,'OE',?,?,?,?,?,?,?,0,?,5000000,?,-1000,1000,1,0,?)",
                      c, d, w, Text(8, 16), last, Text(10, 20), Text(10, 20), Text(10, 20), Text(2, 2), random_.Zip(),
                      Text(16, 16), credit, Number(0, 5000), Text(300, 500));
        database_.Run("INSERT INTO history VALUES (?,?,?,?,?,0,1000,?)", c, d, w, d, w, Text(12, 24));
    }

    // The last 30 % are not delivered yet.
    void Order(int64_t w, int64_t d, int64_t o, int64_t c) {
        const bool delivered = o <= size_.customers * 7 / 10;
        const int64_t lines = Number(5, 15);
        database_.Run("INSERT INTO orders VALUES (?,?,?,?,0,nullif(?,0),?,1)", o, d, w, c,
                      delivered ? Number(1, 10) : int64_t{0}, lines);
        for (int64_t l = 1; l <= lines; l++)
            database_.Run("INSERT INTO order_line VALUES (?,?,?,?,?,?,nullif(?,-1),5,?,?)", o, d, w, l,
                          Number(1, size_.items), w, delivered ? int64_t{0} : int64_t{-1},
                          delivered ? int64_t{0} : Number(1, 999999), Info());
        if (!delivered)
            database_.Run("INSERT INTO new_order VALUES (?,?,?)", o, d, w);
    }

    Database &database_;
    Random &random_;
    const Size &size_;
};

template <class Work> void InTransaction(Database &database, Work work) {
    database.Run("BEGIN");
    work();
    database.Run("COMMIT");
}

} // namespace

void CreateTables(Database &database) {
    for (const char *sql : kTables)
        database.Run(sql);
}

void FillTables(Database &database, Random &random, const Size &size) {
    Filler filler(database, random, size);
    InTransaction(database, [&] { filler.Items(); });
    for (int64_t w = 1; w <= size.warehouses; w++) {
        InTransaction(database, [&] { filler.Warehouse(w); });
        for (int64_t d = 1; d <= kDistricts; d++)
            InTransaction(database, [&] { filler.District(w, d); });
    }
}

uint64_t Checksum(Database &database) {
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (const char *sql : kEverything)
        database.Each(sql, [&](const Row &row) {
            for (int column = 0; column < sqlite3_column_count(row.statement); column++) {
                const std::string value = row.Text(column);
                XXH3_64bits_update(&state, value.c_str(),
                                   value.size() + 1); // with its 0: "a","bc" is not "ab","c"
            }
        });
    return XXH3_64bits_digest(&state);
}

} // namespace tpcc
