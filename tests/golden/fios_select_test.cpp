// SPDX-License-Identifier: Apache-2.0
// From attributes to features, against FIOS (TOS'22) section 3.6, Fig. 7 and Table 3.
#include "support/catch.hpp"

#include "rivals/fios/fios_select.h"

#include <map>
#include <string>

namespace {

// From which on an attribute of Table 3 counts as high: ours, the paper leaves it to its user.
constexpr trib_fios_attributes LIMITS = {0.5, 50, 20, 64, 100};

std::string letters(uint32_t features) {
    char text[TRIB_FIOS_FEATURES + 1];
    return trib_fios_feature_letters(features, text);
}

std::string features_of(uint32_t theta) {
    return letters(trib_fios_select(theta).features);
}

} // namespace

TEST_CASE("the three selections that the paper's text fixes") {
    REQUIRE(features_of(0b11001) == "AC"); // MSR-prn0, section 3.6: [1 1 0 0 1], neither S nor F
    // MSR-hm0 and hm1, section 6.1: C and FC are the best of each.
    REQUIRE(features_of(0b11000) == "C");
    REQUIRE(features_of(0b11100) == "FC");
}

TEST_CASE("all workloads of Table 3") {
    struct Row {
        const char *name;
        trib_fios_attributes found; // ACF, RW %, R, S in KB, lambda in GB a day
        uint32_t theta;
        const char *features;
    };
    const Row rows[] = {
        {"Postmark", {0.99, 98.29, 37.61, 26, 43.87}, 0b11100, "FC"},
        {"IOzone", {0.98, 49.45, 1.21, 197, 28.08}, 0b10010, "S"},
        {"FIU-1", {0.78, 75, 157.35, 9, 139.4}, 0b11101, "FAC"},
        {"FIU-2", {0.87, 82, 32.89, 8, 114.72}, 0b11101, "FAC"},
        {"FIU-3", {0.97, 57, 182.04, 8, 185.09}, 0b11101, "FAC"},
        {"MSR-hm0", {0.92, 66, 4.48, 15, 58.51}, 0b11000, "C"},
        {"MSR-hm1", {0.95, 58, 157.37, 31, 1.57}, 0b11100, "FC"},
        {"MSR-mds0", {0.98, 69, 32.47, 19, 21.04}, 0b11100, "FC"},
        {"MSR-prn0", {0.98, 61, 4.72, 25, 131.33}, 0b11001, "AC"},
        {"MSR-proj0", {1, 27, 6.27, 29, 412.19}, 0b10001, "A"},
        {"UMASS-1", {0.21, 64, 1242.93, 8, 575.94}, 0b01101, "F"},
        {"UMASS-2", {0.02, 76, 1.13, 5, 76.6}, 0b01000, "C"},
    };
    for (const Row &row : rows) {
        CAPTURE(row.name);
        REQUIRE(trib_fios_high(&row.found, &LIMITS) == row.theta);
        REQUIRE(features_of(row.theta) == row.features);
    }
}

TEST_CASE("a row of the base matrix is kept if each of its attributes is high") {
    // Rows: 1 ACF+lambda A, 2 ACF+RW C, 3 S S, 4 ACF+S S, 5 R F, 6 ACF+R F.
    REQUIRE(trib_fios_select(0b11001).rows == 0b000011);
    REQUIRE(trib_fios_select(0b00010).rows == 0b000100);
    REQUIRE(trib_fios_select(0b10010).rows == 0b001100);
    REQUIRE(trib_fios_select(0b00100).rows == 0b010000);
    REQUIRE(trib_fios_select(0b11111).rows == 0b111111);
    REQUIRE(features_of(0b11111) == "FSAC");
}

TEST_CASE("of 32 workloads 18 are explained by their rows, 9 in part, 5 by none") {
    std::map<std::string, std::string> fallbacks;
    unsigned exact = 0, partly = 0;
    for (uint32_t theta = 0; theta < TRIB_FIOS_THETAS; theta++) {
        const trib_fios_selection selection = trib_fios_select(theta);
        CAPTURE(theta);
        REQUIRE(selection.features != 0); // section 3.6: at least one
        REQUIRE(selection.fallback == (selection.rows == 0));
        REQUIRE((selection.uncovered & ~theta) == 0);
        if (selection.fallback) {
            std::string bits;
            for (int bit = 4; bit >= 0; bit--)
                bits += theta >> bit & 1 ? '1' : '0';
            fallbacks[bits] = letters(selection.features);
        } else if (selection.uncovered) {
            partly++;
        } else {
            exact++;
        }
    }
    REQUIRE(exact == 18);
    REQUIRE(partly == 9);
    REQUIRE(fallbacks == std::map<std::string, std::string>{
                             {"00000", "F"}, {"00001", "A"}, {"01000", "C"}, {"01001", "AC"}, {"10000", "C"}});
}

TEST_CASE("what no kept row accounts for is named") {
    REQUIRE(trib_fios_select(0b01101).uncovered == 0b01001); // UMASS-1: F by R; RW and lambda left
    REQUIRE(trib_fios_select(0b11001).uncovered == 0);
}

TEST_CASE("limits are inclusive") {
    REQUIRE(trib_fios_high(&LIMITS, &LIMITS) == 0b11111);
    const trib_fios_attributes below = {0.49, 49.9, 19.9, 63.9, 99.9};
    REQUIRE(trib_fios_high(&below, &LIMITS) == 0);
}
