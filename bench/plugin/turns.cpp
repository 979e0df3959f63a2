// SPDX-License-Identifier: BSL-1.0
#include "turns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <ration/policies/equal_share.hpp>
#include <ration/policies/loss_delta_ratio.hpp>
#include <ration/policies/tradl.hpp>

#include "cores.hpp"
#include "every_row.hpp"
#include "opened.hpp"
#include "proof.hpp"
#include "scene.hpp"
#include "support/allocations.hpp"

namespace plugin_bench {
namespace {

std::size_t allocated = 0;

/// Nanoseconds a tick, each the mean of one turn.
struct turn {
    double by_hand = 0, here = 0, checked = 0, in_process = 0, worker = 0, copied = 0, second_core = 0, line = 0;
};
struct number {
    char const* name;
    double turn::* value;
};
/// Reported as what they take more than the class in the same turn.
constexpr number more_than_the_class[] = {{"checked", &turn::checked},
                                          {"in process", &turn::in_process},
                                          {"worker", &turn::worker},
                                          {"copied", &turn::copied},
                                          {"second core", &turn::second_core}};

template <class Value>
[[nodiscard]] double median(std::vector<turn> const& turns, Value of) {
    std::vector<double> values;
    for (auto const& t : turns) values.push_back(of(t));
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
}

void report(benchmark::State& state, std::vector<turn> const& turns) {
    state.counters["class"] = median(turns, [](turn const& t) { return t.here; });
    state.counters["by hand"] = median(turns, [](turn const& t) { return t.by_hand; });
    state.counters["line"] = median(turns, [](turn const& t) { return t.line; });
    state.counters["boundary"] = median(turns, [](turn const& t) { return t.worker - t.second_core; });
    for (auto const& n : more_than_the_class)
        state.counters[n.name] = median(turns, [&](turn const& t) { return t.*n.value - t.here; });
}

/// equal_share or every_row with nothing of ration in it.
template <bool every_row>
class by_hand {
    scene& on_;
    std::uint32_t const* state_;
    std::int64_t const *least_, *most_, *held_;

    template <class T>
    [[nodiscard]] T const* values_of(column<T> c) const {
        return static_cast<T const*>(on_.store.view()[table_id::jobs].slot[c.slot]);
    }

public:
    explicit by_hand(scene& on)
        : on_(on), state_(values_of(on.columns.state)), least_(values_of(on.columns.resources[0].minimum)),
          most_(values_of(on.columns.resources[0].maximum)), held_(values_of(on.columns.resources[0].held)) {}

    std::size_t operator()() {
        std::size_t const jobs = on_.space.size();
        std::int64_t n = 0;
        for (std::size_t row = 0; row < jobs; ++row) n += state_[row] == 1;
        std::int64_t const share = on_.store.at(on_.columns.resources[0].capacity, 0) / n;
        std::size_t rows = 0;
        for (std::size_t row = 0; row < jobs; ++row) {
            std::int64_t const amount = std::clamp(share, least_[row], most_[row]);
            if (state_[row] == 1 && (every_row || amount != held_[row]))
                on_.space[rows++] = {static_cast<std::uint32_t>(row), 0, 0, 1, 0, amount};
        }
        benchmark::DoNotOptimize(on_.space.data());
        benchmark::ClobberMemory();
        ++on_.ticks;
        on_.reply = {on_.space.data(), rows};
        if constexpr (!every_row) on_.hold();
        return rows;
    }
};

/// One policy, all the ways to ask it. The worker whose columns are copied has its own scene.
template <class P>
class contest {
    plugin::shared_columns memory_;
    scene on_, apart_;
    change what_;
    static constexpr bool reports_every_row = std::is_same_v<P, every_row>;
    by_hand<reports_every_row> by_hand_{on_};
    policy_adapter<P> here_, there_;
    std::unique_ptr<plugin::guarded_policy> in_process_, worker_, copied_;
    validation validation_{on_};
    int ticks_ = 1;  // of a turn
    struct step {
        double turn::* into;
        std::function<double()> time;
    };
    // A side that waits for a request would take the second core from the next one
    static constexpr std::chrono::milliseconds until_workers_sleep{6};
    std::vector<step> steps_;
    std::minstd_rand rng_{1};
    double line_ = 0;  // from core to core and back

    void line_up() {
        if constexpr (reports_every_row || std::is_same_v<P, policies::equal_share>)
            steps_.push_back({&turn::by_hand, [this] { return time_of(on_, by_hand_); }});
        steps_.push_back({&turn::here, [this] { return time_of(on_, [&] { return on_.ask(here_); }); }});
        // what it costs to refuse some of them, as where bounds have changed beyond what there is, is another question
        if (what_ == change::nothing)
            steps_.push_back({&turn::checked, [this] {
                                  return time_of(on_, [&] {
                                      on_.ask(here_);
                                      return validation_.of(on_.reply);
                                  });
                              }});
        steps_.push_back({&turn::in_process, [this] { return time_of(on_, [&] { return on_.ask(*in_process_); }); }});
        steps_.push_back({&turn::copied, [this] { return time_of(apart_, [&] { return apart_.ask(*copied_); }); }});
        steps_.push_back({&turn::worker, [this] { return time_of(on_, [&] { return on_.ask(*worker_); }); }});
        steps_.push_back({&turn::second_core, [this] {
                              on_second_core second(there_);
                              double const took = time_of(on_, [&] { return on_.ask(second); });
                              line_ = second.round_trip();
                              return took;
                          }});
    }

    template <class Tick>
    [[nodiscard]] double time_of(scene& on, Tick tick) {
        for (int i = 0; i < ticks_ / 2 + 2; ++i) {
            on.apply(what_);
            tick();
        }  // until who was asleep is awake
        std::size_t const before = allocations();
        auto const start = clock::now();
        for (int i = 0; i < ticks_; ++i) {
            on.apply(what_);
            benchmark::DoNotOptimize(tick());
        }
        double const took = nanoseconds_since(start) / ticks_;
        allocated += allocations() - before;
        return took;
    }

public:
    contest(char const* path, std::size_t jobs, change what)
        : on_(jobs, &memory_), apart_(jobs), what_(what), in_process_(opened(path, plugin::isolation::in_process)),
          worker_(opened(path, plugin::isolation::worker, &memory_)), copied_(opened(path, plugin::isolation::worker)) {
        for (any_policy* policy :
             {static_cast<any_policy*>(&here_), static_cast<any_policy*>(&there_),
              static_cast<any_policy*>(in_process_.get()), static_cast<any_policy*>(worker_.get())})
            need(policy->bind(on_.store.schema(), on_.most()));
        need(copied_->bind(apart_.store.schema(), apart_.most()));
        line_up();
    }

    /// The error in their first answers: to the same question, so they have to be the same.
    [[nodiscard]] char const* differ() {
        if (on_.ask(here_) != on_.space.size()) return "a job got no grant";
        std::vector<grant> const wanted(on_.reply.begin(), on_.reply.end());
        auto const same = [&](scene const& on) { return std::ranges::equal(on.reply, wanted, {}, bytes_of, bytes_of); };
        if (on_second_core second(there_); on_.ask(second), !same(on_)) return "another answer on the second core";
        if (on_.ask(*in_process_); !same(on_)) return "another answer in process";
        if (on_.ask(*worker_); !same(on_)) return "another answer in a worker";
        if (apart_.ask(*copied_); !same(apart_)) return "another answer in a worker with its columns copied";
        if (validation_.of(wanted) != wanted.size()) return "a good grant was refused";
        on_.in_effect = apart_.in_effect = !reports_every_row;
        return nullptr;
    }

    void set_length() {
        ticks_ = std::max(8, static_cast<int>(3e5 / (20 + time_of(on_, [&] { return on_.ask(here_); }))));
    }

    /// In another order each time: what the one before has left in the caches makes a difference of a twentieth.
    [[nodiscard]] turn take_turns() {
        turn t;
        std::ranges::shuffle(steps_, rng_);
        for (auto const& next : steps_) {
            std::this_thread::sleep_for(until_workers_sleep);
            t.*next.into = next.time();
        }
        t.line = line_;
        if (what_ != change::nothing) t.checked = t.here;
        return t;
    }

private:
    [[nodiscard]] static std::array<std::byte, sizeof(grant)> bytes_of(grant const& g) {
        return std::bit_cast<std::array<std::byte, sizeof(grant)>>(g);
    }
};

/// An iteration is a turn of each.
template <class P>
void take_turns(benchmark::State& state, char const* path, change what) {
    contest<P> all(path, static_cast<std::size_t>(state.range(0)), what);
    if (auto const* const wrong = all.differ(); wrong != nullptr) return state.SkipWithError(wrong);
    all.set_length();
    std::vector<turn> turns;
    for (auto _ : state) {
        turns.push_back(all.take_turns());
        state.SetIterationTime(turns.back().here * 1e-9);
    }
    report(state, turns);
}

struct kind {
    change what;
    char const *name, *sentence;
};
constexpr kind kinds[] = {{change::nothing, "nothing", "nothing changes"},
                          {change::ten_jobs, "ten", "ten jobs change"},
                          {change::all, "all", "all jobs change"}};
constexpr char const* policies_of_turns[] = {"equal_share", "tradl", "loss_delta_ratio", "every_row"};
constexpr int jobs_of_turns[] = {1, 100, 10'000, 100'000};

template <class P>
void add(std::string const& policy, char const* path) {
    for (auto const& kind : kinds) {
        auto* const b = benchmark::RegisterBenchmark((policy + ", " + kind.name).c_str(), [=](benchmark::State& state) {
            take_turns<P>(state, path, kind.what);
        });
        for (int const jobs : jobs_of_turns) b->Arg(jobs);
        b->UseManualTime()->Iterations(30);
    }
}

void print_row(medians const& all, std::string const& name, int jobs, change what) {
    auto const of = [&](char const* counter) { return all.of(name, counter); };
    std::printf("%10d %11.1f %11.1f |", jobs, of("by hand"), of("class"));
    bool const checked = what == change::nothing;
    for (auto const& n : more_than_the_class)
        if (n.value == &turn::checked && !checked)
            std::printf(" %11s", "");
        else
            std::printf(" %+11.1f", of(n.name));
    std::printf(" %+11.1f | %+7.1f %%", of("boundary"), 100 * of("in process") / of("class"));
    checked ? std::printf(" %9.2f", of("checked") / jobs) : std::printf(" %9s", "");
    std::printf(" %9.0f\n", of("line"));
}

}  // namespace

void register_turns() {
    add<policies::equal_share>("equal_share", RATION_BENCH_EQUAL_SHARE);
    add<policies::tradl>("tradl", RATION_BENCH_TRADL);
    add<policies::loss_delta_ratio>("loss_delta_ratio", RATION_BENCH_LOSS_DELTA_RATIO);
    add<every_row>("every_row", RATION_BENCH_EVERY_ROW);
}

void print_turns(medians const& all) {
    std::printf(
        "nanoseconds a tick: by hand and as a class; then how much more than the class;\n"
        "boundary: the worker over the class on the second core, turn by turn; line: what one takes to the other core and back\n");
    for (auto const* const policy : policies_of_turns)
        for (auto const& kind : kinds) {
            auto const name = std::string(policy) + ", " + kind.name;
            auto const of = [&](int jobs) { return name + '/' + std::to_string(jobs); };
            if (std::ranges::none_of(jobs_of_turns, [&](int jobs) { return all.has(of(jobs)); })) continue;
            std::printf("\n%s, %s between two ticks\n%10s %11s %11s |", policy, kind.sentence, "jobs", "by hand",
                        "class");
            for (auto const& n : more_than_the_class) std::printf(" %11s", n.name);
            std::printf(" %11s | %9s %9s %9s\n", "boundary", "in process", "check/job", "line");
            for (int const jobs : jobs_of_turns)
                if (all.has(of(jobs))) print_row(all, of(jobs), jobs, kind.what);
        }
}

std::size_t allocated_on_ticks() { return allocated; }

}  // namespace plugin_bench
