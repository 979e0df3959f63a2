// SPDX-License-Identifier: BSL-1.0
/// The smallest models of the concepts: exactly what each asks, and everything else deleted, so that code which uses
/// more of a type than its concept promises does not compile with them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include <ration/estimator.hpp>
#include <ration/host/backend.hpp>
#include <ration/job.hpp>
#include <ration/policy.hpp>
#include <ration/resource.hpp>
#include <ration/target.hpp>

namespace ration::testing {

/// Base of what can be made and used, and nothing else: no copy, no move, no assignment, no address, no comma.
struct bare {
    bare(bare const&) = delete;
    bare& operator=(bare const&) = delete;
    void operator&() const = delete;
    template <class T>
    void operator,(T&&) const = delete;

protected:
    bare() noexcept = default;
    ~bare() = default;
};

/// Never made: a resource is its type.
struct resource_archetype {
    resource_archetype() = delete;
    using resource_concept = resource_tag;
    static constexpr char const* name = "archetype";
    static constexpr char const* unit = "units";
    static constexpr divisibility granularity = divisibility::fractional;
};

/// One tier, reached at 0 and below.
struct target_archetype : bare {
    using target_concept = target_tag;
    target_archetype() noexcept = default;
    [[nodiscard]] char const* metric() const noexcept { return "loss"; }
    [[nodiscard]] std::uint32_t tiers() const noexcept { return 1; }
    [[nodiscard]] std::uint32_t reached(double value) const noexcept { return value <= 0 ? 1 : 0; }
};

/// A job that accepts anything and never comes any further.
class job_archetype : public bare {
    std::uint64_t number_;
    target_archetype target_;

public:
    using job_concept = job_tag;
    explicit job_archetype(std::uint64_t number) noexcept : number_(number) {}
    [[nodiscard]] job_id id() const noexcept { return {number_}; }
    [[nodiscard]] bounds bounds_of(resource_id) const noexcept { return {}; }
    [[nodiscard]] job_progress progress() const noexcept { return {.step = 0, .value = 1}; }
    [[nodiscard]] target_archetype const& target() const noexcept { return target_; }
};

/// Reads nothing and grants nothing.
struct policy_archetype : bare {
    using policy_concept = policy_tag;
    policy_archetype() noexcept = default;
    using inputs = columns<>;
    static constexpr meta about{.id = "ration.testing.archetype", .version = "1.0.0"};
    [[nodiscard]] status decide(tick<inputs> const&, grants&) noexcept { return status::ok; }
};

/// Reads nothing: all its estimates are unknown.
struct estimator_archetype : bare {
    using estimator_concept = estimator_tag;
    estimator_archetype() noexcept = default;
    using inputs = columns<>;
    using outputs = columns<out<double, "jobs/remaining">>;
    static constexpr meta about{.id = "ration.testing.archetype", .version = "1.0.0"};
    void estimate(tick<inputs> const&, estimates<outputs> const& to) noexcept {
        for (double& value : to.get<"jobs/remaining">()) value = std::numeric_limits<double>::quiet_NaN();
    }
};

/// Controls nothing and has no jobs.
class backend_archetype : public bare {
public:
    using backend_concept = backend_tag;
    backend_archetype() noexcept = default;

    /// Movable, as the concept asks; never made.
    class operation {
        operation() = delete;

    public:
        operation(operation&&) noexcept = default;
        operation& operator=(operation&&) noexcept = default;
        void operator&() const = delete;
    };

    [[nodiscard]] std::span<resource_id const> resources() const noexcept { return {}; }
    [[nodiscard]] result<observation> observe(job_id) noexcept { return unknown("observe"); }
    [[nodiscard]] result<void> plan(setting const&, ration::plan<operation>&) noexcept { return unknown("plan"); }
    [[nodiscard]] result<void> apply(operation const&) noexcept { return {}; }
    [[nodiscard]] result<void> verify(operation const&) noexcept { return {}; }
    [[nodiscard]] result<void> undo(operation const&) noexcept { return {}; }
    [[nodiscard]] operation_text describe(operation const&) noexcept { return {}; }

private:
    [[nodiscard]] static error unknown(char const* what) noexcept {
        return {.code = errc::not_found, .operation = what, .subject = "an archetype has no jobs"};
    }
};

static_assert(Resource<resource_archetype>);
static_assert(Target<target_archetype>);
static_assert(Job<job_archetype>);
static_assert(Policy<policy_archetype>);
static_assert(Estimator<estimator_archetype>);
static_assert(Backend<backend_archetype>);

}  // namespace ration::testing
