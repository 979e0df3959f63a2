// SPDX-License-Identifier: BSL-1.0
// Catch2 2.13 and 3 under one name.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // as Catch2 2.13 has it
#else
#include <catch2/catch.hpp>
namespace Catch {
using Catch::Detail::Approx;
}
#endif
