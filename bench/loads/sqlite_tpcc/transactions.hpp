// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "database.hpp"
#include "random.hpp"
#include "size.hpp"

namespace tpcc {

enum class Kind { kNewOrder, kPayment, kOrderStatus, kDelivery, kStockLevel };
constexpr std::array<const char *, 5> kKindNames = {"new_order", "payment", "order_status", "delivery", "stock_level"};

// The five transactions (clause 2), one terminal, no think time. Time is the transaction's number.
class Terminal {
  public:
    Terminal(Database &database, Random &random, const Size &size) : database_(database), random_(random), size_(size) {
    }

    // One transaction of the mix of clause 5.2.3, in percent: 45, 43, 4, 4, 4. Returns its kind.
    Kind Next();

    // Orders that were kept: 1 % of them name an item that does not exist and are rolled back.
    int64_t new_orders() const {
        return new_orders_;
    }

  private:
    void NewOrder();
    bool OrderLine(int64_t w, int64_t d, int64_t o, int64_t number, int64_t item);
    void Payment();
    void Pay(int64_t w, int64_t d, int64_t c, int64_t amount_cents);
    void OrderStatus();
    void Delivery();
    void Deliver(int64_t w, int64_t d, int64_t carrier);
    void StockLevel();

    int64_t SomeWarehouse() {
        return random_.Uniform(1, size_.warehouses);
    }
    int64_t OtherWarehouse(int64_t w);
    int64_t SomeDistrict() {
        return random_.Uniform(1, kDistricts);
    }
    int64_t SomeCustomer() {
        return random_.NonUniform(size_.customer_a, 1, size_.customers);
    }
    int64_t NamedCustomer(int64_t w, int64_t d);

    Database &database_;
    Random &random_;
    const Size &size_;
    int64_t now_ = 0;
    int64_t new_orders_ = 0;
};

} // namespace tpcc
