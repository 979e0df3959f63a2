// SPDX-License-Identifier: BSL-1.0
// Whole workloads of Pollux' artifact under Tiresias: its simulator imitated round by round, with the times of our
// model. What differs from the published means is the model's alone.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <ration/sim/profile_files.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::sim;
using Catch::Approx;

namespace {

constexpr std::int64_t nodes = 16, devices_per_node = 4;

struct running_job {
    job_description of;
    job_model const* model = nullptr;
    std::vector<std::int32_t> on{};    // devices on each node; empty while it waits
    double progress = 0, restart = 0;  // seconds of restart that are left
    double executed = 0, done = -1;
    bool demoted = false;

    [[nodiscard]] std::vector<std::int32_t> spread() const {
        std::vector<std::int32_t> s;
        std::copy_if(on.begin(), on.end(), std::back_inserter(s), [](std::int32_t d) { return d > 0; });
        std::sort(s.begin(), s.end(), std::greater<>());
        return s;
    }

    /// Sixty seconds from `now` on; ends of rows of the statistics are rounded to whole seconds.
    void run(double now) {
        if (on.empty()) return;
        std::vector<std::int32_t> const s = spread();
        double const begin = now + std::min(restart, 60.0);
        double left = now + 60 - begin, clock = begin;
        restart = 0;
        executed += 60;
        while (left > 0 && done < 0) {
            speed_segment const p = model->at(of, {.spread = s, .devices = of.request}, progress);
            double const next = std::min(p.until, of.length);
            if (progress + p.steps_per_second * left < next) {
                progress += p.steps_per_second * left;
                break;
            }
            double const taken = std::nearbyint((next - progress) / p.steps_per_second);
            progress = next;
            clock += taken;
            left -= taken;
            if (next == of.length) done = clock;
        }
    }
};

/// Tiresias with two queues, first come, first served in each; after 16 device-hours a job goes to the end of the
/// second.
class tiresias {
    std::vector<running_job*> first_, second_;

public:
    void arrive(running_job& job) { first_.push_back(&job); }

    void decide() {
        for (auto* const queue : {&first_, &second_})
            std::erase_if(*queue, [](running_job const* j) { return j->done >= 0; });
        demote();
        std::int64_t left = nodes * devices_per_node;
        std::vector<running_job*> chosen;
        for (auto const* const queue : {&first_, &second_})
            for (running_job* const job : *queue) {
                bool const fits = job->of.request <= left;
                if (fits) {
                    left -= job->of.request;
                    chosen.push_back(job);
                }
                if (!fits) job->on.clear();
            }
        std::vector<std::int32_t> free(nodes, devices_per_node);
        for (auto const* const job : chosen)
            for (std::size_t n = 0; n < job->on.size(); ++n) free[n] -= job->on[n];
        for (running_job* const job : chosen)
            if (job->on.empty()) place(*job, free);
    }

private:
    void demote() {
        std::vector<running_job*> demoted;
        std::copy_if(first_.begin(), first_.end(), std::back_inserter(demoted), [](running_job const* j) {
            return j->executed * static_cast<double>(j->of.request) >= 3600 * 16;
        });
        std::sort(demoted.begin(), demoted.end());  // those of one round in the order in which they were submitted
        std::erase_if(first_,
                      [&](running_job* j) { return std::find(demoted.begin(), demoted.end(), j) != demoted.end(); });
        second_.insert(second_.end(), demoted.begin(), demoted.end());
    }
    /// On the emptiest node each time.
    static void place(running_job& job, std::vector<std::int32_t>& free) {
        job.on.assign(free.size(), 0);
        for (auto left = static_cast<std::int32_t>(job.of.request); left > 0;) {
            auto const n = static_cast<std::size_t>(std::max_element(free.begin(), free.end()) - free.begin());
            std::int32_t const taken = std::min(left, free[n]);
            job.on[n] += taken;
            free[n] -= taken;
            left -= taken;
        }
        job.restart = job.of.restart_cost;
    }
};

/// `first`: the time of the first submission on the clock of the rounds, in seconds.
[[nodiscard]] double mean_completion(workload const& w, double first) {
    std::vector<running_job> jobs;
    for (auto const& of : w.jobs) jobs.push_back({.of = of, .model = w.models[of.model].get()});
    tiresias policy;
    std::size_t arrived = 0, done = 0;
    for (double now = 0; done < jobs.size();) {
        for (auto& job : jobs)
            if (job.done < 0) {
                job.run(now);
                done += job.done >= 0;
            }
        now += 60;
        for (; arrived < jobs.size() && first + to_seconds(jobs[arrived].of.submitted) <= now; ++arrived)
            policy.arrive(jobs[arrived]);
        policy.decide();
    }
    double sum = 0;
    for (auto const& job : jobs) sum += job.done - first - to_seconds(job.of.submitted);
    return sum / static_cast<double>(jobs.size());
}

}  // namespace

TEST_CASE("four workloads under Tiresias take on average as long as was published", "[profile]") {
    auto const library = load_profiles(RATION_BENCH_DATA "/pollux");
    REQUIRE(library);
    auto const mean = [&](int number, double first) {
        auto const w = trace::read_file(
            (RATION_BENCH_DATA "/pollux/workload-" + std::to_string(number) + ".csv").c_str(), *library);
        REQUIRE(w);
        return mean_completion(*w, first);
    };
    CHECK(mean(1, 107) == Approx(2474).epsilon(.01));
    CHECK(mean(2, 498) == Approx(5145).epsilon(.01));
    CHECK(mean(3, 791) == Approx(3876).epsilon(.01));
    CHECK(mean(4, 259) == Approx(3280).epsilon(.01));
}
