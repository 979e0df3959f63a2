// SPDX-License-Identifier: BSL-1.0
/// TRADL: a job that has reached its Acceptable tier gives up part of the machine to those that have not.
/// Source: W. Zheng et al., "Target-based Resource Allocation for Deep Learning Applications in a Multi-tenancy System",
/// IEEE HPEC 2019. docs/tradl.md says what the paper leaves open and how it is read here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <ration/job.hpp>
#include <ration/job_memory.hpp>
#include <ration/parameter.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Which tiers count. AO: at Acceptable a job is limited and then runs to its own end. FT: at Objective it is also released.
/// NA: neither, the control.
enum class tradl_scenario : std::uint8_t { AO, FT, NA };
inline constexpr std::string_view tradl_scenario_names[] = {"AO", "FT", "NA"};
[[nodiscard]] constexpr std::span<std::string_view const> words_of(tradl_scenario) noexcept { return tradl_scenario_names; }

struct tradl_parameters {
    double alpha = 0.9;       ///< the machine counts as full from this use on, as a fraction of its CPU; below: free competition
    double dead_band = 0.02;  ///< a job is above its fair share 1/n only beyond 1/n + dead_band
    tradl_scenario scenario = tradl_scenario::FT;

    static constexpr parameter_note notes[] = {
        {.name = "alpha", .meaning = "the machine counts as full from this use on, above 0 and at most 1", .least = 0, .most = 1},
        {.name = "dead_band", .meaning = "beyond 1/n by this much, a job is above its fair share; from 0 to below 1", .least = 0, .most = 1},
        {.name = "scenario", .meaning = "AO limits at Acceptable, FT also releases at Objective, NA does neither"}};

    /// What is wrong with the values and what to write instead, as a sentence; empty when nothing is.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (!(alpha > 0 && alpha <= 1)) return "alpha is a fraction of the machine: write a number above 0 and at most 1";
        if (!(dead_band >= 0 && dead_band < 1)) return "dead_band is a fraction of the machine: write a number from 0 to below 1";
        return {};
    }
};

/// The rule. With n running jobs, and a machine in use to at least alpha, a job that reached Acceptable is limited to 1/(2n) of
/// the machine if it used more than its fair share 1/n when it got there, and to 1/(n+1) otherwise; all others have no limit.
/// Where every running job is there already, and so above all for one alone, nobody is limited: nobody would gain.
///
/// Made stable in three places where the bare rule oscillates: the use that chooses the branch is the one measured on entering
/// Acceptable, since the limit itself pushes the use below 1/n (n may change, and then the branch is chosen again from that same
/// use); 1/n carries a dead band; and a limit that leaves the machine idle, because the others cannot use what was given up, is
/// lifted and tried again only when a job comes, goes or reaches a tier, or after a wait that doubles.
/// Says what differs from what is held. O(jobs); state: one entry per job.
class tradl {
public:
    using policy_concept = policy_tag;
    using inputs = columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">, in<std::uint32_t, "jobs/tier">,
                           in<double, "jobs/used.cpu">, in<std::int64_t, "jobs/min.cpu">, in<std::int64_t, "jobs/max.cpu">,
                           in<std::int64_t, "jobs/held.cpu">, in<std::int64_t, "nodes/capacity.cpu">>;

    enum reason : std::uint16_t { unexplained, machine_not_full, below_acceptable, above_fair_share, at_fair_share, objective };
    static constexpr std::string_view reasons[] = {"",
                                                   "free competition: the machine is not full, or nobody waits for more of it",
                                                   "below Acceptable: no limit",
                                                   "Acceptable reached, above its fair share: 1/(2n)",
                                                   "Acceptable reached: 1/(n+1)",
                                                   "Objective reached: released"};
    static constexpr meta about{
        .id = "ration.tradl", .version = "1.0.0", .summary = "limits jobs that reached Acceptable", .reasons = reasons,
        .vendor = "ration", .license = "BSL-1.0"};

    using parameters = tradl_parameters;

    tradl() = default;
    explicit tradl(tradl_parameters const& p) noexcept : parameters_(p) {}

    [[nodiscard]] status prepare(limits const& most) noexcept {
        latched_use_.reserve(most.jobs);
        return status::ok;
    }

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        capacity_ = t.get<"nodes/capacity.cpu">()[0];
        latched_use_.follow(t.get<"jobs/id">());
        jobs const all{t.get<"jobs/state">(), t.get<"jobs/tier">(), t.get<"jobs/used.cpu">(), accepted_from(), finished_from()};
        double const used = look_at(all, t.now());
        shares const now = shares_of(free_competition(used, t.now()));
        auto const least = t.get<"jobs/min.cpu">(), most = t.get<"jobs/max.cpu">(), held = t.get<"jobs/held.cpu">();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!all.is_running(row)) continue;
            decision d = decide_one(all, row, now);
            if (d.amount != unlimited && d.amount != 0) d.amount = within(d.amount, {least[row], most[row]});
            bool const said = d.amount == held[row] && d.amount != 0;  // who is released before it has held anything holds 0 as well
            if (!said && !out.set(row, 0, resource_id::cpu, d.amount, d.why)) return status::capacity;
        }
        return status::ok;
    }

    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        latched_use_.save(out);
        out.put(running_), out.put(accepted_), out.put(limiting_), out.put(try_again_), out.put(wait_);
        return out.needed();
    }
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        tradl loaded(parameters_);
        loaded.latched_use_.reserve(latched_use_.capacity());
        bool const whole = loaded.latched_use_.load(in) && in.get(loaded.running_) && in.get(loaded.accepted_) && in.get(loaded.limiting_) &&
                           in.get(loaded.try_again_) && in.get(loaded.wait_);
        if (!whole || !in.finished() || loaded.wait_ < first_wait || loaded.wait_ > longest_wait) return status::state;
        *this = std::move(loaded);
        return status::ok;
    }

private:
    struct jobs {
        std::span<std::uint32_t const> state, tier;
        std::span<double const> used;  ///< millicores
        std::uint64_t accepted_from, finished_from;  ///< the tiers

        [[nodiscard]] bool is_running(std::size_t row) const noexcept { return static_cast<job_state>(state[row]) == job_state::running; }
        [[nodiscard]] bool is_accepted(std::size_t row) const noexcept { return tier[row] >= accepted_from; }
        [[nodiscard]] bool is_finished(std::size_t row) const noexcept { return tier[row] >= finished_from; }
    };
    struct decision {
        std::int64_t amount;
        reason why;
    };
    /// What is the same for all jobs of a tick.
    struct shares {
        bool free;
        double fair;  ///< who used more than this of the machine on reaching Acceptable is above its fair share
        std::int64_t above_fair, at_fair;
    };

    tradl_parameters parameters_;
    job_memory<double> latched_use_;  // the fraction of the machine used on entering Acceptable; 0 = not there yet
    std::int64_t capacity_ = 0;
    std::int64_t running_ = 0, accepted_ = 0;
    bool limiting_ = false;
    nanoseconds try_again_{0}, wait_ = first_wait;

    static constexpr nanoseconds first_wait = seconds(5), longest_wait = seconds(160);
    static constexpr double slack = 0.05;  // below alpha by this much before limits are lifted again

    static constexpr std::uint64_t no_tier = std::uint64_t{1} << 32;  // above all that a column holds
    [[nodiscard]] std::uint64_t accepted_from() const noexcept {
        return parameters_.scenario == tradl_scenario::NA ? no_tier : two_tier_target::acceptable_tier;
    }
    [[nodiscard]] std::uint64_t finished_from() const noexcept {
        return parameters_.scenario == tradl_scenario::FT ? two_tier_target::objective_tier : no_tier;
    }

    /// Counts n, the jobs that go on, and those of them that are accepted; any change of either is a new situation. Returns what all use
    /// of the machine, as a fraction.
    [[nodiscard]] double look_at(jobs const& all, nanoseconds now) noexcept {
        std::int64_t running = 0, accepted = 0;
        double used = 0;
        for (std::size_t row = 0; row < all.state.size(); ++row) {
            if (!all.is_running(row)) continue;
            used += all.used[row];
            if (all.is_finished(row)) continue;
            ++running;
            if (!all.is_accepted(row)) continue;
            ++accepted;
            if (latched_use_[row] == 0) latched_use_[row] = all.used[row] / static_cast<double>(capacity_);
        }
        if (running != running_ || accepted != accepted_) try_again_ = now, wait_ = first_wait;
        running_ = running;
        accepted_ = accepted;
        return used / static_cast<double>(capacity_);
    }

    /// The alpha test, before everything else.
    [[nodiscard]] bool free_competition(double used, nanoseconds now) noexcept {
        if (accepted_ == 0 || accepted_ == running_) {
            limiting_ = false;  // nobody to take from, or nobody to give to
        } else if (limiting_ && used < parameters_.alpha - slack && now >= try_again_ + settling) {
            limiting_ = false;  // the others do not use what was given up
            try_again_ = now + wait_;
            wait_ = wait_ < longest_wait ? nanoseconds{wait_.count * 2} : longest_wait;
        } else if (!limiting_ && used >= parameters_.alpha && now >= try_again_) {
            limiting_ = true;
            try_again_ = now;
        }
        return !limiting_;
    }
    static constexpr nanoseconds settling = seconds(3);  // the measured use follows a new limit with a delay

    [[nodiscard]] shares shares_of(bool free) const noexcept {
        if (free) return {.free = true, .fair = 0, .above_fair = 0, .at_fair = 0};
        return {.free = false, .fair = 1.0 / static_cast<double>(running_) + parameters_.dead_band,  // somebody runs: not free
                .above_fair = capacity_ / (2 * running_), .at_fair = capacity_ / (running_ + 1)};
    }
    [[nodiscard]] decision decide_one(jobs const& all, std::size_t row, shares const& now) const noexcept {
        if (all.is_finished(row)) return {0, objective};
        if (now.free) return {unlimited, machine_not_full};
        if (!all.is_accepted(row)) return {unlimited, below_acceptable};
        if (latched_use_[row] > now.fair) return {now.above_fair, above_fair_share};
        return {now.at_fair, at_fair_share};
    }
};

static_assert(Policy<tradl>);

}  // namespace ration::policies
