// SPDX-License-Identifier: BSL-1.0
// For libFuzzer: clang++ -std=c++20 -fsanitize=fuzzer,address,undefined, with include, backends/progress/include and tests to include from.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "invariants.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (!progress_test::broken_promise({reinterpret_cast<char const*>(data), size}).empty()) {
        std::abort();
    }
    return 0;
}
