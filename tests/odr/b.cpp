// SPDX-License-Identifier: BSL-1.0
#include "headers_b.inc"

#include "addresses.hpp"

addresses addresses_there() {
    return addresses_here();
}
