// SPDX-License-Identifier: Apache-2.0
// What other processes of the machine do does not reach a program by way of the library.
#include "hazard.hpp"

using namespace trib_hazard;

TRIB_HAZARD("a mapped file beside 60000 locks of another process", {{program("neighbours"), "locks"}})
