// SPDX-License-Identifier: BSL-1.0
// The bound on the mean completion time against the best of all schedules of few jobs.
#include <array>
#include <limits>
#include <map>

#include "instances.hpp"
#include "support/catch.hpp"

using namespace sim_program;

namespace {

/// Tries all schedules that change devices at full seconds only. The best schedule of all is at least as good as
/// the best of these.
class every_schedule {
    static constexpr std::size_t most_jobs = 3;
    static constexpr double never = std::numeric_limits<double>::infinity();
    using steps = std::array<double, most_jobs>;

    workload const& jobs_;
    std::int64_t devices_;
    std::map<std::pair<int, steps>, double> known_;

    /// Lets a job run for a second. Returns the part of it in which the job was not done.
    [[nodiscard]] double run(std::size_t j, std::int64_t devices, double& step) const {
        auto const& job = jobs_.jobs[j];
        auto const held = static_cast<std::int32_t>(devices);
        double left = 1;
        while (left > 1e-9 && step < job.length - 1e-9) {
            auto const now = jobs_.models[job.model]->at(job, {.spread = {&held, 1}, .devices = devices}, step);
            if (!(now.steps_per_second > 0)) return 1;
            double const until = std::min(job.length, now.until),
                         needed = std::min(left, (until - step) / now.steps_per_second);
            step = needed < left ? until : step + needed * now.steps_per_second;
            left -= needed;
        }
        return 1 - left;
    }

    /// The least time that the jobs from `j` on spend in the system from second `at` on, with `free` devices in this
    /// second.
    [[nodiscard]] double choose(int at, std::size_t j, std::int64_t free, steps const& done) {
        if (j == jobs_.jobs.size()) return from(at + 1, done);
        auto const& job = jobs_.jobs[j];
        if (done[j] >= job.length - 1e-9 || to_seconds(job.submitted) > at) return choose(at, j + 1, free, done);
        double best = 1 + choose(at, j + 1, free, done);
        for (std::int64_t k = job.least; k <= std::min(job.most, free); ++k) {
            steps next = done;
            double const present = run(j, k, next[j]);
            best = std::min(best, present + choose(at, j + 1, free - k, next));
        }
        return best;
    }

    [[nodiscard]] double from(int at, steps const& done) {
        bool all_done = true;
        for (std::size_t j = 0; j < jobs_.jobs.size(); ++j) all_done &= done[j] >= jobs_.jobs[j].length - 1e-9;
        if (all_done) return 0;
        if (at > 14) return never;
        auto const [found, is_new] = known_.try_emplace({at, done}, never);
        if (is_new) {
            double const best = choose(at, 0, devices_, done);
            return known_[{at, done}] = best;
        }
        return found->second;
    }

public:
    every_schedule(workload const& jobs, std::int64_t devices) : jobs_(jobs), devices_(devices) {}
    [[nodiscard]] double mean_jct() { return from(0, {}) / static_cast<double>(jobs_.jobs.size()); }
};

/// Two or three jobs with speeds of their own, some of which cannot run on one device.
[[nodiscard]] workload small_workload(std::minstd_rand& rng, std::int64_t devices) {
    auto const below = [&](std::int64_t n) { return static_cast<std::int64_t>(rng() >> 4) % n; };
    std::vector<job_description> jobs;
    std::vector<std::shared_ptr<job_model const>> models;
    for (std::int64_t i = 0, n = 2 + below(2), at = 0; i < n; ++i, at += below(2)) {
        auto const least = 1 + below(4) / 3;
        jobs.push_back({.submitted = seconds(static_cast<double>(at)),
                        .model = static_cast<std::uint32_t>(i),
                        .request = least,
                        .least = least,
                        .most = least + below(devices - least + 1),
                        .length = 1 + static_cast<double>(below(5)) / 2});
        models.push_back(std::make_shared<bending_model>(static_cast<double>(below(5)) / 4));
    }
    auto made = of_jobs(std::move(jobs));
    made.models = std::move(models);
    return made;
}

}  // namespace

TEST_CASE("the bound is not above the best of all schedules, and often near it") {
    double reached = 0, bounds = 0;
    for (unsigned seed = 1; seed <= 300; ++seed) {
        std::minstd_rand rng(seed);
        std::int64_t const devices = 2 + seed % 2;
        auto const jobs = small_workload(rng, devices);
        double const best = every_schedule(jobs, devices).mean_jct(),
                     bound = limits_of(jobs, of_nodes(1, devices)).mean_jct;
        CAPTURE(seed);
        REQUIRE(bound <= best + 1e-6);
        reached += best;
        bounds += bound;
    }
    CHECK(bounds > 0.9 * reached);
}
