// SPDX-License-Identifier: BSL-1.0
/// phase_limits: limits of CPU and memory from the phases of jobs. Source: J. L. Berral, C. Wang, A. Youssef, "AI4DL:
/// Mining Behaviors of Deep Learning Workloads for Resource Management", HotCloud 2020. Its published program learns
/// phases, and sets no limits; the rule here is this project's.
///
/// For jobs on the CPUs of one node, whose phases the estimator `phases` recognises.
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

/// Parameters of `phase_limits`; each member has its unit and its default.
struct phase_limits_parameters {
    double interval = 60;        ///< seconds from one limit of a job to the next
    double cpu_margin = 0.05;    ///< part by which a CPU limit exceeds the demand
    double memory_margin = 0.1;  ///< the same for memory
    bool limit_memory = false;   ///< limits memory too

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "interval",
         .meaning = "seconds from one limit of a job to the next, above 0, at most 100000",
         .least = 0,
         .most = 1e5},
        {.name = "cpu_margin",
         .meaning = "part by which a CPU limit exceeds the demand, from 0 to 10",
         .least = 0,
         .most = 10},
        {.name = "memory_margin", .meaning = "the same for memory, from 0 to 10", .least = 0, .most = 10},
        {.name = "limit_memory",
         .meaning = "limits memory too; the kernel kills a job that needs more than its limit"}};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (!(interval > 0 && interval <= 1e5))
            return "interval is a time in seconds: write a number above 0 and at most 100000";
        if (!(cpu_margin >= 0 && cpu_margin <= 10)) return "cpu_margin is a part: write a number from 0 to 10";
        if (!(memory_margin >= 0 && memory_margin <= 10)) return "memory_margin is a part: write a number from 0 to 10";
        return {};
    }
};

/// Every interval, the limit of a running job on node 0 is (1 + margin) times the larger of two demands: the one that
/// is expected of its phase, and the largest one of the last interval. It grows at once if the expected or the present
/// demand, with the margin, exceeds it. A job without a known phase has no limit. A CPU limit that holds its job back
/// for more than 5 % of the time is removed for one interval.
///
/// Limits reserve capacity, in the order of the jobs. One that does not fit any more is left out.
///
/// O(jobs). State: 0.1 KB for each job.
class phase_limits {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = phase_limits_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs =
        columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">, in<std::uint32_t, "jobs/phase">,
                in<double, "jobs/expected.cpu">, in<double, "jobs/expected.memory">, in<double, "jobs/throttled.cpu">,
                in<double, "jobs/used.cpu">, in<double, "jobs/used.memory">, in<std::int64_t, "jobs/min.cpu">,
                in<std::int64_t, "jobs/max.cpu">, in<std::int64_t, "jobs/held.cpu">,
                in<std::int64_t, "jobs/min.memory">, in<std::int64_t, "jobs/max.memory">,
                in<std::int64_t, "jobs/held.memory">, in<std::int64_t, "nodes/capacity.cpu">,
                in<std::int64_t, "nodes/capacity.memory">>;

    /// Reason codes of the grants.
    enum reason : std::uint16_t { unexplained, phase_unknown, phase_ahead, last_interval, throttled, no_room };
    /// Texts of the reason codes, in their order.
    static constexpr std::string_view reasons[] = {"",
                                                   "its phase is unknown: no limit",
                                                   "the demand that is expected of its phase",
                                                   "the largest demand of the last interval",
                                                   "its limit held it back: no limit for one interval",
                                                   "the limits of other jobs reserve the node: no limit"};
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.phase-limits",
                                .version = "1.0.0",
                                .summary = "limits of CPU and memory from the phases of jobs",
                                .reasons = reasons};

    /// With the default parameters.
    phase_limits() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit phase_limits(phase_limits_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        jobs_.follow(t.get<"jobs/id">());
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (is_running(t, row)) take(t, row);
        if (t.nodes() == 0) return status::ok;
        if (auto const done = answer<"cpu">(t, &job_limits::cpu, resource_id::cpu, out); done != status::ok)
            return done;
        if (!parameters_.limit_memory) return status::ok;
        return answer<"memory">(t, &job_limits::memory, resource_id::memory, out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    /// A job is held back if its limit stops it for a larger part of the time.
    static constexpr double most_throttled = 0.05;

    /// The limit of one resource of a job, in the unit of the resource.
    struct limit {
        double largest = 0;  // demand since the interval began
        double amount = -1;  // -1 = none
        reason why = phase_unknown;

        /// `expected`: NaN = unknown.
        void close_interval(double used, double expected, double margin) noexcept {
            bool const is_known = is_finite(expected);
            bool const ahead = is_known && expected >= largest;
            amount = is_known ? with_margin(ahead ? expected : largest, margin) : -1;
            why = !is_known ? phase_unknown : ahead ? phase_ahead : last_interval;
            largest = is_finite(used) ? used : 0;  // so that the same tick, asked again, changes nothing
        }
        void take(double used, double expected, double margin) noexcept {
            if (is_finite(used) && used > largest) largest = used;
            if (amount < 0) return;
            for (auto const& [demand, cause] : {std::pair{used, last_interval}, std::pair{expected, phase_ahead}})
                if (is_finite(demand) && with_margin(demand, margin) > amount) {
                    amount = with_margin(demand, margin);
                    why = cause;
                }
        }
        /// A larger demand than any amount counts as the largest amount.
        [[nodiscard]] static double with_margin(double demand, double margin) noexcept {
            double const limit = (1 + margin) * demand, most = static_cast<double>(max_amount);
            return limit < most ? limit : most;
        }
        static auto fields(auto& self) noexcept { return std::tie(self.largest, self.amount, self.why); }
        [[nodiscard]] bool sane() const noexcept { return is_finite(largest) && is_finite(amount) && why <= no_room; }
    };
    struct job_limits {
        nanoseconds begun{-1};
        limit cpu, memory;
        static auto fields(auto& self) noexcept { return std::tie(self.begun, self.cpu, self.memory); }
        [[nodiscard]] static bool sane() noexcept { return true; }
    };

    phase_limits_parameters parameters_;
    job_memory<job_limits> jobs_;

    [[nodiscard]] static bool is_running(tick<inputs> const& t, std::size_t row) noexcept {
        return static_cast<job_state>(t.get<"jobs/state">()[row]) == job_state::running;
    }

    /// Takes the measurements of a running job, and sets its limits.
    void take(tick<inputs> const& t, std::size_t row) noexcept {
        job_limits& job = jobs_[row];
        double const cpu = t.get<"jobs/used.cpu">()[row], memory = t.get<"jobs/used.memory">()[row];
        double const cpu_ahead = t.get<"jobs/expected.cpu">()[row], memory_ahead = t.get<"jobs/expected.memory">()[row];
        job.cpu.take(cpu, cpu_ahead, parameters_.cpu_margin);
        job.memory.take(memory, memory_ahead, parameters_.memory_margin);
        if (job.begun.count < 0) job.begun = t.now();
        // A limit of this tick has throttled nothing yet, also if the tick is asked again
        bool const had_limit = job.cpu.amount >= 0 && job.begun < t.now();
        if (had_limit && t.get<"jobs/throttled.cpu">()[row] > most_throttled) {
            job.begun = t.now();
            job.cpu.why = throttled;
            job.cpu.amount = -1;
        }
        if (to_seconds(t.now() - job.begun) < parameters_.interval) return;
        job.begun = t.now();
        job.cpu.close_interval(cpu, cpu_ahead, parameters_.cpu_margin);
        job.memory.close_interval(memory, memory_ahead, parameters_.memory_margin);
    }

    /// Writes the limits of one resource that change.
    template <fixed_string Resource>
    [[nodiscard, gnu::flatten]] status answer(tick<inputs> const& t, limit job_limits::* of, resource_id resource,
                                              grants& out) const noexcept {
        constexpr bool is_cpu = Resource.view() == "cpu";
        auto const least = is_cpu ? t.get<"jobs/min.cpu">() : t.get<"jobs/min.memory">(),
                   most = is_cpu ? t.get<"jobs/max.cpu">() : t.get<"jobs/max.memory">(),
                   held = is_cpu ? t.get<"jobs/held.cpu">() : t.get<"jobs/held.memory">();
        std::int64_t const capacity = is_cpu ? t.get<"nodes/capacity.cpu">()[0] : t.get<"nodes/capacity.memory">()[0];
        std::int64_t left = capacity;
        auto const choose = [&](std::size_t row) noexcept {
            if (row == 0) left = capacity;  // the rows are asked in order, and maybe again
            limit const& l = jobs_[row].*of;
            detail::chosen_amount chosen{.amount = unlimited, .reason = l.why, .is_set = is_running(t, row)};
            if (!chosen.is_set || l.amount < 0) return chosen;
            std::int64_t const least_granted = least_amount(resource),
                               amount = amount_of(l.amount, least_granted, {least[row], most[row]});
            if (amount >= least_granted && amount <= left) {
                chosen.amount = amount;
                left -= amount;
            } else {
                chosen.reason = no_room;
            }
            return chosen;
        };
        return detail::grant_on_first_node(resource, held, capacity, choose, out);
    }
    /// The limit as an amount that the job accepts, rounded up.
    [[nodiscard]] static std::int64_t amount_of(double limit, std::int64_t smallest, bounds const& accepted) noexcept {
        double const most = static_cast<double>(max_amount);
        std::int64_t const amount = limit < most ? static_cast<std::int64_t>(limit) + 1 : max_amount;
        return within(amount < smallest ? smallest : amount, accepted);
    }
};

static_assert(Policy<phase_limits>);

}  // namespace ration::policies
