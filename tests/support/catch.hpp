// SPDX-License-Identifier: Apache-2.0
// The one place that knows which Catch2 this is: Debian 12 packages 2.13, newer systems 3.x.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
