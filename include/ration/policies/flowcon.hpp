// SPDX-License-Identifier: BSL-1.0
/// flowcon: CPU by growth efficiency. Source: W. Zheng et al., "FlowCon: Elastic Flow Configuration
/// for Containerized Deep Learning Applications", ICPP 2019, as in its authors' second published
/// program.
///
/// For CPU jobs on one node that report a loss; no targets are needed. tradl.hpp is a later rule of
/// the same group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <ration/job.hpp>
#include <ration/job_memory.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/one_node_grants.hpp>
#include <ration/policy.hpp>
#include <ration/state.hpp>
#include <ration/target.hpp>

namespace ration::policies {

/// Parameters of `flowcon`; each member has its unit and its default.
struct flowcon_parameters {
    double alpha = 0.05;   ///< growth efficiency below which a job nears its end, in 1/s
    double interval = 30;  ///< seconds from one measurement to the next

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "alpha", .meaning = "growth efficiency below which a job nears its end, in 1/s", .least = 0},
        {.name = "interval",
         .meaning = "seconds from one measurement to the next, above 0, at most 100000",
         .least = 0,
         .most = 1e5}};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (!(alpha >= 0 && is_finite(alpha))) return "alpha is a growth efficiency: write a number from 0 up";
        if (!(interval > 0 && interval <= 1e5))
            return "interval is a time in seconds: write a number above 0 and at most 100000";
        return {};
    }
};

/// Every interval, for the running jobs on node 0: a job's loss counts as a fraction of its largest
/// loss so far. Its progress P is the change of the mean of that from one interval to the next,
/// divided by the interval. R is the mean CPU that it used, as a fraction of the node. Its growth
/// efficiency is G = P / R.
///
/// A job starts as new. With G below alpha it is watched; with G below alpha a second time it is
/// completing; with G of at least alpha it is new again. A new job is limited to G / (sum of all G)
/// of the node; a completing one to the same, but at least 1/(n+1); a watched one keeps its limit.
/// When all jobs are completing, all limits are removed and the interval doubles. When a job comes
/// or goes, the interval is reset and all measurements restart.
///
/// Differences from the program: it rounds a limit down to whole CPUs, which removes limits below
/// one; here it is exact. Grants reserve capacity, so limits that add up to more than the node are
/// reduced in proportion. A job has no limit until it has two intervals, and limits stay where no
/// job grows. O(jobs); state: one entry for each job.
class flowcon {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = flowcon_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs =
        columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">, in<double, "jobs/loss">,
                in<double, "jobs/used.cpu">, in<std::int64_t, "jobs/min.cpu">, in<std::int64_t, "jobs/max.cpu">,
                in<std::int64_t, "jobs/held.cpu">, in<std::int64_t, "nodes/capacity.cpu">>;

    /// Reason codes of the grants.
    enum reason : std::uint16_t { unexplained, not_yet_measured, growing, watched, completing, all_completing };
    /// Texts of the reason codes, in their order.
    static constexpr std::string_view reasons[] = {"",
                                                   "its progress is not measured yet: no limit",
                                                   "it grows: its part of the growth efficiency of all",
                                                   "its growth has become small: watched, the limit stays",
                                                   "completing: its part of the growth efficiency, 1/(n+1) at least",
                                                   "all are completing: free competition"};
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{
        .id = "ration.flowcon", .version = "1.0.0", .summary = "CPU by growth efficiency", .reasons = reasons};

    /// With the default parameters.
    flowcon() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit flowcon(flowcon_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most_jobs_ = most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        capacity_ = t.get<"nodes/capacity.cpu">()[0];
        probe(t);
        if (t.now() != seen_) sample(t);
        if (to_seconds(t.now() - begun_) >= length()) close_interval(t);
        return answer(t, out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        out.put(running_);
        out.put(last_id_);
        out.put(begun_);
        out.put(seen_);
        out.put(doublings_);
        jobs_.save(out);
        return out.needed();
    }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        flowcon loaded(parameters_);
        static_cast<void>(loaded.prepare({.jobs = most_jobs_}));
        bool const whole = in.get(loaded.running_) && in.get(loaded.last_id_) && in.get(loaded.begun_) &&
                           in.get(loaded.seen_) && in.get(loaded.doublings_) && loaded.jobs_.load(in);
        if (!whole || !in.finished() || loaded.doublings_ > most_doublings) return status::state;
        *this = std::move(loaded);
        return status::ok;
    }

private:
    /// The measurements and the present limit of one job.
    struct growth {
        // Losses are in the unit of the job's metric; the efficiency is in 1/s.
        double largest = 0;           // loss so far
        double losses = 0, used = 0;  // sums of this interval
        std::uint64_t samples = 0;
        double former = 0;  // mean loss of the last interval
        bool has_former = false;
        double efficiency = 0;
        double limit = -1;  // fraction of the node; -1 = none
        reason why = not_yet_measured;

        [[nodiscard]] static auto fields(auto& self) noexcept {
            return std::tie(self.largest, self.losses, self.used, self.samples, self.former, self.has_former,
                            self.efficiency, self.limit, self.why);
        }
        [[nodiscard]] bool sane() const noexcept {
            return is_finite(largest) && is_finite(losses) && is_finite(used) && is_finite(former) &&
                   is_finite(efficiency) && limit <= 1 && is_finite(limit) && why <= all_completing;
        }
    };
    /// The interval grows at most by 2^10.
    static constexpr std::uint64_t most_doublings = 10;

    flowcon_parameters parameters_;
    job_memory<growth> jobs_;
    std::size_t most_jobs_ = 0;
    std::int64_t capacity_ = 0;
    std::uint64_t running_ = 0, last_id_ = 0, doublings_ = 0;
    nanoseconds begun_{0}, seen_{-1};

    /// Jobs that restart are not measured.
    [[nodiscard]] static bool is_running(tick<inputs> const& t, std::size_t row) noexcept {
        return static_cast<job_state>(t.get<"jobs/state">()[row]) == job_state::running;
    }
    /// The present interval in seconds.
    [[nodiscard]] double length() const noexcept {
        return parameters_.interval * static_cast<double>(std::uint64_t{1} << doublings_);
    }

    /// Writes the limits that change. Limits that add up to more than the node are reduced in
    /// proportion, and then raised to the job's minimum as far as capacity is left.
    [[nodiscard, gnu::flatten]] status answer(tick<inputs> const& t, grants& out) const noexcept {
        auto const least = t.get<"jobs/min.cpu">(), most = t.get<"jobs/max.cpu">(), held = t.get<"jobs/held.cpu">();
        double sum = 0;
        std::int64_t left = capacity_;
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (is_running(t, row) && jobs_[row].limit >= 0) {
                sum += jobs_[row].limit;
                left -= least[row];
            }
        if (sum < 1) sum = 1;
        std::int64_t const spare = left;
        auto const choose = [&](std::size_t row) noexcept {
            if (row == 0) left = spare;  // the rows are asked in order, and maybe again
            growth const& g = jobs_[row];
            detail::chosen_amount chosen{.amount = unlimited, .reason = g.why, .is_set = is_running(t, row)};
            if (!chosen.is_set || g.limit < 0) return chosen;
            bounds const accepted{least[row], most[row]};
            std::int64_t amount =
                within(static_cast<std::int64_t>(g.limit / sum * static_cast<double>(capacity_)), accepted);
            if (amount - least[row] > left) amount = least[row] + (left > 0 ? left : 0);
            left -= amount - least[row];
            chosen.amount = cpu_limit(amount, accepted);
            return chosen;
        };
        return detail::grant_on_first_node(resource_id::cpu, held, t.get<"nodes/capacity.cpu">()[0], choose, out);
    }

    /// Finds the running jobs. If one came or left, a new interval begins.
    void probe(tick<inputs> const& t) noexcept {
        jobs_.follow(t.get<"jobs/id">());
        std::uint64_t running = 0, last = 0;
        // The number and the largest id identify the set well enough: ids are never reused and
        // ascend.
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (is_running(t, row)) {
                ++running;
                last = t.get<"jobs/id">()[row];
            }
        if (running == running_ && last == last_id_) return;
        running_ = running;
        last_id_ = last;
        doublings_ = 0;
        begun_ = t.now();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            jobs_[row].losses = jobs_[row].used = 0;
            jobs_[row].samples = 0;
        }
    }

    /// Takes one sample for each tick, even if the tick is asked several times.
    void sample(tick<inputs> const& t) noexcept {
        seen_ = t.now();
        auto const loss = t.get<"jobs/loss">(), used = t.get<"jobs/used.cpu">();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            growth& g = jobs_[row];
            if (!is_running(t, row) || !is_finite(g.losses + loss[row]) || !is_finite(g.used + used[row])) continue;
            if (loss[row] > g.largest) g.largest = loss[row];
            g.losses += loss[row];
            g.used += used[row];
            ++g.samples;
        }
    }

    /// Ends an interval: measures every job, then sets the limits.
    void close_interval(tick<inputs> const& t) noexcept {
        double sum = 0;
        std::uint64_t completing_jobs = 0;
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!is_running(t, row)) continue;
            measure(jobs_[row], to_seconds(t.now() - begun_));
            sum += jobs_[row].efficiency;
            completing_jobs += jobs_[row].why == completing || jobs_[row].why == all_completing;
        }
        bool const free = completing_jobs == running_;
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (is_running(t, row)) limit(jobs_[row], sum, free);
        begun_ = t.now();
        if (free && running_ > 0 && doublings_ < most_doublings) ++doublings_;
    }

    /// Computes the growth efficiency of a job, and its state from it.
    void measure(growth& g, double seconds) const noexcept {
        if (g.samples == 0 || g.largest <= 0) return;
        auto const n = static_cast<double>(g.samples);
        double const mean = g.losses / n, use = g.used / n / static_cast<double>(capacity_);
        double const change = (mean > g.former ? mean - g.former : g.former - mean) / g.largest,
                     progress = change / seconds;
        bool const known = std::exchange(g.has_former, true);
        g.former = mean;
        g.losses = g.used = 0;
        g.samples = 0;
        if (!known) return;
        double const efficiency = use > 0 ? progress / use : 0;
        g.efficiency = is_finite(efficiency) ? efficiency : 0;
        if (g.efficiency >= parameters_.alpha)
            g.why = growing;
        else
            g.why = g.why == watched || g.why == completing || g.why == all_completing ? completing : watched;
    }

    /// Sets the limit of a job; `sum` is the sum of all growth efficiencies.
    void limit(growth& g, double sum, bool free) const noexcept {
        if (free) {
            g.limit = -1;
            g.why = all_completing;
            return void();
        }
        if (g.why == all_completing) g.why = completing;
        if ((g.why != growing && g.why != completing) || sum <= 0) return;
        double const part = g.efficiency / sum, floor = 1 / static_cast<double>(running_ + 1);
        g.limit = g.why == completing && part < floor ? floor : part;
    }
};

static_assert(Policy<flowcon>);

}  // namespace ration::policies
