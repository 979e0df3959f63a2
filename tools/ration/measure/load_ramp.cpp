// SPDX-License-Identifier: BSL-1.0
#include "measure/load_ramp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ration::program {
namespace {

constexpr double growth = 1.5;
constexpr double lowest_rate = 1e-3;  // of the first one, below which a server counts as one that does not answer

/// The least value that `part` of the sorted values do not exceed.
[[nodiscard]] double quantile_of(std::vector<double> const& sorted, double part) {
    auto const rank = std::ceil(part * static_cast<double>(sorted.size()));
    return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace

load_pass pass_of(double offered, double duration, std::vector<double>& latencies, std::vector<double>& lateness) {
    std::ranges::sort(latencies);
    std::ranges::sort(lateness);
    return {.offered = offered,
            .served = static_cast<double>(latencies.size()) / duration,
            .p50 = quantile_of(latencies, 0.5),
            .p95 = quantile_of(latencies, 0.95),
            .lateness = quantile_of(lateness, 0.95)};
}

std::optional<double> load_ramp::next() const noexcept {
    if (passes_.size() >= rules_.passes || rate_ < lowest_rate * rules_.first) return std::nullopt;
    if (passed_ && failed_ && *failed_ <= *passed_ * (1 + rules_.precision)) return std::nullopt;
    return rate_;
}

void load_ramp::add(load_pass const& pass) {
    passes_.push_back(pass);
    repeats_ = !is_good(pass) && !repeats_;
    if (repeats_) return;
    (is_good(pass) ? passed_ : failed_) = rate_;
    if (passed_ && failed_)
        rate_ = (*passed_ + *failed_) / 2;
    else if (passed_)
        rate_ = *passed_ * growth;
    else
        rate_ /= growth;  // every pass failed, the last one at this rate
}

/// In a pass that is not much longer than the limit, the queue of an overloaded server stays below the limit.
bool load_ramp::add(load_pass pass, load_pass const& beside) {
    if (!is_good(beside)) pass.p95 = std::numeric_limits<double>::infinity();
    add(pass);
    return is_good(pass);
}

bool load_ramp::is_good(load_pass const& pass) const noexcept {
    return pass.p95 <= rules_.limit && pass.served >= rules_.keeps_up * pass.offered;
}

load_pass const* load_ramp::best() const noexcept {
    load_pass const* best = nullptr;
    for (auto const& one : passes_)
        if (is_good(one) && (best == nullptr || one.offered > best->offered)) best = &one;
    return best;
}

}  // namespace ration::program
