// SPDX-License-Identifier: BSL-1.0
/// save_by_age: checkpoints at intervals that follow the hazard of the servers at their age. Source of the interval:
/// J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17 (9), 1974. Source of the
/// hazard, which is far from constant: S. Li, R. J. Walls, T. Guo, "Characterizing and Modeling Distributed Training
/// with Transient Cloud GPU Servers", ICDCS 2020 (CM-DARE). To follow it by checkpoints is this project's idea.
///
/// For jobs on transient servers, which the provider can revoke.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/job.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/one_node_grants.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policy.hpp>
#include <ration/resource.hpp>
#include <ration/setting.hpp>

namespace ration::policies {

/// Parameters of `save_by_age`; each member has its unit and its default.
struct save_by_age_parameters {
    double longest = 3600;  ///< seconds between two checkpoints at most
    double shortest = 1;    ///< and at least

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "longest",
         .meaning = "seconds between two checkpoints at most, above 0, at most 1000000",
         .least = 0,
         .most = 1e6},
        {.name = "shortest",
         .meaning = "seconds between two checkpoints at least, from 0.001 to longest",
         .least = 0.001,
         .most = 1e6}};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (!(longest > 0 && longest <= 1e6))
            return "longest is a time in seconds: write a number above 0 and at most 1000000";
        if (!(shortest >= 0.001 && shortest <= longest))
            return "shortest is a time in seconds: write a number from 0.001 to longest";
        return {};
    }
};

/// Jobs start in the order of submission, as with `fifo`: each with its requested devices, which it keeps. A job that
/// does not fit blocks all later ones.
///
/// The interval of checkpoints of a running job is sqrt(2 C / h), within `shortest` and `longest`. C is the cost of one
/// checkpoint in seconds. h is the sum of the hazards of its nodes in losses per second, since the loss of one stops
/// the job. An interval within 1 % of the present one is left.
///
/// O(jobs + holdings log jobs). No state to save.
class save_by_age {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = save_by_age_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::rigid_columns<in<double, "jobs/save_cost">, in<std::int64_t, "jobs/held.save.interval">,
                                         in<std::int64_t, "jobs/min.save.interval">,
                                         in<std::int64_t, "jobs/max.save.interval">, in<double, "nodes/hazard">>;

    /// Reason codes of the grants; the first ones are those of `detail::rigid_jobs`.
    enum reason : std::uint16_t { by_hazard = 4 };
    /// Texts of the reason codes, in their order.
    static constexpr std::string_view reasons[] = {
        detail::rigid_jobs::reasons[0], detail::rigid_jobs::reasons[1], detail::rigid_jobs::reasons[2],
        detail::rigid_jobs::reasons[3], "the hazard of its nodes at their age, and the cost of a checkpoint"};
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.save-by-age",
                                .version = "1.0.0",
                                .summary = "first come, first served; checkpoints by the hazard of transient servers",
                                .reasons = reasons};

    /// With the default parameters.
    save_by_age() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit save_by_age(save_by_age_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate. Returns `status::unsupported` for a host
    /// without the resource `save.interval`.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        auto const number = find_resource(most, save_interval::name);
        if (!number) return status::unsupported;
        number_ = *number;
        jobs_.reserve(most);
        hazards_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (jobs_.begin(t, false)) {
            detail::start_as_submitted(t, jobs_, false);
            if (auto const done = jobs_.finish(t, out); done != status::ok) return done;
        }
        return set_intervals(t, out);
    }

private:
    save_by_age_parameters parameters_;
    resource_id number_ = resource_id::first_custom;  // of `save_interval`
    detail::rigid_jobs jobs_;
    buffer<double> hazards_;  // by row: of all nodes of the job together

    [[nodiscard]] status set_intervals(tick<inputs> const& t, grants& out) noexcept {
        sum_up_hazards(t);
        auto const devices = t.get<"jobs/held.gpu">(), held = t.get<"jobs/held.save.interval">(),
                   least = t.get<"jobs/min.save.interval">(), most = t.get<"jobs/max.save.interval">();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            bool const stays = devices[row] > 0 && jobs_.held(row) == devices[row];
            if (!stays) continue;
            double const ideal = interval(t.get<"jobs/save_cost">()[row], hazards_[row]);
            std::int64_t const amount = within(static_cast<std::int64_t>(ideal), {least[row], most[row]});
            if (is_near(amount, held[row])) continue;
            if (!detail::hold_on(t, row, 0, number_, amount, by_hazard, out)) return status::capacity;
        }
        return status::ok;
    }

    void sum_up_hazards(tick<inputs> const& t) noexcept {
        hazards_.clear();
        hazards_.resize(t.jobs());
        auto const ids = t.get<"jobs/id">(), owners = t.get<"held/job">();
        auto const nodes = t.get<"held/node">(), resources = t.get<"held/resource">();
        auto const hazards = t.get<"nodes/hazard">();
        for (std::size_t i = 0; i < owners.size(); ++i) {
            if (resources[i] != static_cast<std::uint32_t>(resource_id::gpu) || nodes[i] >= hazards.size()) continue;
            std::size_t const row = detail::lower_bound(ids, owners[i]);
            if (row < ids.size() && ids[row] == owners[i] && hazards[nodes[i]] > 0) hazards_[row] += hazards[nodes[i]];
        }
    }

    /// In milliseconds.
    [[nodiscard]] double interval(double cost, double hazard) const noexcept {
        double const ideal = hazard > 0 ? std::sqrt(2 * (cost > 0 ? cost : 0) / hazard) : parameters_.longest;
        double const at_least = ideal > parameters_.shortest ? ideal : parameters_.shortest;
        return 1000 * (at_least < parameters_.longest ? at_least : parameters_.longest);
    }
    [[nodiscard]] static bool is_near(std::int64_t amount, std::int64_t held) noexcept {
        std::int64_t const change = amount > held ? amount - held : held - amount;
        return change <= held / 100;
    }
};

static_assert(Policy<save_by_age>);

}  // namespace ration::policies
