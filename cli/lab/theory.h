// SPDX-License-Identifier: Apache-2.0
// Write amplification of a page-mapped drive under random writes, in closed form: what the flash
// model is tested against, and the last column of a matrix. alpha = physical / logical pages
// (over-provisioning + 1). Pure functions.
//
// fifo       Menon & Cody (1995); Desnoyers, "Analytic models of SSD write performance", TOS 2014,
//            section 3
// greedy     Desnoyers, section 4: b pages per superblock; b -> infinity is fifo
// mixed      groups with traffic r_i and size u_i (each sums to 1) that share one frontier, FIFO
// separated  groups that never mix, spare space divided optimally; FIFO inside each (b -> infinity)
// separated_greedy  the same for two groups and greedy collection inside each
//
// A simulated drive of N superblocks of b pages that exports U pages and holds R superblocks back
// (free ones that only collection may use, and the unwritten part of open ones) has alpha_effective
// = (N - R) b / U.
#pragma once
#include <vector>

namespace theory {

struct Group {
    double traffic, size;
};

double lambert_w0(double x); // principal branch of w e^w = x, x >= -1/e
double fifo_alpha(double a); // at which FIFO collection has write amplification a
double fifo(double alpha);
double greedy(double alpha, double pages_per_superblock);
double mixed(double alpha, const std::vector<Group> &groups);
double separated(double alpha, const std::vector<Group> &groups);
double separated_greedy(double alpha, const Group &a, const Group &b, double pages_per_superblock);

} // namespace theory
