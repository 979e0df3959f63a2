// SPDX-License-Identifier: BSL-1.0
#include "bench/runs.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <new>
#include <sys/mman.h>
#include <type_traits>

#include <ration/plugin/host/shared_file.hpp>

#include "check/sandbox.hpp"
#include "common/diagnostics.hpp"
#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "config/settings.hpp"
#include "policies/plugin_policy.hpp"
#include "policies/policy_registry.hpp"
#include "sim/input.hpp"

namespace ration::bench {
namespace {

using program::diagnostics;
using program::policy_isolation;
using program::policy_location;
using program::policy_log;
using program::quoted;

/// Of a process that measures one policy in one cluster; the limit of one answer ends what hangs, this what sleeps.
constexpr conformance::deadline patience{.cpu_seconds = 300, .wall_seconds = 90};

/// A value that a child of this process writes and this process reads.
template <class T>
class shared_value {
    static_assert(std::is_trivially_copyable_v<T>);
    T* value_;

public:
    shared_value() {
        void* const place = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (place == MAP_FAILED) throw std::bad_alloc();
        value_ = new (place) T{};
    }
    shared_value(shared_value const&) = delete;
    shared_value& operator=(shared_value const&) = delete;
    ~shared_value() { ::munmap(value_, sizeof(T)); }
    [[nodiscard]] T& operator*() noexcept { return *value_; }
    [[nodiscard]] T* operator->() noexcept { return value_; }
};

class bench_run {
    bench_options const& options_;
    run_config settings_;
    results& into_;

public:
    bench_run(bench_options const& options, results& into) : options_(options), into_(into) {}

    void read_settings(diagnostics& problems) {
        program::add_settings(options_.settings, options_.policies, "measured", settings_, problems);
    }

    /// Whether the policy can be asked at all; what is wrong with its file or its parameters is a problem.
    void try_policy(std::string const& name, diagnostics& problems) {
        bool const is_plugin = program::is_plugin_path(name);
        auto const policy = open(name, policy_location::worker, nullptr, problems);
        if (policy == nullptr) return;
        contender one{.name = name,
                      .id = std::string(policy->about().id),
                      .version = std::string(policy->about().version),
                      .label = program::printable(name.substr(name.rfind('/') + 1)),
                      .is_plugin = is_plugin,
                      .what = shared_by(*policy),
                      .left_out = {},
                      .ended = {},
                      .of = std::vector<measured>(into_.cases.size()),
                      .solved = {}};
        measured_cluster smallest({.what = one.what, .devices = {1}, .cores = 1, .jobs = 1}, nullptr);
        if (auto const bound = smallest.bind(*policy); !bound) one.left_out = refusal(name, bound.failure());
        into_.policies.push_back(std::move(one));
    }

    void measure_in(std::size_t index, contender& c) {
        cluster_case const& in = into_.cases[index];
        measuring how{.seed = options_.seed + index};
        if (!in_worker(c)) return in_child(c, in, how, c.of[index]);
        plugin::shared_columns columns;
        how.memory = how.limited = false;
        diagnostics found;
        auto const policy = open(c.name, policy_location::worker, &columns, found);
        if (policy == nullptr) {
            c.ended = found.front().text;
            return;
        }
        measure(*policy, in, how, &columns, c.of[index]);
        watch_over(c, c.of[index]);
        how = {.seed = how.seed, .times = false};
        measured counted;  // a copy of it in this process; what is wrong there was seen in the worker
        auto unharmed = c;
        if (c.ended.empty()) in_child(unharmed, in, how, counted);
        c.of[index].memory = counted.memory;
    }

    void solve_all(contender& c) {
        auto const& all = into_.problems_of(c).all;
        if (in_worker(c)) {
            solve([&] { return opened(c, policy_location::worker); }, all, c.what, false, c.solved);
        } else {
            shared_value<reached> solved;
            auto const found = conformance::run_isolated(
                [&] { solve([&] { return opened(c, policy_location::in_process); }, all, c.what, true, *solved); },
                patience);
            c.solved = *solved;
            note_end(c, found);
        }
        watch_over(c, c.solved.wrong);
        if (c.ended.empty() && c.solved.instances < all.size()) c.ended = "it could not be started again";
    }

private:
    [[nodiscard]] bool in_worker(contender const& c) const noexcept { return c.is_plugin && !options_.in_process; }

    [[nodiscard]] std::unique_ptr<any_policy> open(std::string const& name, policy_location where,
                                                   plugin::shared_columns const* columns, diagnostics& found) const {
        auto& log = policy_log::common_to(name);
        if (!program::is_plugin_path(name)) return program::make_policy(settings_, name, log, found);
        policy_isolation const isolation{.policy = {}, .where = where, .at = {}};
        return program::open_plugin({.path = name,
                                     .at = {},
                                     .parameters = settings_.parameters_of(name),
                                     .isolation = &isolation,
                                     .columns = columns,
                                     .deadline = ration::seconds(longest_answer)},
                                    log, found);
    }
    [[nodiscard]] std::unique_ptr<any_policy> opened(contender const& c, policy_location where) const {
        diagnostics found;
        return open(c.name, where, nullptr, found);
    }

    void in_child(contender& c, cluster_case const& in, measuring const& how, measured& into) const {
        shared_value<measured> made;
        auto const found = conformance::run_isolated(
            [&] {
                diagnostics wrong;
                auto const policy = open(c.name, policy_location::in_process, nullptr, wrong);
                if (policy == nullptr) conformance::broken(wrong.front().text);
                measure(*policy, in, how, nullptr, *made);
            },
            patience);
        into = *made;
        note_end(c, found);
        watch_over(c, into);
    }

    /// A child that did not come to its end took the policy with it.
    static void note_end(contender& c, conformance::finding const& found) {
        if (!conformance::is_red(found.is)) return;
        c.ended = found.is == conformance::verdict::timed_out ? "it did not come back, and was ended" : found.why;
        if (found.why.starts_with("the process ended"))
            c.ended = "its process ended by itself: a policy must not call exit";
        if (found.why.find("SIGPROF") != found.why.npos)
            c.ended = fmt::format("it gave no answer within {} s, and was ended", longest_answer);
    }
    static void watch_over(contender& c, measured const& m) {
        watch_over(c, m.wrong);
        if (c.ended.empty() && !m.unfit.empty()) c.ended = m.unfit.view();
    }
    static void watch_over(contender& c, trouble const& wrong) {
        if (wrong.lost > 0 && c.ended.empty()) c.ended = fmt::format("it gave no answer: {}", wrong.first_lost.view());
    }

    [[nodiscard]] static std::string refusal(std::string const& name, error const& why) {
        if (why.code == errc::not_found && std::string_view(why.operation) == "bind column")
            return fmt::format("the policy {} reads the column {}, which no synthetic cluster has: it is left out",
                               quoted(name), why.subject.view());
        return fmt::format("the policy {} cannot be asked in a synthetic cluster and is left out: {}", quoted(name),
                           program::to_text(why));
    }
};

[[nodiscard]] std::vector<cluster_case> cases_of(bench_options const& options) {
    std::vector<cluster_case> all;
    for (auto const jobs : options.jobs)
        for (auto const devices : options.devices)
            for (auto const changes : {pattern::single, pattern::steady, pattern::churn})
                all.push_back({jobs, devices, changes});
    return all;
}

[[nodiscard]] problem_set problems_with(std::uint64_t seed, shared what) {
    problem_set made{instances_of(seed, what), {}};
    for (auto const& one : made.all) made.best.push_back(best_of(one, what));
    return made;
}

}  // namespace

results run_all(bench_options const& options, progress_of_runs const& emit, diagnostics& problems) {
    results all{options, cases_of(options), {}, {}, {}};
    bench_run run(options, all);
    run.read_settings(problems);
    if (!problems.empty()) return all;
    for (auto const& name : options.policies) run.try_policy(name, problems);
    if (!problems.empty()) return all;
    for (auto& one : all.policies)  // the folders distinguish two files of one name
        if (std::ranges::count(all.policies, one.label, &contender::label) > 1)
            one.label = program::printable(one.name);
    std::size_t const steps = all.policies.size() * (all.cases.size() + 1);
    std::size_t done = 0;
    auto const each = [&](std::string const& where, auto const& what) {
        for (auto& c : all.policies) {
            emit(done++, steps, fmt::format("{}, {}", c.label, where));
            if (c.left_out.empty() && c.ended.empty()) what(c);
        }
    };
    for (std::size_t i = 0; i < all.cases.size(); ++i)
        each(fmt::format("jobs x devices: {} x {}", all.cases[i].jobs, all.cases[i].devices),
             [&](contender& c) { run.measure_in(i, c); });
    emit(done, steps, "small problems, every answer");
    all.on_devices = problems_with(options.seed, shared::devices);
    all.on_cores = problems_with(options.seed, shared::cores);
    each("small problems", [&](contender& c) { run.solve_all(c); });
    emit(steps, steps, {});
    return all;
}

std::vector<double> qualities(results const& all, contender const& c, objective what) {
    auto const& problems = all.problems_of(c);
    std::vector<double> made;
    made.reserve(c.solved.instances);
    for (std::size_t i = 0; i < c.solved.instances; ++i)
        made.push_back(share_of_best(what, c.solved.on[i][static_cast<std::size_t>(what)],
                                     problems.best[i][static_cast<std::size_t>(what)]));
    return made;
}

bool went_wrong(contender const& c) noexcept {
    bool refused = c.solved.wrong.refused > 0;
    for (auto const& one : c.of) refused |= one.wrong.refused > 0;
    return refused || !c.ended.empty();
}

std::vector<std::string> remarks_on(contender const& c) {
    if (!c.left_out.empty()) return {c.left_out};
    std::vector<std::string> remarks;
    std::uint64_t refused = c.solved.wrong.refused;
    std::string first(c.solved.wrong.first_refused.view());
    for (auto one = c.of.rbegin(); one != c.of.rend(); ++one) {
        refused += one->wrong.refused;
        if (one->wrong.refused > 0) first = one->wrong.first_refused.view();
    }
    if (refused > 0)
        remarks.push_back(program::printable(fmt::format("{}: {} answers broke a rule; {}", c.label, refused, first)));
    if (!c.ended.empty())
        remarks.push_back(program::printable(fmt::format("{}: {}; it was not asked any more", c.label, c.ended)));
    return remarks;
}

}  // namespace ration::bench
