// SPDX-License-Identifier: BSL-1.0
#include "instance.hpp"

#include <cmath>
#include <random>

namespace policy_bench {

std::string_view name_of(shape s) {
    constexpr std::string_view names[] = {"arbitrary", "groups", "diminishing", "mixed", "stubborn"};
    return names[static_cast<std::size_t>(s)];
}

namespace {

/// One job: what its curve is made of.
struct profile {
    shape like;
    double overhead;
    std::int64_t group;

    [[nodiscard]] double at(std::int64_t k, std::mt19937& dice) const {
        auto const n = static_cast<double>(k);
        std::uniform_real_distribution<double> any(0, 1);
        switch (like) {
            case shape::arbitrary: return dice() % 8 == 0 && k > 1 ? ration::policies::detail::allocation_dp::impossible : n * any(dice);
            case shape::groups: return k < group ? n / static_cast<double>(group) : diminishing(static_cast<double>(k / group * group));
            case shape::stubborn: return k % 2 == 0 ? n : n / 2;
            default: return diminishing(n);
        }
    }

private:
    [[nodiscard]] double diminishing(double n) const { return n * (1 + overhead) / (1 + overhead * n); }
};

}  // namespace

instance::instance(shape like, std::size_t number_of_jobs, std::int64_t number_of_devices, std::int64_t least_devices, std::uint32_t seed)
    : jobs(number_of_jobs), devices(number_of_devices), least(least_devices), values(number_of_jobs * width) {
    std::mt19937 dice(seed);
    for (std::size_t j = 0; j < jobs; ++j) {
        shape const own = like != shape::mixed ? like : dice() % 20 == 0 ? shape::groups : shape::diminishing;
        profile const p{own, std::uniform_real_distribution<double>(0, 0.2)(dice), static_cast<std::int64_t>(1 + dice() % 8)};
        for (std::int64_t k = 1; k <= static_cast<std::int64_t>(most); ++k) {
            double const value = p.at(k, dice);
            values[j * width + static_cast<std::size_t>(k)] = value < 0 ? value : std::ceil(value * 0x1p20) * 0x1p-20;
        }
    }
}

double instance::worth(std::span<std::int64_t const> given) const {
    double sum = 0;
    for (std::size_t j = 0; j < jobs; ++j) sum += values[j * width + static_cast<std::size_t>(given[j])];
    return sum;
}

}  // namespace policy_bench
