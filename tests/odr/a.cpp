// SPDX-License-Identifier: BSL-1.0
#include "addresses.hpp"
#include "headers_a.inc"

int main() { return addresses_here() == addresses_there() ? 0 : 1; }
