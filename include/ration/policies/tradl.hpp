// SPDX-License-Identifier: BSL-1.0
/// tradl: a job that has reached its Acceptable tier releases a part of the machine to jobs that
/// have not. Source: W. Zheng et al., "Target-based Resource Allocation for Deep Learning
/// Applications in a Multi-tenancy System", IEEE HPEC 2019. docs/tradl.md lists the gaps of the
/// paper and the interpretation here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

#include <ration/buffer.hpp>
#include <ration/job.hpp>
#include <ration/job_memory.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/one_node_grants.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// The tiers that count. AO: at Acceptable a job is limited, and runs to its own end. FT: at
/// Objective it is also released. NA: neither; the control.
enum class tradl_scenario : std::uint8_t { AO, FT, NA };
/// The words of `tradl_scenario` in a configuration, in the order of its values.
inline constexpr std::string_view tradl_scenario_names[] = {"AO", "FT", "NA"};
/// Found by the adapter of parameters (adapt/parameters.hpp).
[[nodiscard]] constexpr std::span<std::string_view const> words_of(tradl_scenario) noexcept {
    return tradl_scenario_names;
}

/// Parameters of `tradl`; each member has its unit and its default.
struct tradl_parameters {
    /// Use of the CPU, as a fraction, from which a machine counts as full; below it there are no
    /// limits
    double alpha = 0.9;
    double dead_band = 0.02;  ///< a job is above its fair share 1/n only from 1/n + dead_band on
    /// Which tiers count.
    tradl_scenario scenario = tradl_scenario::FT;
    bool strict = false;  ///< the published rule without the three additions below

    static constexpr parameter_note notes[] = {
        {.name = "alpha",
         .meaning = "the machine counts as full from this use on, above 0 and at most 1",
         .least = 0,
         .most = 1},
        {.name = "dead_band",
         .meaning = "beyond 1/n by this much, a job is above its fair share; from 0 to below 1",
         .least = 0,
         .most = 1},
        {.name = "scenario", .meaning = "AO limits at Acceptable, FT also releases at Objective, NA does neither"},
        {.name = "strict",
         .meaning =
             "the bare rule: the branch follows the present use, no limit is lifted, a lone job is limited too"}};

    /// The error in the values and its fix, as a sentence; empty if the values are valid.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (!(alpha > 0 && alpha <= 1))
            return "alpha is a fraction of the machine: write a number above 0 and at most 1";
        if (!(dead_band >= 0 && dead_band < 1))
            return "dead_band is a fraction of the machine: write a number from 0 to below 1";
        return {};
    }
};

/// The rule, for each node separately. There are n running jobs on the node, and its use is at
/// least alpha. A job that reached Acceptable is limited to 1/(2n) of the machine if it used more
/// than its fair share 1/n at that time, and to 1/(n+1) otherwise. All other jobs have no limit.
/// Where every running job has reached Acceptable, for example a single one, no job is limited,
/// since no job would gain.
///
/// Three additions, which `strict` removes. (1) The branch depends on the use at the time of
/// reaching Acceptable, since the limit itself reduces the use below 1/n. If n changes, the branch
/// is chosen again from that same use. (2) A limit that leaves the machine idle is lifted. It is
/// tried again when a job comes, goes or reaches a tier, or after a wait that doubles. (3) No job
/// is limited where no job would gain. In both forms 1/n includes the dead band.
///
/// On several nodes a job runs where it holds CPU. A job without CPU is placed on the node with the
/// least use for its capacity. Full nodes (alpha) count alike; ties go to the node with the fewest
/// jobs for its capacity, then to the lower row. A job whose node has lost its CPU is placed again;
/// other jobs do not move. Writes only changes. O(jobs + holdings), and O(nodes) for each placed
/// job. State: one entry for each job and node.
class tradl {
public:
    using policy_concept = policy_tag;
    using inputs = detail::located_columns<in<std::uint32_t, "jobs/state">, in<std::uint32_t, "jobs/tier">,
                                           in<double, "jobs/used.cpu">, in<std::int64_t, "jobs/min.cpu">,
                                           in<std::int64_t, "jobs/max.cpu">, in<std::int64_t, "jobs/held.cpu">,
                                           in<std::int64_t, "nodes/capacity.cpu">>;

    /// Reason codes of the grants.
    enum reason : std::uint16_t {
        unexplained,
        machine_not_full,
        below_acceptable,
        above_fair_share,
        at_fair_share,
        objective
    };
    static constexpr std::string_view reasons[] = {
        "",
        "free competition: the machine is not full, or no job waits for more of it",
        "below Acceptable: no limit",
        "Acceptable reached, above its fair share: 1/(2n)",
        "Acceptable reached: 1/(n+1)",
        "Objective reached: released"};
    static constexpr meta about{.id = "ration.tradl",
                                .version = "1.0.0",
                                .summary = "limits jobs that reached Acceptable",
                                .reasons = reasons,
                                .vendor = "ration",
                                .license = "BSL-1.0"};

    using parameters = tradl_parameters;

    tradl() = default;
    explicit tradl(tradl_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        latched_use_.reserve(most.jobs);
        nodes_.reserve(most.nodes);
        if (most.nodes > 1) places_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        latched_use_.follow(t.get<"jobs/id">());
        while (nodes_.size() < t.nodes()) nodes_.push_back({});
        auto const capacity = t.get<"nodes/capacity.cpu">();
        for (std::size_t node = 0; node < t.nodes(); ++node) nodes_[node].capacity = capacity[node];
        jobs const all{t.get<"jobs/state">(), t.get<"jobs/tier">(), t.get<"jobs/used.cpu">(), accepted_from(),
                       finished_from()};
        bool const several = t.nodes() > 1;
        if (several) place(t, all);
        several ? inspect<true>(all) : inspect<false>(all);
        for (std::size_t node = 0; node < t.nodes(); ++node) choose_shares(nodes_[node], t.now());
        return several ? answer_each(t, all, out) : answer_one(t, all, out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        latched_use_.save(out);
        out.put(std::uint64_t{nodes_.size()});
        for (node_state const& n : nodes_) out.put(n);
        return out.needed();
    }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        tradl loaded(parameters_);
        std::uint64_t nodes = 0;
        loaded.latched_use_.reserve(latched_use_.capacity());
        if (!loaded.latched_use_.load(in) || !in.get(nodes) || nodes > in.left()) return status::state;
        for (node_state n; nodes > 0 && in.get(n); --nodes) loaded.nodes_.push_back(n);
        if (!in.finished()) return status::state;
        loaded.nodes_.reserve(nodes_.capacity());
        loaded.places_.reserve(places_.capacity());
        *this = std::move(loaded);
        return status::ok;
    }

private:
    /// The columns of the jobs, and the tiers that count in the scenario.
    struct jobs {
        std::span<std::uint32_t const> state, tier;
        std::span<double const> used;                ///< millicores
        std::uint64_t accepted_from, finished_from;  ///< the tiers

        [[nodiscard]] bool is_running(std::size_t row) const noexcept {
            return static_cast<job_state>(state[row]) == job_state::running;
        }
        [[nodiscard]] bool is_accepted(std::size_t row) const noexcept { return tier[row] >= accepted_from; }
        [[nodiscard]] bool is_finished(std::size_t row) const noexcept { return tier[row] >= finished_from; }
    };
    /// The values of a tick that are the same for all jobs of a node.
    struct shares {
        bool free;
        double fair;  ///< a job that used more than this at Acceptable is above its fair share
        std::int64_t above_fair, at_fair;
    };

    /// The load of a node at one tick.
    struct node_load {
        std::int64_t running = 0, accepted = 0;  ///< jobs that continue, and those of them that are accepted
        double used = 0;                         ///< millicores, of all
    };
    /// A node between two ticks.
    struct node_state {
        std::int64_t capacity = 0;
        /// The load of this tick; not a part of the saved state.
        node_load seen;
        std::int64_t running = 0, accepted = 0;  ///< at the tick before
        bool limiting = false;
        nanoseconds try_again{0}, wait = first_wait;
        shares now{};
        std::int64_t left = 0;  ///< millicores that this tick does not reserve

        [[nodiscard]] static auto fields(auto& self) noexcept {
            return std::tie(self.running, self.accepted, self.limiting, self.try_again, self.wait);
        }
        [[nodiscard]] bool sane() const noexcept { return wait >= first_wait && wait <= longest_wait; }
    };
    static constexpr std::uint32_t nowhere = 0xFFFF'FFFF;
    /// The node of a job, and the node where it holds CPU.
    struct location {
        std::uint32_t node = nowhere, held = nowhere;
    };
    /// The waits before limits are tried again: the first, and the longest.
    static constexpr nanoseconds first_wait = seconds(5), longest_wait = seconds(160);

    tradl_parameters parameters_;
    // The fraction of the machine used on entering Acceptable, or now if strict; 0 = not there yet
    job_memory<double> latched_use_;
    buffer<node_state> nodes_;
    buffer<location> places_;  // by row, of several nodes

    /// How far the use has to fall below alpha before limits are lifted.
    static constexpr double slack = 0.05;  // below alpha by this much before limits are lifted again

    static constexpr std::uint64_t no_tier = std::uint64_t{1} << 32;  // above every value of the column
    /// The tier from which a job is limited.
    [[nodiscard]] std::uint64_t accepted_from() const noexcept {
        return parameters_.scenario == tradl_scenario::NA ? no_tier : two_tier_target::acceptable_tier;
    }
    /// The tier from which a job is released.
    [[nodiscard]] std::uint64_t finished_from() const noexcept {
        return parameters_.scenario == tradl_scenario::FT ? two_tier_target::objective_tier : no_tier;
    }

    /// Chooses each running job's node: where it holds CPU, or the one with the least use.
    void place(tick<inputs> const& t, jobs const& all) noexcept {
        find_held(t);
        for (node_state& n : nodes_) n.seen = {};
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            std::uint32_t const at = places_[row].held;
            if (!all.is_running(row) || at == nowhere || nodes_[at].capacity <= 0) continue;
            places_[row].node = at;
            nodes_[at].seen.used += all.used[row];
            ++nodes_[at].seen.running;
        }
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            bool const is_released = all.is_finished(row);  // it holds nothing, and is on its way out
            if (!all.is_running(row) || places_[row].node != nowhere || is_released) continue;
            places_[row].node = least_used(t.nodes());
            ++nodes_[places_[row].node].seen.running;
        }
    }

    /// The grants on a single node. Flattened, since most of the time of a tick is spent in this
    /// loop.
    [[nodiscard, gnu::flatten]] status answer_one(tick<inputs> const& t, jobs const all, grants& out) const noexcept {
        auto const least = t.get<"jobs/min.cpu">(), most = t.get<"jobs/max.cpu">(), held = t.get<"jobs/held.cpu">();
        shares const now = nodes_[0].now;
        auto const choose = [&](std::size_t row) noexcept {
            if (!all.is_running(row)) return detail::chosen_amount{.is_set = false};
            detail::chosen_amount chosen = decide_one(all, row, now, {least[row], most[row]});
            // A job that is released before it held anything also holds 0, and still needs a grant.
            chosen.repeated = chosen.amount == 0;
            return chosen;
        };
        return detail::grant_on_first_node(resource_id::cpu, held, t.get<"nodes/capacity.cpu">()[0], choose, out);
    }

    /// The grants on several nodes. A job that moves releases its CPU elsewhere, which others can have from the next
    /// tick on. An amount that does not fit on its node, after all that become smaller there, is not granted.
    [[nodiscard]] status answer_each(tick<inputs> const& t, jobs const& all, grants& out) noexcept {
        auto const least = t.get<"jobs/min.cpu">(), most = t.get<"jobs/max.cpu">(), held = t.get<"jobs/held.cpu">();
        auto const node_of = [&](std::size_t row) { return places_[row].node != nowhere ? places_[row].node : 0; };
        auto const choose = [&](std::size_t row) {
            return decide_one(all, row, nodes_[node_of(row)].now, {least[row], most[row]});
        };
        for (node_state& n : nodes_) n.left = n.capacity;
        detail::for_each_holding(t, resource_id::cpu, [&](std::size_t row, std::uint32_t at, std::int64_t amount) {
            std::int64_t const chosen = all.is_running(row) && at == node_of(row) ? choose(row).amount : amount;
            bool const shrinks = detail::growth(chosen, amount, resource_id::cpu) < 0;
            nodes_[at].left -= reserved(shrinks ? chosen : amount, resource_id::cpu);
        });
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!all.is_running(row)) continue;
            std::uint32_t const node = node_of(row);
            detail::chosen_amount const d = choose(row);
            auto const has = detail::holding_on(t, row, node, resource_id::cpu, held[row]);
            std::int64_t const more = detail::growth(d.amount, has.here, resource_id::cpu);
            if (more > 0 && more > nodes_[node].left) continue;
            nodes_[node].left -= more > 0 ? more : 0;
            bool const changes = d.amount != has.here || has.elsewhere || d.amount == 0;
            if (changes && !detail::hold_on(t, row, node, resource_id::cpu, d.amount, d.reason, out))
                return status::capacity;
        }
        return status::ok;
    }

    /// Finds the node where each job holds CPU.
    void find_held(tick<inputs> const& t) noexcept {
        places_.clear();
        for (std::size_t row = 0; row < t.jobs(); ++row) places_.push_back({});
        detail::for_each_holding(t, resource_id::cpu,
                                 [&](std::size_t row, std::uint32_t node, std::int64_t) { places_[row].held = node; });
    }

    /// The node for a new job, by use and then by number of jobs.
    [[nodiscard]] std::uint32_t least_used(std::size_t nodes) const noexcept {
        std::uint32_t found = 0;
        double found_use = 2, found_jobs = 0;  // more than any use
        for (std::uint32_t node = 0; node < nodes; ++node) {
            if (nodes_[node].capacity <= 0) continue;
            auto const capacity = static_cast<double>(nodes_[node].capacity);
            double const use = nodes_[node].seen.used / capacity,
                         counted = use < parameters_.alpha ? use : parameters_.alpha;
            double const jobs = static_cast<double>(nodes_[node].seen.running) / capacity;
            if (counted < found_use || (counted == found_use && jobs < found_jobs)) {
                found = node;
                found_use = counted;
                found_jobs = jobs;
            }
        }
        return found;
    }

    /// Measures the load of each node. A job that has just reached Acceptable keeps the use of this
    /// tick.
    template <bool Several>
    void inspect(jobs const& all) noexcept {
        for (node_state& n : nodes_) n.seen = {};
        node_load of_one;
        std::int64_t const capacity_of_one = nodes_[0].capacity;
        for (std::size_t row = 0; row < all.state.size(); ++row) {
            if (!all.is_running(row) || (Several && places_[row].node == nowhere)) continue;
            node_load& seen = Several ? nodes_[places_[row].node].seen : of_one;
            seen.used += all.used[row];
            if (all.is_finished(row)) continue;
            ++seen.running;
            if (!all.is_accepted(row)) continue;
            ++seen.accepted;
            // One node is the common case, and needs no indirection in the loop.
            std::int64_t const capacity = Several ? nodes_[places_[row].node].capacity : capacity_of_one;
            if (latched_use_[row] == 0 || parameters_.strict)
                latched_use_[row] = all.used[row] / static_cast<double>(capacity);
        }
        if (!Several) nodes_[0].seen = of_one;
    }

    /// Chooses the limits of a node. Any change of the number of running or accepted jobs resets
    /// the wait.
    void choose_shares(node_state& n, nanoseconds now) const noexcept {
        if (n.seen.running != n.running || n.seen.accepted != n.accepted) {
            n.try_again = now;
            n.wait = first_wait;
        }
        n.running = n.seen.running;
        n.accepted = n.seen.accepted;
        n.now = shares_of(n, free_competition(n, n.seen.used / static_cast<double>(n.capacity), now));
    }

    /// The alpha test; it precedes every other rule. Returns true if there are no limits.
    [[nodiscard]] bool free_competition(node_state& n, double used, nanoseconds now) const noexcept {
        if (parameters_.strict) {
            n.limiting = used >= parameters_.alpha;
        } else if (n.accepted == 0 || n.accepted == n.running) {
            n.limiting = false;  // no job to take from, or no job to give to
        } else if (n.limiting && used < parameters_.alpha - slack && now >= n.try_again + settling) {
            n.limiting = false;  // the others do not use the released CPU
            n.try_again = now + n.wait;
            n.wait = n.wait < longest_wait ? nanoseconds{n.wait.count * 2} : longest_wait;
        } else if (!n.limiting && used >= parameters_.alpha && now >= n.try_again) {
            n.limiting = true;
            n.try_again = now;
        }
        return !n.limiting;
    }
    /// Delay with which the measured use follows a new limit.
    static constexpr nanoseconds settling = seconds(3);  // the measured use follows a new limit with a delay

    /// The limits for this number of jobs, in millicores.
    [[nodiscard]] shares shares_of(node_state const& n, bool free) const noexcept {
        if (free || n.running == 0) return {.free = true, .fair = 0, .above_fair = 0, .at_fair = 0};
        return {.free = false,
                .fair = 1.0 / static_cast<double>(n.running) + parameters_.dead_band,
                .above_fair = n.capacity / (2 * n.running),
                .at_fair = n.capacity / (n.running + 1)};
    }
    /// The limit of one job, and its reason.
    [[nodiscard]] detail::chosen_amount decide_one(jobs const& all, std::size_t row, shares const& now,
                                                   bounds const& accepted) const noexcept {
        if (all.is_finished(row)) return {0, objective};
        if (now.free) return {unlimited, machine_not_full};
        if (!all.is_accepted(row)) return {unlimited, below_acceptable};
        if (latched_use_[row] > now.fair) return {cpu_limit(now.above_fair, accepted), above_fair_share};
        return {cpu_limit(now.at_fair, accepted), at_fair_share};
    }
};

static_assert(Policy<tradl>);

}  // namespace ration::policies
