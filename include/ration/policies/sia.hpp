// SPDX-License-Identifier: BSL-1.0
/// sia: the best mix of devices of several types. Source: S. Jayaram Subramanya et al., "Sia:
/// Heterogeneity-aware, goodput-optimized ML-cluster scheduling", SOSP 2023.
///
/// For clusters with unlike GPUs and jobs whose batch can change. `pollux` is the rule for devices
/// of one type.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/configuration_choice.hpp>
#include <ration/policies/detail/elastic_jobs.hpp>
#include <ration/policies/detail/goodput_jobs.hpp>
#include <ration/policies/detail/node_types.hpp>
#include <ration/policies/detail/speed.hpp>
#include <ration/policy.hpp>
#include <ration/target.hpp>

namespace ration::policies {

/// Parameters of `sia`; each member has its unit and its default.
struct sia_parameters {
    double round = 60;  ///< seconds from one decision to the next
    /// Decides also when jobs or devices come or go; false = only once in a round, as the paper does
    bool at_changes = true;
    /// Fairness: the exponent of the goodputs in the sum. With an exponent below 0 the sum is
    /// minimised.
    double p = -0.5;
    double lambda = 1.1;              ///< cost of a job without devices
    bool doubling = true;             ///< a job starts at its minimum and at most doubles in a decision
    std::int64_t steps = 10'000'000;  ///< additions of an exact decision; with more, the result is near the optimum

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "round", .meaning = "seconds from one decision to the next, 0 to 1000000", .least = 0, .most = 1e6},
        {.name = "at_changes", .meaning = "decide also when jobs or devices come or go"},
        {.name = "p",
         .meaning = "the power of goodputs that is added up, not 0; below 0 it is fairer",
         .least = -10,
         .most = 10},
        {.name = "lambda", .meaning = "what it costs to leave a job without devices, above 0", .least = 0},
        {.name = "doubling", .meaning = "a job starts at its minimum, and at most doubles in a decision"},
        {.name = "steps", .meaning = "additions an exact decision may take, 0 to 1000000000", .least = 0, .most = 1e9}};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (!(round >= 0 && round <= 1e6)) return "round is a time in seconds: write a number from 0 to 1000000";
        if (!(p >= -10 && p <= 10) || p == 0) return "p is a power: write a number from -10 to 10, but not 0";
        if (!(lambda > 0 && is_finite(lambda))) return "lambda is a cost: write a number above 0";
        if (!(steps >= 0 && steps <= 1'000'000'000)) return "steps is a number of additions: write 0 to 1000000000";
        return {};
    }
};

/// Every round, and with `at_changes` also when jobs or devices come or go, each job gets one configuration or none.
/// Configurations are, for each type of devices: 1, 2, 4 ... devices on one node, several whole nodes, and the job's
/// own minimum.
///
/// The goodputs G of a job are scaled so that the smallest equals its minimum of devices. All but
/// that of the present configuration are multiplied by the restart factor (T - N S) / (T + S): T is
/// the job's age, N its restarts so far, and S the cost of one. For p above 0 the rule maximises
/// the sum of G^p. For p below 0 it minimises the sum of G^p plus lambda for each job without
/// devices. The devices of each type bound the sum. A job runs with the batch that is best for its
/// devices.
///
/// Interpretation here: lambda is a cost in both cases. A restart factor of 0 or less rules out all
/// changes. Where nodes are too fragmented for the chosen configuration, the job is spread over few
/// nodes of that type; the paper moves other jobs instead.
///
/// Exact up to `steps` additions (the number of options times the product of all types' devices),
/// and near the optimum beyond. O(jobs + nodes) within a round. State: the time of the last
/// decision.
class sia {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = sia_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::goodput_columns<in<std::int64_t, "jobs/submitted">, in<std::uint32_t, "jobs/restarts">,
                                           in<double, "jobs/restart_cost">>;

    /// Reason codes of the grants.
    enum reason : std::uint16_t { unexplained, best_sum, near_best_sum, node_lost_devices, left_out };
    static_assert(static_cast<int>(node_lost_devices) == static_cast<int>(detail::elastic_jobs::node_lost_devices));
    /// Texts of the reason codes, in their order.
    static constexpr std::string_view reasons[] = {
        "", "its configuration in the best sum of all", "its configuration in a sum near the best",
        "a node of its lost devices", "left without devices for the sum of all"};
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.sia",
                                .version = "1.0.0",
                                .summary = "the best mix of devices of several types",
                                .reasons = reasons};

    /// With the default parameters.
    sia() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit sia(sia_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        types_.reserve(most);
        choice_.reserve(most.jobs, types_.most_types, static_cast<std::size_t>(parameters_.steps));
        order_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.is_due(t, parameters_.round, parameters_.at_changes)) return status::ok;
        types_.count(t);
        widest_ = static_cast<std::int64_t>(t.get<"jobs/goodput">().width() / types_.declared()) - 1;
        auto const shares = jobs_.list(t, [&](std::size_t) noexcept { return widest_; });
        types_.read_holdings(t, jobs_.places());
        choice_.begin(types_.available());
        for (auto const& s : shares) list_configurations(t, s);
        reason const why = choice_.solve(parameters_.steps) ? best_sum : near_best_sum;
        place(t, shares, why);
        if (auto const placed = jobs_.places().finish(t, out); placed != status::ok) return placed;
        return detail::choose_batches(t, shares, why, out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
    /// A job that gets a new configuration.
    struct change {
        std::uint32_t place;
        std::int64_t devices;
    };

    sia_parameters parameters_;
    detail::elastic_jobs jobs_;
    detail::node_types types_;
    detail::configuration_choice choice_;
    buffer<change> order_;
    std::int64_t widest_ = 0;

    /// The job's goodput with this number of devices of the type, in steps/s.
    [[nodiscard]] double goodput(tick<inputs> const& t, std::size_t row, std::size_t type,
                                 std::int64_t devices) const noexcept {
        auto const all = t.get<"jobs/goodput">()[row];
        return detail::speed_curve{
            all.subspan(type * static_cast<std::size_t>(widest_ + 1), static_cast<std::size_t>(widest_ + 1))}
            .at(devices);
    }

    /// Adds the job's configurations to the optimisation, with the value of each.
    void list_configurations(tick<inputs> const& t, detail::share const& s) noexcept {
        choice_.add_job();
        double slowest = 0;
        // The number may exceed the job's maximum, since the scale needs a goodput above 0.
        std::int64_t fewest = 0;  // devices on which it runs at all, which may be more than it accepts
        types_.for_each_configuration(s, [&](std::uint32_t type, std::int64_t k) noexcept {
            double const g = goodput(t, s.row, type, k);
            if (g > 0 && (slowest == 0 || g < slowest)) slowest = g;
            if (g > 0 && (fewest == 0 || k < fewest)) fewest = k;
        });
        if (slowest == 0) return;
        std::int64_t const held = jobs_.places().held(t, s.row);
        bool const is_settled = types_.is_settled(s.row);
        // A restart of a small job costs less than one of a large job, so a job grows step by step.
        std::int64_t const most = !parameters_.doubling ? s.most : 2 * held > fewest ? 2 * held : fewest;
        double const factor = is_settled ? restart_factor(t, s.row) : 1;
        types_.for_each_configuration(s, [&](std::uint32_t type, std::int64_t k) noexcept {
            bool const stays = is_settled && type == types_.type_of(s.row) && k == held;
            double const g = goodput(t, s.row, type, k) * static_cast<double>(s.least) / slowest * (stays ? 1 : factor);
            if (!(g > 0) || k > most) return;
            double const power = std::pow(g, parameters_.p);
            choice_.add({.value = parameters_.p > 0 ? power + parameters_.lambda : parameters_.lambda - power,
                         .devices = k,
                         .type = type});
        });
    }
    /// The factor on goodputs that need a restart; from 0 to 1.
    [[nodiscard]] static double restart_factor(tick<inputs> const& t, std::size_t row) noexcept {
        double const age = to_seconds(t.now() - nanoseconds{t.get<"jobs/submitted">()[row]}),
                     cost = t.get<"jobs/restart_cost">()[row];
        if (!(cost > 0)) return 1;
        double const factor = (age - cost * t.get<"jobs/restarts">()[row]) / (age + cost);
        return factor > 0 ? factor : 0;
    }

    /// First, all jobs that change release their devices. Then the largest are placed first, while
    /// whole nodes are free.
    void place(tick<inputs> const& t, std::span<detail::share> shares, reason why) noexcept {
        auto& places = jobs_.places();
        order_.clear();
        for (std::uint32_t i = 0; i < shares.size(); ++i) {
            auto const* const c = choice_.chosen(i);
            std::size_t const row = shares[i].row;
            std::int64_t const held = places.held(t, row);
            shares[i].given = c != nullptr ? c->devices : 0;
            if (c != nullptr && types_.is_settled(row) && types_.type_of(row) == c->type && held == c->devices)
                continue;
            if (held > 0) places.resize(t, row, 0, left_out);
            if (c != nullptr) order_.push_back({i, c->devices});
        }
        ration::detail::sort(order_.data(), order_.size(), [](change const& a, change const& b) {
            return a.devices != b.devices ? a.devices > b.devices : a.place < b.place;
        });
        for (auto const& o : order_) {
            std::uint32_t const type = choice_.chosen(o.place)->type;
            auto const of_type = [&](std::size_t node) noexcept { return types_.of_node(t, node) == type; };
            places.resize(t, shares[o.place].row, o.devices, why, of_type);
            if (places.held(t, shares[o.place].row) == o.devices) continue;
            // The devices of the type are too few after all: the job waits for the next round.
            places.resize(t, shares[o.place].row, 0, left_out);
            shares[o.place].given = 0;
        }
    }
};

static_assert(Policy<sia>);

}  // namespace ration::policies
