// SPDX-License-Identifier: BSL-1.0
// A small scheduler of another design: it has its own jobs, its own units and its own loop, and does not include
// ration.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

namespace campus {

/// A training job. Its loss falls with the core-seconds that it gets, fast at first. Students hand in a model once its
/// loss is `good_enough`, and stop it at `perfect`.
class job {
    int number_;
    int submitted_;  // second
    double good_enough_, perfect_, steps_per_second_;
    double core_seconds_ = 0, cores_ = 0, limit_ = 1e9;
    int handed_in_ = -1, stopped_ = -1;

public:
    job(int number, int submitted, double good_enough, double perfect, double steps_per_second)
        : number_(number), submitted_(submitted), good_enough_(good_enough), perfect_(perfect),
          steps_per_second_(steps_per_second) {}

    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] int submitted() const { return submitted_; }
    [[nodiscard]] double good_enough() const { return good_enough_; }
    [[nodiscard]] double perfect() const { return perfect_; }
    [[nodiscard]] double loss() const { return 0.1 + 2.2 * std::exp(-core_seconds_ / steps_per_second_); }
    [[nodiscard]] double cores() const { return cores_; }
    [[nodiscard]] double limit() const { return limit_; }
    [[nodiscard]] int handed_in() const { return handed_in_; }
    [[nodiscard]] int stopped() const { return stopped_; }

    void limit(double cores) { limit_ = cores; }

    /// One second on these cores.
    void train(double cores, int second) {
        cores_ = cores;
        core_seconds_ += cores;
        if (handed_in_ < 0 && loss() <= good_enough_) handed_in_ = second;
        if (loss() <= perfect_) stopped_ = second;
    }
};

using job_list = std::vector<std::unique_ptr<job>>;

class scheduler {
    double cores_;
    job_list waiting_, running_, finished_;

public:
    explicit scheduler(double cores) : cores_(cores) {}

    [[nodiscard]] double cores() const { return cores_; }
    [[nodiscard]] job_list const& finished() const { return finished_; }
    void submit(job one) { waiting_.push_back(std::make_unique<job>(std::move(one))); }

    /// The job may use at most these cores from now on.
    void limit(int number, double cores) {
        for (auto const& j : running_)
            if (j->number() == number) j->limit(cores);
    }

    /// Runs everything to its end. `divide(running, second)` may set limits; without any, all get the same.
    template <class Divide>
    void run(Divide divide) {
        for (int second = 1; !waiting_.empty() || !running_.empty(); ++second) {
            move_if(waiting_, running_, [&](job const& j) { return j.submitted() < second; });
            divide(running_, second);
            share_out(second);
            move_if(running_, finished_, [](job const& j) { return j.stopped() >= 0; });
        }
        std::sort(finished_.begin(), finished_.end(),
                  [](auto const& a, auto const& b) { return a->number() < b->number(); });
    }

    void report(char const* title) const {
        std::printf("%s\n", title);
        double handed_in = 0, stopped = 0;
        for (auto const& j : finished_) {
            int const to_hand_in = j->handed_in() - j->submitted(), to_stop = j->stopped() - j->submitted();
            std::printf("  job %d: handed in after %3d s, stopped after %3d s\n", j->number(), to_hand_in, to_stop);
            handed_in += to_hand_in;
            stopped += to_stop;
        }
        auto const count = static_cast<double>(finished_.size());
        std::printf("  mean : handed in after %3.0f s, stopped after %3.0f s\n", handed_in / count, stopped / count);
    }

private:
    template <class Predicate>
    static void move_if(job_list& from, job_list& to, Predicate wanted) {
        job_list kept;
        for (auto& j : from) (wanted(*j) ? to : kept).push_back(std::move(j));
        from.swap(kept);
    }

    /// The same for each, up to its limit; what a limit leaves over goes to the others.
    void share_out(int second) {
        std::vector<job*> in_order;
        for (auto const& j : running_) in_order.push_back(j.get());
        std::sort(in_order.begin(), in_order.end(), [](job const* a, job const* b) { return a->limit() < b->limit(); });
        double left = cores_;
        for (std::size_t i = 0; i < in_order.size(); ++i) {
            double const cores = std::min(in_order[i]->limit(), left / static_cast<double>(in_order.size() - i));
            in_order[i]->train(cores, second);
            left -= cores;
        }
    }
};

/// One afternoon before the deadline.
inline scheduler afternoon() {
    scheduler s(8);
    s.submit(job(1, 0, 0.6, 0.12, 100));
    s.submit(job(2, 20, 0.6, 0.12, 80));
    s.submit(job(3, 30, 0.5, 0.15, 120));
    s.submit(job(4, 60, 0.7, 0.2, 60));
    s.submit(job(5, 75, 0.6, 0.12, 90));
    return s;
}

}  // namespace campus
