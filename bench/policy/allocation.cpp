// SPDX-License-Identifier: BSL-1.0
// The cost of an exact division of devices: one decision of elastic_batch_dp with its grants, and the allocation alone,
// beside the textbook's loop, the same loop made for vectors, and a general solver. Every answer is compared. One table
// on standard output.
//   bench.policy.allocation [repetitions, 9 by default]
// It takes some minutes, nearly all of them the textbook's.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <malloc.h>
#include <memory>
#include <unistd.h>

#include <ration/host/any_policy.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/policies/elastic_batch_dp.hpp>

#include "baselines.hpp"
#include "instance.hpp"

namespace policy_bench {
namespace {

using namespace ration;
using counts = std::vector<std::int64_t>;
using policies::elastic_batch_dp;
using policies::detail::allocation_dp;

// So that products are exact
constexpr policies::elastic_batch_dp_parameters parameters{.interval = 0, .restart_penalty = 1.0 / 16};
bool all_agree = true;

template <class T>
T need(result<T> r) {
    if (!r) {
        std::fprintf(stderr, "%s: %s\n", r.failure().subject.c_str(), r.failure().remedy);
        std::exit(1);
    }
    return std::move(r).value();
}
void need(result<void> const& r) {
    if (!r) {
        std::fprintf(stderr, "%s: %s\n", r.failure().subject.c_str(), r.failure().remedy);
        std::exit(1);
    }
}

/// Milliseconds of the processor for one call: what others do on the machine in the meantime does not count.
template <class Call>
[[nodiscard]] double time_of(Call const& call) {
    auto const now = [] {
        timespec t{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
    };
    double const start = now();
    call();
    return now() - start;
}
[[nodiscard]] double median(std::vector<double> all) {
    std::ranges::sort(all);
    return all[all.size() / 2];
}

/// Megabytes of memory that the process has touched and still needs.
[[nodiscard]] double resident() {
    malloc_trim(0);
    std::ifstream in("/proc/self/statm");
    double pages = 0;
    in >> pages >> pages;
    return pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

/// A node and its jobs, and the policy that is asked about them.
class host {
    snapshot_store store_;
    standard_columns columns_ = need(standard_columns::declare(store_, standard_resources));
    column<double> speedup_ = need(store_.declare<double>("jobs/speedup", width));
    column<std::int64_t> batch_ = need(store_.declare<std::int64_t>("jobs/batch", width));
    std::vector<grant> space_;
    std::unique_ptr<policy_adapter<elastic_batch_dp>> policy_;
    std::size_t rows_ = 0;

public:
    explicit host(instance const& of) : space_(2 * of.jobs) {
        need(store_.resize(table_id::nodes, 1));
        store_.at(of_gpu().capacity, 0) = of.devices;
        need(store_.resize(table_id::jobs, of.jobs));
        for (std::size_t row = 0; row < of.jobs; ++row) show(of, row);
    }

    /// A policy that has decided nothing yet.
    void begin(std::size_t jobs) {
        policy_ = std::make_unique<policy_adapter<elastic_batch_dp>>(elastic_batch_dp(parameters));
        need(policy_->bind(store_.schema(), {.jobs = jobs, .nodes = 1}));
    }
    void decide() {
        grants out(space_);
        auto const reply =
            policy_->decide({.number = 0, .seed = 0, .now = {}, .budget = seconds(1), .data = store_.view()}, out);
        if (reply != status::ok) {
            std::fprintf(stderr, "the policy refused a tick\n");
            std::exit(1);
        }
        rows_ = out.size();
    }
    /// In the order of the rows.
    [[nodiscard]] counts granted() const {
        counts all;
        for (std::size_t i = 0; i < rows_; ++i)
            if (space_[i].resource == static_cast<std::uint16_t>(resource_id::gpu)) all.push_back(space_[i].amount);
        return all;
    }
    [[nodiscard]] bool is_exact() const { return space_[0].reason == elastic_batch_dp::best_total; }

    void hold(counts const& given) {
        for (std::size_t row = 0; row < given.size(); ++row) store_.at(of_gpu().held, row) = given[row];
    }
    void leave(std::size_t row) { store_.erase_row(table_id::jobs, row); }
    void arrive(instance const& of, std::size_t row) {
        need(store_.resize(table_id::jobs, row + 1));
        show(of, row);
    }

private:
    [[nodiscard]] resource_columns const& of_gpu() const {
        return columns_.resources[static_cast<std::size_t>(resource_id::gpu)];
    }
    void show(instance const& of, std::size_t row) {
        store_.at(columns_.id, row) = row + 1;
        for (auto const& r : columns_.resources) store_.at(r.maximum, row) = unlimited;
        for (std::size_t k = 0; k < width; ++k) {
            (&store_.at(speedup_, row))[k] = std::max(of.values[row * width + k], 0.0);
            (&store_.at(batch_, row))[k] = static_cast<std::int64_t>(32 * k);
        }
    }
};

/// The value of the jobs once they hold devices: all but the last pay for a change.
[[nodiscard]] instance with_penalty(instance of, counts const& held) {
    for (std::size_t j = 0; j < held.size(); ++j)
        for (std::size_t k = 1; k < width; ++k)
            if (static_cast<std::int64_t>(k) != held[j] && of.values[j * width + k] >= 0)
                of.values[j * width + k] *= 1 - parameters.restart_penalty;
    return of;
}

/// Milliseconds, and megabytes.
struct measured {
    std::vector<double> decision, after_arrival;
    double memory = 0, textbook = 0, values_only = 0;
    bool exact = true;

    void print(instance const& of, shape like) const {
        double const ours = median(decision);
        std::printf("%-12.*s %6zu %7lld %10.3f ", static_cast<int>(name_of(like).size()), name_of(like).data(), of.jobs,
                    static_cast<long long>(of.devices), ours);
        after_arrival.empty() ? std::printf("%11s", "") : std::printf("%11.3f", median(after_arrival));
        std::printf(" %7.1f %12.2f %7.0f %10.2f %7.1f%s\n", memory, textbook, textbook / ours, values_only,
                    values_only / ours, exact ? "" : " near only");
        std::fflush(stdout);
    }
};

void print_head(char const* title) {
    std::printf("\n%s\n%-12s %6s %7s %10s %11s %7s %12s %7s %10s %7s\n", title, "curves", "jobs", "devices", "ms",
                "ms, arrival", "MB", "textbook, ms", "times", "values, ms", "times");
}

/// Runs the baselines, which must find the value of `given`.
void compare(measured& m, instance const& on, counts const& given) {
    counts found;
    double worth = 0;
    m.textbook = time_of([&] { found = textbook(on); });
    m.values_only = time_of([&] { worth = values_only(on); });
    bool const agree = found == given && worth == on.worth(given);
    if (!agree)
        std::fprintf(stderr, "answers differ: textbook %.9g, values only %.9g, ration %.9g\n", on.worth(found), worth,
                     on.worth(given));
    all_agree = all_agree && agree;
}

/// Of jobs that are queued, and then when the last of them arrives while the others run.
void decisions(shape like, std::size_t jobs, std::int64_t devices, std::size_t repetitions) {
    instance const all(like, jobs, devices, 1, 1);
    host on(all);
    measured m;
    double const before = resident();
    for (std::size_t i = 0; i < repetitions; ++i) {
        on.begin(jobs);
        m.decision.push_back(time_of([&] { on.decide(); }));
        m.exact = m.exact && on.is_exact();
    }
    m.memory = resident() - before;
    counts const given = on.granted();
    counts held;
    for (std::size_t i = 0; i < repetitions; ++i) {
        on.leave(jobs - 1);
        on.hold(counts(jobs - 1, 0));
        on.begin(jobs);
        on.decide();
        on.hold(held = on.granted());
        on.arrive(all, jobs - 1);
        m.after_arrival.push_back(time_of([&] { on.decide(); }));
        m.exact = m.exact && on.is_exact();
    }
    measured then = m;
    compare(then, with_penalty(all, held), on.granted());
    compare(m, all, given);
    m.print(all, like);
}

void allocations_alone(shape like, std::size_t jobs, std::int64_t devices, std::size_t repetitions) {
    instance const all(like, jobs, devices, 0, 2);
    std::vector<policies::detail::device_choice> choices(jobs, {.least = 0, .most = most});
    measured m;
    double const before = resident();
    allocation_dp dp;
    dp.reserve(jobs, static_cast<std::size_t>(devices), jobs * width);
    for (std::size_t i = 0; i < repetitions; ++i)
        m.decision.push_back(time_of([&] { m.exact = dp.solve(choices, devices, all.table()).exact && m.exact; }));
    m.memory = resident() - before;
    counts given;
    for (auto const& c : choices) given.push_back(c.given);
    compare(m, all, given);
    m.print(all, like);
}

struct opinions {
    int compared = 0, different = 0, unanswered = 0;
    double ours = 0, theirs = 0;  // milliseconds

    void ask(instance const& on) {
        std::vector<policies::detail::device_choice> choices(on.jobs, {.least = 0, .most = most});
        allocation_dp dp;
        dp.reserve(on.jobs, static_cast<std::size_t>(on.devices), on.jobs * width);
        double worth = 0;
        std::optional<double> best;
        double const mine = time_of([&] { worth = dp.solve(choices, on.devices, on.table()).worth; });
        double const solver = time_of([&] { best = general_solver(on, 10); });
        unanswered += !best;
        if (!best) return;
        ++compared;
        ours += mine;
        theirs += solver;
        different += std::abs(*best - worth) > 1e-6 * (1 + worth);
    }
};

/// Problems for the general solver, as large as it can do.
void second_opinion() {
    if (!has_general_solver()) {
        std::printf(
            "\nskipped: built without GLPK, so no general solver has checked the answers (Debian calls it libglpk-dev)\n");
        return;
    }
    opinions all;
    for (shape const like : shapes)
        for (auto const& [jobs, devices] : {std::pair{8, 40}, {32, 128}, {64, 256}, {256, 256}})
            for (std::uint32_t seed = 0; seed < 3; ++seed)
                all.ask({like, static_cast<std::size_t>(jobs), devices, 0, seed});
    all_agree = all_agree && all.different == 0 && all.compared > 0;
    std::printf(
        "\nGLPK: %d problems compared, %d different, %d without an answer within 10 s; those compared took it %.0f ms, ration %.2f ms\n",
        all.compared, all.different, all.unanswered, all.theirs, all.ours);
}

}  // namespace
}  // namespace policy_bench

int main(int argc, char** argv) {
    using namespace policy_bench;
    std::size_t const repetitions = argc > 1 ? static_cast<std::size_t>(std::max(1, std::atoi(argv[1]))) : 9;
    print_head("one decision of elastic_batch_dp, grants included; each job has at least one device and at most 64");
    for (auto const& [jobs, devices] :
         {std::pair{256, 256}, {256, 1024}, {512, 1024}, {2500, 10'000}, {10'000, 10'000}})
        for (shape const like : shapes) decisions(like, static_cast<std::size_t>(jobs), devices, repetitions);
    print_head("the allocation alone; jobs may have none");
    for (auto const& [jobs, devices] : {std::pair{256, 256}, {512, 1024}, {10'000, 10'000}})
        for (shape const like : shapes) allocations_alone(like, static_cast<std::size_t>(jobs), devices, repetitions);
    print_head(
        "the same at its worst: no choice is worse than others, and yet not all devices can be used without a loss");
    for (auto const& [jobs, devices] : {std::pair{256, 255}, {512, 1023}, {10'000, 9'999}})
        allocations_alone(shape::stubborn, static_cast<std::size_t>(jobs), devices, repetitions);
    second_opinion();
    std::printf(all_agree ? "all answers agree\n" : "ANSWERS DIFFER\n");
    return all_agree ? 0 : 1;
}
