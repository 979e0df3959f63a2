// SPDX-License-Identifier: BSL-1.0
#include "common/diagnostics.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <tuple>

#include "common/printable.hpp"

namespace ration::program {

void diagnostics::sort() {
    // std::stable_sort needs a temporary buffer by a call that newer compilers refuse as deprecated.
    std::vector<std::size_t> order(all_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [this](std::size_t at) { return std::tuple(all_[at].line, all_[at].column, at); });
    std::vector<diagnostic> sorted;
    sorted.reserve(order.size());
    for (auto const at : order) sorted.push_back(std::move(all_[at]));
    all_ = std::move(sorted);
}

void print_to_stderr(diagnostics const& all, std::string_view prefix) {
    for (auto const& one : all)
        std::fprintf(stderr, "%s%s\n", std::string(prefix).c_str(), printable(to_text(one)).c_str());
}

}  // namespace ration::program
