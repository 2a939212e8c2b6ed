// SPDX-License-Identifier: Apache-2.0
// TPC-C's random numbers and texts (specification 5.11, clauses 2.1.5, 2.1.6, 4.3.2), the same on
// every machine for a seed.
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace tpcc {

class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {
        for (char &letter : text_)
            letter = static_cast<char>('a' + Uniform(0, 25));
    }
    int64_t Uniform(int64_t first, int64_t last) {
        return first + static_cast<int64_t>(Next() % static_cast<uint64_t>(last - first + 1));
    }
    bool Percent(int64_t share) {
        return Uniform(1, 100) <= share;
    }
    int64_t NonUniform(int64_t a, int64_t first, int64_t last) {
        return ((Uniform(0, a) | Uniform(first, last)) + a / 3) % (last - first + 1) + first;
    }
    // A piece of one long random text: cheap, and as good for a store that does not compress.
    std::string Text(int64_t shortest, int64_t longest) {
        const auto length = static_cast<size_t>(Uniform(shortest, longest));
        return {text_.data() + Uniform(0, static_cast<int64_t>(text_.size() - length)), length};
    }
    std::string Data() {
        return Percent(10) ? "ORIGINAL" + Text(18, 42) : Text(26, 50);
    }
    std::string Zip() {
        return std::to_string(Uniform(10000, 99999)) + "1111";
    }
    static std::string LastName(int64_t number) {
        static const std::array<const char *, 10> syllables = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                                               "ESE", "ANTI",  "CALLY", "ATION", "EING"};
        const auto n = static_cast<size_t>(number);
        return std::string(syllables[n / 100]) + syllables[n / 10 % 10] + syllables[n % 10];
    }

  private:
    uint64_t Next() { // splitmix64 (Vigna)
        uint64_t z = (state_ += 0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    uint64_t state_;
    std::array<char, 20000> text_;
};

} // namespace tpcc
