// SPDX-License-Identifier: BSL-1.0
// Two tenants on one device beside a device for each: see perseus.hpp.
#include "perseus.hpp"

int main() { return published::conclude(published::perseus_scenario()); }
