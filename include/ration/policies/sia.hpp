// SPDX-License-Identifier: BSL-1.0
/// sia: the best mix of devices of several types. Source: S. Jayaram Subramanya et al., "Sia: Heterogeneity-aware,
/// goodput-optimized ML-cluster scheduling", SOSP 2023.
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
    /// fairness: the power of goodputs that is added up; below 0 the sum is to be small
    double p = -0.5;
    double lambda = 1.1;              ///< what it costs to leave a job without devices
    bool doubling = true;             ///< a job starts at its minimum, and at most doubles in a round
    std::int64_t steps = 10'000'000;  ///< additions an exact decision may take; above, it is near the best

    static constexpr parameter_note notes[] = {
        {.name = "round", .meaning = "seconds from one decision to the next, 0 to 1000000", .least = 0, .most = 1e6},
        {.name = "p",
         .meaning = "the power of goodputs that is added up, not 0; below 0 it is fairer",
         .least = -10,
         .most = 10},
        {.name = "lambda", .meaning = "what it costs to leave a job without devices, above 0", .least = 0},
        {.name = "doubling", .meaning = "a job starts at its minimum, and at most doubles in a round"},
        {.name = "steps", .meaning = "additions an exact decision may take, 0 to 1000000000", .least = 0, .most = 1e9}};

    /// What is wrong with the values and what to write instead, as a sentence; empty when nothing is.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (!(round >= 0 && round <= 1e6)) return "round is a time in seconds: write a number from 0 to 1000000";
        if (!(p >= -10 && p <= 10) || p == 0) return "p is a power: write a number from -10 to 10, but not 0";
        if (!(lambda > 0 && is_finite(lambda))) return "lambda is a cost: write a number above 0";
        if (!(steps >= 0 && steps <= 1'000'000'000)) return "steps is a number of additions: write 0 to 1000000000";
        return {};
    }
};

/// Every round each job gets one configuration or none. Configurations are, for each type of devices, 1, 2, 4 ... up to
/// a node's devices on one node, and several whole nodes; and the job's own minimum. A job's goodputs G are scaled so
/// that the least is its minimum of devices; all but that of the configuration that it has are cut by the restart
/// factor (T - N S) / (T + S), with T its age, N its restarts so far and S what one costs. Chosen is what makes the sum
/// of G^p the largest, or with p below 0 the sum of G^p, and of lambda for each job without devices, the smallest,
/// within the devices of each type. A job goes with the batch that is best for its devices.
///
/// Read here: lambda is a cost in either case; a restart factor that is not above 0 rules out all changes; where nodes
/// are too fragmented for the chosen configuration the job is spread over few nodes of that type, while the paper moves
/// others out of its way. Exact up to `steps` additions (the sum's options times the product of all types' devices),
/// else near the best; O(jobs + nodes) within a round. State: when it last decided.
class sia {
public:
    using policy_concept = policy_tag;
    using parameters = sia_parameters;
    using inputs = detail::goodput_columns<in<std::int64_t, "jobs/submitted">, in<std::uint32_t, "jobs/restarts">,
                                           in<double, "jobs/restart_cost">>;

    enum reason : std::uint16_t { unexplained, best_sum, near_best_sum, node_lost_devices, left_out };
    static_assert(static_cast<int>(node_lost_devices) == static_cast<int>(detail::elastic_jobs::node_lost_devices));
    static constexpr std::string_view reasons[] = {
        "", "its configuration in the best sum of all", "its configuration in a sum near the best",
        "a node of its lost devices", "left without devices for the sum of all"};
    static constexpr meta about{.id = "ration.sia",
                                .version = "1.0.0",
                                .summary = "the best mix of devices of several types",
                                .reasons = reasons};

    sia() = default;
    explicit sia(sia_parameters const& p) noexcept : parameters_(p) {}

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        types_.reserve(most);
        choice_.reserve(most.jobs, types_.most_types, static_cast<std::size_t>(parameters_.steps));
        order_.reserve(most.jobs);
        return status::ok;
    }

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.is_due(t, parameters_.round, false)) return status::ok;
        types_.count(t);
        widest_ = static_cast<std::int64_t>(t.get<"jobs/goodput">().width() / types_.declared()) - 1;
        auto const shares = jobs_.list(t, [&](std::size_t) noexcept { return widest_; });
        types_.read_holdings(t, jobs_.places());
        choice_.begin(types_.available());
        for (auto const& s : shares) list_configurations(t, s);
        reason const why = choice_.solve(parameters_.steps) ? best_sum : near_best_sum;
        place(t, shares, why);
        if (auto const placed = jobs_.places().finish(out); placed != status::ok) return placed;
        return detail::choose_batches(t, shares, why, out);
    }

    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return jobs_.save(space); }
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return jobs_.load(saved); }

private:
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

    /// The job's goodput with so many devices of the type, in steps/s.
    [[nodiscard]] double goodput(tick<inputs> const& t, std::size_t row, std::size_t type,
                                 std::int64_t devices) const noexcept {
        auto const all = t.get<"jobs/goodput">()[row];
        return detail::speed_curve{
            all.subspan(type * static_cast<std::size_t>(widest_ + 1), static_cast<std::size_t>(widest_ + 1))}
            .at(devices);
    }

    void list_configurations(tick<inputs> const& t, detail::share const& s) noexcept {
        choice_.add_job();
        double slowest = 0;
        std::int64_t fewest = 0;  // devices on which it runs at all, which may be more than it accepts
        types_.for_each_configuration(s, [&](std::uint32_t type, std::int64_t k) noexcept {
            double const g = goodput(t, s.row, type, k);
            if (g > 0 && (slowest == 0 || g < slowest)) slowest = g;
            if (g > 0 && (fewest == 0 || k < fewest)) fewest = k;
        });
        if (slowest == 0) return;
        std::int64_t const held = jobs_.places().held(t, s.row);
        bool const is_settled = types_.is_settled(s.row);
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
    [[nodiscard]] static double restart_factor(tick<inputs> const& t, std::size_t row) noexcept {
        double const age = to_seconds(t.now() - nanoseconds{t.get<"jobs/submitted">()[row]}),
                     cost = t.get<"jobs/restart_cost">()[row];
        if (!(cost > 0)) return 1;
        double const factor = (age - cost * t.get<"jobs/restarts">()[row]) / (age + cost);
        return factor > 0 ? factor : 0;
    }

    /// Who changes gives back what it has; then the largest come first, so that whole nodes are there for them.
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
            places.resize(t, shares[o.place].row, 0, left_out);
            shares[o.place].given = 0;
        }
    }
};

static_assert(Policy<sia>);

}  // namespace ration::policies
