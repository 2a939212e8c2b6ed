// SPDX-License-Identifier: Apache-2.0
#include "compare/histogram.h"

#include <algorithm>

namespace cli {

namespace {
constexpr unsigned SUB_BITS = 5;
static_assert(Histogram::BUCKETS_PER_OCTAVE == 1u << SUB_BITS, "the bucket index is built from bits");
} // namespace

size_t Histogram::bucket_of(uint64_t value) {
    if (value < 2 * BUCKETS_PER_OCTAVE)
        return value;
    unsigned exponent = 63u - static_cast<unsigned>(__builtin_clzll(value));
    unsigned shift = exponent - SUB_BITS;
    return size_t{shift} * BUCKETS_PER_OCTAVE + (value >> shift);
}

double Histogram::bucket_middle(size_t bucket) {
    if (bucket < 2 * BUCKETS_PER_OCTAVE)
        return static_cast<double>(bucket);
    size_t shift = bucket / BUCKETS_PER_OCTAVE - 1;
    double low = static_cast<double>(bucket - shift * BUCKETS_PER_OCTAVE);
    return (low + 0.5) * static_cast<double>(uint64_t{1} << shift);
}

void Histogram::add(uint64_t value, uint64_t weight) {
    size_t bucket = bucket_of(value);
    if (bucket >= weights_.size())
        weights_.resize(bucket + 1);
    weights_[bucket] += weight;
    weight_ += weight;
    sum_ += static_cast<double>(value) * static_cast<double>(weight);
}

void Histogram::merge(const Histogram &other) {
    weights_.resize(std::max(weights_.size(), other.weights_.size()));
    for (size_t i = 0; i < other.weights_.size(); i++)
        weights_[i] += other.weights_[i];
    weight_ += other.weight_;
    sum_ += other.sum_;
}

double Histogram::quantile(double fraction) const {
    if (weight_ == 0)
        return 0;
    double wanted = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(weight_);
    double seen = 0;
    size_t last = 0;
    for (size_t i = 0; i < weights_.size(); i++) {
        if (weights_[i] == 0)
            continue;
        seen += static_cast<double>(weights_[i]);
        last = i;
        if (seen >= wanted)
            break;
    }
    return bucket_middle(last);
}

double Histogram::mean() const {
    return weight_ ? sum_ / static_cast<double>(weight_) : 0;
}

} // namespace cli
