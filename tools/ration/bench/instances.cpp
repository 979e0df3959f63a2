// SPDX-License-Identifier: BSL-1.0
#include "bench/instances.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>

#include <ration/host/rng_sequence.hpp>

namespace ration::bench {
namespace {

[[nodiscard]] measured_job drawn_job(rng_sequence& any, std::int64_t units, bool concave) {
    measured_job job;
    job.most = 2 + static_cast<std::int64_t>(any.below(static_cast<std::uint64_t>(units - 1)));
    job.request = 1 + static_cast<std::int64_t>(any.below(static_cast<std::uint64_t>(job.most)));
    job.tenant = static_cast<std::uint32_t>(any.below(2));
    std::int64_t const one = any.once_in(2) ? 4 : 8;  // steps a slot on one device: speed-ups are exact
    std::vector<std::int64_t> gains;
    for (std::int64_t k = 2; k <= job.most; ++k)
        gains.push_back(static_cast<std::int64_t>(any.below(static_cast<std::uint64_t>(one + 1))));
    if (concave) std::ranges::sort(gains, std::greater<>());
    gains.insert(gains.begin(), one);
    std::int64_t steps = 0;
    for (std::size_t k = 1; k <= most_units; ++k) {
        if (k <= gains.size()) steps += gains[k - 1];
        job.speed[k] = static_cast<double>(steps) / slot;
    }
    job.length = static_cast<double>(one * static_cast<std::int64_t>(1 + any.below(4)) +
                                     static_cast<std::int64_t>(any.below(4)));
    return job;
}

/// Calls `each` with every division in which no unit is left over that the last job could take; speeds do not fall, so
/// the best is among them.
void for_all_divisions(instance const& of, std::vector<std::int64_t>& given, std::size_t job, std::int64_t left,
                       std::function<bool(std::size_t)> const& takes_part, std::function<void()> const& each) {
    if (job == of.jobs.size()) return each();
    std::int64_t const most = takes_part(job) ? std::min(left, of.jobs[job].most) : 0;
    for (std::int64_t k = job + 1 == of.jobs.size() ? most : 0; k <= most; ++k) {
        given[job] = k;
        for_all_divisions(of, given, job + 1, left - k, takes_part, each);
    }
}

[[nodiscard]] double speedup(measured_job const& job, std::int64_t k) {
    return job.speed[static_cast<std::size_t>(k)] / job.speed[1];
}

[[nodiscard]] values best_division(instance const& of) {
    values best{};
    std::vector<std::int64_t> given(of.jobs.size());
    for_all_divisions(
        of, given, 0, of.units, [](std::size_t) { return true; },
        [&] {
            double sum = 0, below = 0, least = speedup(of.jobs[0], given[0]);
            for (std::size_t j = 0; j < given.size(); ++j) {
                double const s = speedup(of.jobs[j], given[j]);
                sum += s;
                below += of.jobs[j].tier == 0 ? s : 0;
                least = std::min(least, s);
            }
            best[0] = std::max(best[0], sum);
            best[1] = std::max(best[1], least);
            best[2] = std::max(best[2], below);
        });
    return best;
}

/// The least sum of completion times of what is left, in slots, over all that can be decided at each slot.
class schedules {
    static constexpr std::uint64_t base = 64;
    instance const& of_;
    std::unordered_map<std::uint64_t, std::int64_t> known_;

public:
    explicit schedules(instance const& of) : of_(of) {}

    [[nodiscard]] std::int64_t best(std::vector<std::int64_t> const& left) {
        auto const active = static_cast<std::int64_t>(left.size()) - std::ranges::count(left, 0);
        if (active == 0) return 0;
        std::uint64_t key = 0;
        for (auto const steps : left) key = key * base + static_cast<std::uint64_t>(steps);
        if (auto const found = known_.find(key); found != known_.end()) return found->second;
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        std::vector<std::int64_t> given(left.size());
        for_all_divisions(
            of_, given, 0, of_.units, [&](std::size_t j) { return left[j] > 0; },
            [&] {
                auto const next = after(left, given);
                if (next != left) least = std::min(least, active + best(next));
            });
        return known_[key] = least;
    }

private:
    [[nodiscard]] std::vector<std::int64_t> after(std::vector<std::int64_t> left,
                                                  std::vector<std::int64_t> const& given) const {
        for (std::size_t j = 0; j < left.size(); ++j)
            left[j] = std::max<std::int64_t>(
                left[j] - static_cast<std::int64_t>(of_.jobs[j].speed[static_cast<std::size_t>(given[j])] * slot), 0);
        return left;
    }
};

/// Cores with which the job is `wanted` times as fast as on one; infinity when no number of cores is enough.
[[nodiscard]] double cores_for(measured_job const& job, double wanted) {
    for (std::int64_t k = 1; k <= job.most; ++k) {
        double const before = speedup(job, k - 1), at = speedup(job, k);
        if (at >= wanted) return static_cast<double>(k - 1) + (wanted - before) / (at - before);
    }
    return std::numeric_limits<double>::infinity();
}

/// Cores can be divided, so that the fairest division need not be whole: the largest speed-up that all can have, by
/// bisection.
[[nodiscard]] double fairest(instance const& of) {
    double low = 0, high = static_cast<double>(of.units);
    for (int i = 0; i < 100; ++i) {
        double const middle = (low + high) / 2;
        double needed = 0;
        for (auto const& job : of.jobs) needed += cores_for(job, middle);
        (needed <= static_cast<double>(of.units) ? low : high) = middle;
    }
    return low;
}

struct made_for {
    std::string_view id;
    objective what;
};
constexpr made_for purposes[] = {
    {"ration.elastic-batch-dp", objective::speedup},
    {"ration.pollux", objective::speedup},
    {"ration.sia", objective::speedup},
    {"ration.max-min", objective::fairness},
    {"ration.equal-share", objective::fairness},
    {"ration.tradl", objective::targets},
    {"ration.good-enough", objective::targets},
    {"ration.sjf", objective::completion},
    {"ration.srtf", objective::completion},
    {"ration.las", objective::completion},
    {"ration.gittins", objective::completion},
    {"ration.optimus", objective::completion},
    {"ration.afs", objective::completion},
};

}  // namespace

std::size_t objective_of(std::string_view id) noexcept {
    for (auto const& one : purposes)
        if (one.id == id) return static_cast<std::size_t>(one.what);
    return objective_count;
}

std::vector<instance> instances_of(std::uint64_t seed, shared what) {
    std::vector<instance> all;
    bool const cores = what == shared::cores;
    rng_sequence any(seed * 2 + cores);
    for (std::size_t i = 0; i < instance_count; ++i) {
        instance one;
        std::size_t const jobs = 3 + i % 2;
        one.units = static_cast<std::int64_t>(2 * jobs - 1 + any.below(2));
        for (std::size_t j = 0; j < jobs; ++j) {
            one.jobs.push_back(drawn_job(any, one.units, cores || !any.once_in(3)));
            one.jobs.back().tier = j == 0 ? 0 : j == 1 ? 1 : static_cast<std::uint32_t>(any.below(2));
        }
        all.push_back(std::move(one));
    }
    return all;
}

values best_of(instance const& of, shared what) {
    values best = best_division(of);
    if (what == shared::cores) {
        best[static_cast<std::size_t>(objective::fairness)] = fairest(of);
        return best;
    }
    std::vector<std::int64_t> left;
    left.reserve(of.jobs.size());
    for (auto const& job : of.jobs) left.push_back(static_cast<std::int64_t>(job.length));
    best[static_cast<std::size_t>(objective::completion)] =
        static_cast<double>(schedules(of).best(left)) / static_cast<double>(left.size());
    return best;
}

}  // namespace ration::bench
