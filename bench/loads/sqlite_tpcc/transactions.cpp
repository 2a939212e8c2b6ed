// SPDX-License-Identifier: Apache-2.0
#include "transactions.hpp"

namespace tpcc {

Kind Terminal::Next() {
    now_++;
    const int64_t ticket = random_.Uniform(1, 100);
    const Kind kind = ticket <= 45   ? Kind::kNewOrder
                      : ticket <= 88 ? Kind::kPayment
                      : ticket <= 92 ? Kind::kOrderStatus
                      : ticket <= 96 ? Kind::kDelivery
                                     : Kind::kStockLevel;
    switch (kind) {
    case Kind::kNewOrder:
        NewOrder();
        break;
    case Kind::kPayment:
        Payment();
        break;
    case Kind::kOrderStatus:
        OrderStatus();
        break;
    case Kind::kDelivery:
        Delivery();
        break;
    case Kind::kStockLevel:
        StockLevel();
        break;
    }
    return kind;
}

int64_t Terminal::OtherWarehouse(int64_t w) {
    if (size_.warehouses == 1)
        return w;
    const int64_t other = random_.Uniform(1, size_.warehouses - 1);
    return other < w ? other : other + 1;
}

// The middle one of those with a last name, in the order of their first names; 60 % of customers
// come by name (2.5.1.2).
int64_t Terminal::NamedCustomer(int64_t w, int64_t d) {
    if (!random_.Percent(60))
        return SomeCustomer();
    const std::string name = Random::LastName(random_.NonUniform(255, 0, size_.names - 1));
    std::vector<int64_t> found;
    database_.Each(
        "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
        [&](const Row &row) { found.push_back(row.Integer(0)); }, w, d, name);
    return found.empty() ? SomeCustomer() : found[(found.size() - 1) / 2];
}

void Terminal::NewOrder() {
    const int64_t w = SomeWarehouse(), d = SomeDistrict(), c = SomeCustomer(), lines = random_.Uniform(5, 15);
    const bool wrong = random_.Percent(1);
    database_.Run("BEGIN IMMEDIATE");
    database_.Run("SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse"
                  " WHERE w_id = ?1 AND c_w_id = ?1 AND c_d_id = ?2 AND c_id = ?3",
                  w, d, c);
    const int64_t o = database_.Integer("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", 0, w, d);
    database_.Run("UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?", o + 1, w, d);
    database_.Run("INSERT INTO orders VALUES (?,?,?,?,?,NULL,?,1)", o, d, w, c, now_, lines);
    database_.Run("INSERT INTO new_order VALUES (?,?,?)", o, d, w);
    for (int64_t l = 1; l <= lines; l++) {
        const int64_t item = wrong && l == lines ? size_.items + 1 : random_.NonUniform(size_.item_a, 1, size_.items);
        if (!OrderLine(w, d, o, l, item)) {
            database_.Run("ROLLBACK");
            return;
        }
    }
    database_.Run("COMMIT");
    new_orders_++;
}

bool Terminal::OrderLine(int64_t w, int64_t d, int64_t o, int64_t number, int64_t item) {
    const int64_t price_cents = database_.Integer("SELECT i_price FROM item WHERE i_id = ?", -1, item);
    if (price_cents < 0)
        return false;
    const int64_t supply = random_.Percent(1) ? OtherWarehouse(w) : w, quantity = random_.Uniform(1, 10);
    int64_t left = 0;
    std::string info;
    database_.Each(
        "SELECT s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, "
        "s_dist_07, s_dist_08,"
        " s_dist_09, s_dist_10 FROM stock WHERE s_w_id = ? AND s_i_id = ?",
        [&](const Row &row) {
            left = row.Integer(0) - quantity;
            info = row.Text(static_cast<int>(d));
        },
        supply, item);
    if (left < 10)
        left += 91;
    database_.Run("UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1,"
                  " s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
                  left, quantity, static_cast<int64_t>(supply != w), supply, item);
    if (supply != w)
        database_.Run("UPDATE orders SET o_all_local = 0 WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", w, d, o);
    database_.Run("INSERT INTO order_line VALUES (?,?,?,?,?,?,NULL,?,?,?)", o, d, w, number, item, supply, quantity,
                  quantity * price_cents, info);
    return true;
}

void Terminal::Payment() {
    const int64_t w = SomeWarehouse(), d = SomeDistrict(), amount_cents = random_.Uniform(100, 500000);
    const bool remote = random_.Percent(15);
    const int64_t customer_w = remote ? OtherWarehouse(w) : w, customer_d = remote ? SomeDistrict() : d;
    database_.Run("BEGIN IMMEDIATE");
    database_.Run("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", amount_cents, w);
    database_.Run("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?", amount_cents, w, d);
    std::string names;
    database_.Each(
        "SELECT w_name || '    ' || d_name FROM warehouse, district WHERE w_id = ?1 AND d_w_id = "
        "?1 AND d_id = ?2",
        [&](const Row &row) { names = row.Text(0); }, w, d);
    const int64_t c = NamedCustomer(customer_w, customer_d);
    Pay(customer_w, customer_d, c, amount_cents);
    database_.Run("INSERT INTO history VALUES (?,?,?,?,?,?,?,?)", c, customer_d, customer_w, d, w, now_, amount_cents,
                  names);
    database_.Run("COMMIT");
}

// A customer of bad credit gets the payment written into his data (clause 2.5.2.2).
void Terminal::Pay(int64_t w, int64_t d, int64_t c, int64_t amount_cents) {
    const std::string note = std::to_string(c) + ' ' + std::to_string(d) + ' ' + std::to_string(w) + ' ' +
                             std::to_string(amount_cents) + '|';
    database_.Run("UPDATE customer SET c_balance = c_balance - ?1, c_ytd_payment = c_ytd_payment + ?1,"
                  " c_payment_cnt = c_payment_cnt + 1,"
                  " c_data = CASE c_credit WHEN 'BC' THEN substr(?2 || c_data, 1, 500) ELSE c_data END"
                  " WHERE c_w_id = ?3 AND c_d_id = ?4 AND c_id = ?5",
                  amount_cents, note, w, d, c);
}

void Terminal::OrderStatus() {
    const int64_t w = SomeWarehouse(), d = SomeDistrict();
    database_.Run("BEGIN");
    const int64_t c = NamedCustomer(w, d);
    database_.Run("SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND "
                  "c_d_id = ? AND c_id = ?",
                  w, d, c);
    const int64_t o = database_.Integer("SELECT o_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ?"
                                        " ORDER BY o_id DESC LIMIT 1",
                                        0, w, d, c);
    database_.Run("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line"
                  " WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
                  w, d, o);
    database_.Run("COMMIT");
}

void Terminal::Delivery() {
    const int64_t w = SomeWarehouse(), carrier = random_.Uniform(1, 10);
    database_.Run("BEGIN IMMEDIATE");
    for (int64_t d = 1; d <= kDistricts; d++)
        Deliver(w, d, carrier);
    database_.Run("COMMIT");
}

void Terminal::Deliver(int64_t w, int64_t d, int64_t carrier) {
    const int64_t o = database_.Integer("SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ?"
                                        " ORDER BY no_o_id LIMIT 1",
                                        0, w, d);
    if (o == 0)
        return;
    database_.Run("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?", w, d, o);
    const int64_t c =
        database_.Integer("SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", 0, w, d, o);
    database_.Run("UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", carrier, w, d, o);
    database_.Run("UPDATE order_line SET ol_delivery_d = ? WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", now_, w,
                  d, o);
    const int64_t total_cents = database_.Integer("SELECT SUM(ol_amount) FROM order_line"
                                                  " WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
                                                  0, w, d, o);
    database_.Run("UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1"
                  " WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                  total_cents, w, d, c);
}

void Terminal::StockLevel() {
    const int64_t w = SomeWarehouse(), d = SomeDistrict();
    database_.Run("BEGIN");
    const int64_t o = database_.Integer("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", 0, w, d);
    database_.Run("SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = ?1 AND ol_d_id = ?2 "
                  "AND ol_o_id < ?3"
                  " AND ol_o_id >= ?3 - 20 AND s_w_id = ?1 AND s_i_id = ol_i_id AND s_quantity < ?4",
                  w, d, o, random_.Uniform(10, 20));
    database_.Run("COMMIT");
}

} // namespace tpcc
