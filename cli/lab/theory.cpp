// SPDX-License-Identifier: Apache-2.0
#include "lab/theory.h"

#include <cmath>

namespace theory {

namespace {

// Root of a monotone function between low and high.
template <class F> double bisect(double low, double high, F f) {
    bool rising = f(high) > f(low);
    for (int i = 0; i < 200; i++) {
        double middle = low + (high - low) / 2;
        ((f(middle) > 0) == rising ? high : low) = middle;
    }
    return low + (high - low) / 2;
}

} // namespace

// Halley's iteration (Corless et al., 1996).
double lambert_w0(double x) {
    double p = std::sqrt(std::fmax(0, 2 * (std::exp(1.0) * x + 1)));
    double w = x < 0 ? -1 + p - p * p / 3 : std::log1p(x);
    for (int i = 0; i < 50; i++) {
        double e = std::exp(w), f = w * e - x, step = f / (e * (w + 1) - (w + 2) * f / (2 * w + 2));
        if (!std::isfinite(step) || std::fabs(step) < 1e-16)
            break;
        w -= step;
    }
    return w;
}

double fifo_alpha(double a) {
    return a * std::log(a / (a - 1));
}

double fifo(double alpha) {
    return bisect(1 + 1e-12, 1e6, [&](double a) { return alpha - fifo_alpha(a); });
}

double greedy(double alpha, double pages_per_superblock) {
    double b = pages_per_superblock, k = 1 + 1 / (2 * b);
    double x0 = 0.5 - b / alpha * lambert_w0(-k * alpha * std::exp(-k * alpha));
    return b / (b - x0 + 1);
}

double mixed(double alpha, const std::vector<Group> &groups) {
    return bisect(1, 1e6, [&](double a) {
        double sum = 0;
        for (const Group &g : groups)
            sum += g.traffic / -std::expm1(-g.traffic * alpha / (g.size * a));
        return a - sum;
    });
}

// Lagrange: r_i / u_i = mu (1 / (A_i - 1) - ln(A_i / (A_i - 1))) for every group, spare space used
// up.
double separated(double alpha, const std::vector<Group> &groups) {
    auto amplification = [](const Group &g, double mu) {
        return bisect(1 + 1e-12, 1e6,
                      [&](double a) { return g.traffic / g.size / mu - (1 / (a - 1) - std::log(a / (a - 1))); });
    };
    double log_mu = bisect(-30, 60, [&](double m) {
        double used = 0;
        for (const Group &g : groups)
            used += g.size * fifo_alpha(amplification(g, std::exp(m)));
        return alpha - used;
    });
    double sum = 0;
    for (const Group &g : groups)
        sum += g.traffic * amplification(g, std::exp(log_mu));
    return sum;
}

double separated_greedy(double alpha, const Group &a, const Group &b, double pages_per_superblock) {
    auto total = [&](double alpha_a) {
        double alpha_b = (alpha - a.size * alpha_a) / b.size;
        return a.traffic * std::fmax(1, greedy(alpha_a, pages_per_superblock)) +
               b.traffic * std::fmax(1, greedy(alpha_b, pages_per_superblock));
    };
    // Golden section: each group has at least its own size and some spare.
    const double golden = (std::sqrt(5.0) - 1) / 2, least = 1 + 1e-4;
    double low = least, high = (alpha - b.size * least) / a.size;
    while (high - low > 1e-9) {
        double x = high - golden * (high - low), y = low + golden * (high - low);
        (total(x) < total(y) ? high : low) = total(x) < total(y) ? y : x;
    }
    return total(low);
}

} // namespace theory
