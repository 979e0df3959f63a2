// SPDX-License-Identifier: BSL-1.0
/// wants: each job gets the devices that it requests while it runs.
/// Source: K. R. Jayaram, "Elastic Remote Methods", Middleware 2013 (ElasticRMI): an elastic class chooses its own
/// size, and the cluster grants it. docs/elastic-pools.md lists the interpretation here.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <ration/parameter.hpp>
#include <ration/policies/max_min.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Parameters of `wants`; each member has its unit and its default.
struct wants_parameters {
    double round = 360;         ///< seconds after which jobs that waited replace jobs that ran
    bool levels_first = false;  ///< services below their level come before jobs of their tenant without one

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {max_min_parameters::notes[0], max_min_parameters::notes[3]};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        return max_min_parameters{.round = round}.problem();
    }
};

/// A job gets the devices that it requests (`jobs/requested.gpu`), within its bounds. If the requests exceed the
/// devices, these are divided by weighted max-min fairness: among tenants by their weights, then among the jobs of each
/// by theirs. A job without a request may have its maximum. Devices beyond all requests stay free.
///
/// With `levels_first`, the devices of a tenant go first to its services that need them for their levels
/// (`jobs/slo.slack`), and then to its other jobs. The division among tenants is the same.
///
/// The division is that of `max_min` with `by_tenant` and `heed_wants`, on every tick, and so are its cost and state.
class wants {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = wants_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = max_min::inputs;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.wants",
                                .version = "1.0.0",
                                .summary = "each job gets the devices that it requests while it runs",
                                .reasons = max_min::about.reasons};

    /// With the default parameters.
    wants() noexcept : wants(wants_parameters{}) {}
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit wants(wants_parameters const& p) noexcept
        : division_({.round = p.round, .by_tenant = true, .heed_wants = true, .levels_first = p.levels_first}) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept { return division_.prepare(most); }
    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept { return division_.decide(t, out); }
    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return division_.save(space); }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return division_.load(saved); }

private:
    max_min division_;
};

static_assert(Policy<wants>);

}  // namespace ration::policies
