// SPDX-License-Identifier: BSL-1.0
#include "addresses.hpp"
#include "headers_b.inc"

addresses addresses_there() { return addresses_here(); }
