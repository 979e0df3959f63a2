// SPDX-License-Identifier: BSL-1.0
#include "instance.hpp"

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>

#include <ration/sim/generator.hpp>
#include <ration/sim/profile_files.hpp>

namespace policy_bench {

std::string_view name_of(shape s) {
    constexpr std::string_view names[] = {"arbitrary", "groups", "diminishing", "measured", "mixed", "stubborn"};
    return names[static_cast<std::size_t>(s)];
}

namespace {

/// One job: what its curve is made of.
struct profile {
    shape like;
    double overhead;
    std::int64_t group;

    [[nodiscard]] double at(std::int64_t k, std::mt19937& rng) const {
        auto const n = static_cast<double>(k);
        std::uniform_real_distribution<double> any(0, 1);
        switch (like) {
            case shape::arbitrary:
                return rng() % 8 == 0 && k > 1 ? ration::policies::detail::allocation_dp::impossible : n * any(rng);
            case shape::groups:
                return k < group ? n / static_cast<double>(group) : diminishing(static_cast<double>(k / group * group));
            case shape::stubborn: return k % 2 == 0 ? n : n / 2;
            default: return diminishing(n);
        }
    }

private:
    [[nodiscard]] double diminishing(double n) const { return n * (1 + overhead) / (1 + overhead * n); }
};

[[nodiscard]] double on_grid(double value) { return value < 0 ? value : std::ceil(value * 0x1p20) * 0x1p-20; }

[[nodiscard]] ration::sim::model_library const& profiles() {
    static auto const read = ration::sim::load_profiles(RATION_BENCH_DATA "/pollux");
    if (!read) {
        std::cerr << "bench/data/pollux: " << read.failure().text << '\n';
        std::exit(2);
    }
    return *read;
}

}  // namespace

instance::instance(shape like, std::size_t number_of_jobs, std::int64_t number_of_devices, std::int64_t least_devices,
                   std::uint32_t seed)
    : jobs(number_of_jobs), devices(number_of_devices), least(least_devices), values(number_of_jobs * width) {
    like == shape::measured ? take_measured(seed) : draw(like, seed);
}

void instance::draw(shape like, std::uint32_t seed) {
    std::mt19937 rng(seed);
    for (std::size_t j = 0; j < jobs; ++j) {
        shape const own = like != shape::mixed ? like : rng() % 20 == 0 ? shape::groups : shape::diminishing;
        profile const p{own, std::uniform_real_distribution<double>(0, 0.2)(rng),
                        static_cast<std::int64_t>(1 + rng() % 8)};
        for (std::int64_t k = 1; k <= static_cast<std::int64_t>(most); ++k)
            values[j * width + static_cast<std::size_t>(k)] = on_grid(p.at(k, rng));
    }
}

/// On nodes of four devices. A number of devices on which the job cannot run is impossible; one device is possible to
/// all.
void instance::take_measured(std::uint32_t seed) {
    auto const made = make_profiled({.seed = seed, .jobs = jobs}, profiles());
    std::mt19937 rng(seed);
    std::vector<double> goodput(width), fixed(width);
    std::vector<std::int64_t> batch(width);
    for (std::size_t j = 0; j < jobs; ++j) {
        auto job = made.jobs[j];
        job.most = most;
        double const step = std::uniform_real_distribution<double>(0, job.length)(rng);
        made.models[job.model]->show(job, step, 0, 4, {goodput, fixed, batch});
        double const one = goodput[1] > 0 ? goodput[1] : goodput[most] / static_cast<double>(most);
        for (std::size_t k = 1; k < width; ++k)
            values[j * width + k] = goodput[k] > 0 ? on_grid(goodput[k] / one)
                                    : k == 1       ? 1
                                                   : ration::policies::detail::allocation_dp::impossible;
    }
}

double instance::worth(std::span<std::int64_t const> given) const {
    double sum = 0;
    for (std::size_t j = 0; j < jobs; ++j) sum += values[j * width + static_cast<std::size_t>(given[j])];
    return sum;
}

}  // namespace policy_bench
