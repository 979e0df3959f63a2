// SPDX-License-Identifier: BSL-1.0
#include "headers_a.inc"

#include "addresses.hpp"

int main() {
    return addresses_here() == addresses_there() ? 0 : 1;
}
