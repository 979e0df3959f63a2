// SPDX-License-Identifier: BSL-1.0
#include "common/diagnostics.hpp"

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "common/printable.hpp"

namespace ration::program {

void diagnostics::sort() {
    // std::stable_sort needs a temporary buffer by a call that newer compilers refuse as deprecated.
    auto const before = [](diagnostic const& a, diagnostic const& b) {
        return std::tie(a.line, a.column) < std::tie(b.line, b.column);
    };
    for (auto one = all_.begin(); one != all_.end(); ++one)
        std::rotate(std::upper_bound(all_.begin(), one, *one, before), one, one + 1);
}

void print_to_stderr(diagnostics const& all, std::string_view prefix) {
    for (auto const& one : all)
        std::fprintf(stderr, "%s%s\n", std::string(prefix).c_str(), printable(to_text(one)).c_str());
}

}  // namespace ration::program
