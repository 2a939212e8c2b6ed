// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "database.hpp"
#include "random.hpp"
#include "size.hpp"

namespace tpcc {

void CreateTables(Database &database);

// Fills them (clause 4.3.3), a transaction per table, warehouse and district. Money is in cents,
// time in transactions.
void FillTables(Database &database, Random &random, const Size &size);

// xxh3 of every value of every table in the order of its key: equal databases, equal numbers.
uint64_t Checksum(Database &database);

} // namespace tpcc
