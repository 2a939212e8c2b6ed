// SPDX-License-Identifier: Apache-2.0
// How large the tables are. `divide` makes a warehouse that many times smaller.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tpcc {

constexpr int64_t kDistricts = 10;

struct Size {
    Size(int64_t warehouse_count, int64_t divide)
        : warehouses(warehouse_count), customers(std::max<int64_t>(10, 3000 / divide)),
          items(std::max<int64_t>(100, 100000 / divide)), customer_a(Mask(1023 / divide)), item_a(Mask(8191 / divide)),
          names(std::min<int64_t>(1000, customers)) {
    }

    int64_t warehouses, customers /* of a district */, items;
    int64_t customer_a, item_a; // NURand's A, scaled with its range
    int64_t names;              // different last names

  private:
    static int64_t Mask(int64_t limit) { // the largest 2^n - 1 up to the limit
        int64_t mask = 1;
        while (mask * 2 + 1 <= limit)
            mask = mask * 2 + 1;
        return mask;
    }
};

} // namespace tpcc
