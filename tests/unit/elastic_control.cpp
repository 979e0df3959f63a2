// SPDX-License-Identifier: BSL-1.0
// Negative control: where no job can vary its batch, elastic_batch_dp is the autoscaler that never touches batches, to
// the bit. And what makes the difference where jobs can.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>

#include "elastic_host.hpp"
#include "support/catch.hpp"

using namespace unit;
using ration::policies::elastic_batch_dp_parameters;
using ration::policies::elastic_batch_overflow;

namespace {

constexpr std::size_t devices = 8;

/// How a job's step takes its time: on one device by its part of the batch, and between devices by their number. No
/// overlap.
struct model {
    double fixed, per_sample, exchange;
    std::int64_t most_per_device;  // samples

    [[nodiscard]] double rate(std::int64_t batch, std::size_t k) const {
        auto const n = static_cast<double>(k), b = static_cast<double>(batch);
        return b / (fixed + per_sample * b / n + (k > 1 ? exchange * (n - 1) / n : 0));
    }
    [[nodiscard]] double base() const { return rate(most_per_device, 1); }
    [[nodiscard]] bool possible(std::int64_t batch, std::size_t k) const {
        return batch >= static_cast<std::int64_t>(k) && batch <= most_per_device * static_cast<std::int64_t>(k);
    }
};

struct job {
    std::uint64_t id;
    model m;
    std::int64_t batch, least_batch, most_batch;
    double samples;  // left to do
};

/// The job's best batch and its F at each number of devices, as a host computes them.
void show(elastic_asked& a, std::size_t row, job const& j) {
    for (std::size_t k = 1; k <= devices; ++k) {
        double best = 0;
        std::int64_t at = 0;
        for (std::int64_t b = j.least_batch; b <= j.most_batch; ++b)
            if (j.m.possible(b, k) && j.m.rate(b, k) > best) {
                best = j.m.rate(b, k);
                at = b;
            }
        a.on.store[a.speedup][row * 9 + k] = best / j.m.base();
        a.on.store[a.batch][row * 9 + k] = at;
    }
    a.on.set_bounds(row, resource_id::batch, j.least_batch, j.most_batch);
}

/// The baseline, written down a second time: batches are as submitted, and every allocation is tried.
struct fixed_batch_autoscaler {
    std::vector<job const*> in;
    std::vector<std::size_t> now, best;
    double most = 0;

    void attempt(std::size_t j, std::size_t left) {
        if (j == 0) {
            double sum = 0;
            for (std::size_t i = 0; i < in.size(); ++i) sum += in[i]->m.rate(in[i]->batch, now[i]) / in[i]->m.base();
            if (sum > most) {
                most = sum;
                best = now;
            }
            return;
        }
        for (std::size_t k = 1; k <= left; ++k)
            if (in[j - 1]->m.possible(in[j - 1]->batch, k)) {
                now[j - 1] = k;
                attempt(j - 1, left - k);
            }
    }
    [[nodiscard]] bool solve() {
        most = 0;
        now.assign(in.size(), 0);
        best.clear();
        attempt(in.size(), devices);
        return in.empty() || !best.empty();
    }
    /// Finished jobs go; each arrival, in order, stays if there is a solution with it.
    [[nodiscard]] counts decide(std::vector<job> const& jobs, std::vector<std::uint64_t>& admitted) {
        in.clear();
        for (bool const known : {true, false})
            for (auto const& j : jobs) {
                if ((std::find(admitted.begin(), admitted.end(), j.id) != admitted.end()) != known) continue;
                in.push_back(&j);
                if (!known && !solve()) in.pop_back();
            }
        static_cast<void>(solve());
        admitted.clear();
        counts all(jobs.size());
        for (std::size_t i = 0; i < in.size(); ++i) {
            admitted.push_back(in[i]->id);
            all[static_cast<std::size_t>(in[i] - jobs.data())] = static_cast<std::int64_t>(best[i]);
        }
        return all;
    }
};

[[nodiscard]] job any_job(std::mt19937& rng, std::uint64_t id, bool elastic) {
    std::uniform_real_distribution<double> any(0, 1);
    std::int64_t const most_per_device = 16 + rng() % 48,
                       batch = most_per_device * static_cast<std::int64_t>(1 + rng() % 4);
    model const m{0.01 + 0.02 * any(rng), 0.001 + 0.002 * any(rng), 0.15 * any(rng), most_per_device};
    return {id, m, batch, elastic ? batch / 4 : batch, elastic ? batch * 4 : batch, m.base() * (20 + rng() % 60)};
}

struct result_of_run {
    std::size_t completed = 0, dropped = 0;
    bool as_baseline = true, batches_stay = true;
    std::vector<counts> schedule;
};

/// On average `arrivals` jobs arrive per second; a job ends when its samples are done.
[[nodiscard]] result_of_run run(bool elastic, double arrivals, elastic_batch_overflow overflow, bool compare,
                                int length = 300) {
    std::mt19937 rng(11);
    elastic_asked a(0, devices, {.interval = 0, .overflow = overflow, .restart_penalty = 0, .horizon = 0});
    fixed_batch_autoscaler baseline;
    std::vector<job> jobs;
    std::vector<std::uint64_t> admitted;
    result_of_run r;
    std::uint64_t id = 0;
    for (int second = 0; second < length; ++second) {
        for (double wait = std::exponential_distribution<double>(arrivals)(rng); wait < 1 && jobs.size() < 12;
             wait += std::exponential_distribution<double>(arrivals)(rng)) {
            jobs.push_back(any_job(rng, ++id, elastic));
            a.arrives(id);
            show(a, jobs.size() - 1, jobs.back());
        }
        counts const got = a.decide(second);
        r.schedule.push_back(got);
        REQUIRE(a.rejected.empty());
        if (compare) r.as_baseline = r.as_baseline && got == baseline.decide(jobs, admitted);
        auto const batches = a.granted(resource_id::batch);
        for (std::size_t row = jobs.size(); row-- > 0;) {
            bool const was_dropped = a.reason(row) == elastic_asked::policy::dropped;
            if (got[row] > 0) {
                r.batches_stay = r.batches_stay && batches[row] == jobs[row].batch;
                jobs[row].samples -= jobs[row].m.rate(batches[row], static_cast<std::size_t>(got[row]));
            }
            if (jobs[row].samples > 0 && !was_dropped) continue;
            ++(was_dropped ? r.dropped : r.completed);
            jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(row));
            a.leaves(row);
        }
    }
    return r;
}

}  // namespace

TEST_CASE("elastic_batch_dp with fixed batches: is the fixed-batch autoscaler, bit for bit", "[elastic][control]") {
    for (auto const overflow : {elastic_batch_overflow::queue, elastic_batch_overflow::drop})
        for (double const load : {0.02, 0.1, 0.4}) {
            auto const fixed = run(false, load, overflow, true);
            INFO("arrivals per second " << load);
            CHECK(fixed.as_baseline);
            CHECK(fixed.batches_stay);
            CHECK(fixed.completed > 0);
            // The comparison sees a difference where there is one
            auto const elastic = run(true, load, overflow, true);
            CHECK_FALSE(elastic.batches_stay);
            if (load > 0.05) CHECK_FALSE(elastic.as_baseline);  // one job alone has all devices in any case
        }
}

TEST_CASE("elastic batches: as many completed at low load, more completed and fewer dropped at high load",
          "[elastic][control]") {
    auto const drop = elastic_batch_overflow::drop;
    auto const low_fixed = run(false, 0.005, drop, false, 3000), low = run(true, 0.005, drop, false, 3000);
    CHECK(low.completed == low_fixed.completed);
    CHECK(low.dropped == 0);
    auto const high_fixed = run(false, 0.4, drop, false, 3000), high = run(true, 0.4, drop, false, 3000);
    INFO("completed " << high_fixed.completed << " -> " << high.completed << ", dropped " << high_fixed.dropped
                      << " -> " << high.dropped);
    CHECK(high.completed > high_fixed.completed * 5 / 4);
    CHECK(high.dropped < high_fixed.dropped);
#ifdef __GLIBCXX__  // the jobs are drawn by the standard library's distributions
    char sentence[100];
    std::snprintf(sentence, sizeof sentence, "%zu complete instead of %zu, and %zu are dropped instead of %zu",
                  high.completed, high_fixed.completed, high.dropped, high_fixed.dropped);
    std::ifstream page(RATION_DOCS "/elastic-batch-dp.md");
    std::string words, word;
    while (page >> word) words += word + ' ';
    CHECK(words.find(sentence) != std::string::npos);
#endif
    CHECK(run(true, 0.4, drop, false).schedule == run(true, 0.4, drop, false).schedule);
}
