// SPDX-License-Identifier: BSL-1.0
// What the tests' precompiled header is made with.
#include "support/catch.hpp"
