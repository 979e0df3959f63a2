// SPDX-License-Identifier: BSL-1.0
/// las: the least attained service first, in queues. Source: J. Gu et al., "Tiresias: A GPU Cluster
/// Manager for Distributed Deep Learning", NSDI 2019, its discretised 2D-LAS; queues and promotion
/// as in the simulator that its authors published.
///
/// For clusters with unknown job lengths: it needs no predictions. `gittins` is the same paper's
/// rule with a distribution of lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>

#include <ration/job_memory.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/followed_order.hpp>
#include <ration/policies/detail/gated_jobs.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policies/detail/rigid_order.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Parameters of `las`; each member has its unit and its default.
struct las_parameters {
    double first_threshold = 3250;   ///< device-seconds after which a job leaves the first queue
    double second_threshold = 7200;  ///< and the second one
    double promote = 0;              ///< back to the first queue after waiting this multiple of its run time; 0 = never
    tenant_rule tenants = tenant_rule::ignore;  ///< use of the quotas of tenants

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "first_threshold", .meaning = "device-seconds after which a job leaves the first queue", .least = 0},
        {.name = "second_threshold",
         .meaning = "device-seconds after which it leaves the second one; the first for two queues",
         .least = 0},
        {.name = "promote",
         .meaning = "back to the first queue after a wait of this multiple of its run time; 0 = never",
         .least = 0},
        detail::preemptive_tenants_note};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        if (!(first_threshold >= 0)) return "first_threshold is a service in device-seconds: write a number from 0 up";
        if (!(second_threshold >= first_threshold))
            return "second_threshold is the higher one: write at least first_threshold";
        if (!(promote >= 0)) return "promote is a ratio of times: write a number from 0 up";
        return {};
    }
};

/// The service of a job is its devices times the seconds that it held them. With growing service
/// the job moves from queue to queue. The first queue is served before the second, and the second
/// before the third. Within a queue, running jobs come before waiting ones; then the job that
/// started first, and jobs that never ran last, in the order of submission.
///
/// All or nothing; a job that does not fit lets others overtake; running jobs are stopped for
/// higher queues. A job that was stopped and has waited for `promote` times its run time returns to
/// the first queue, and its service counts from 0 again.
///
/// With `tenants`, this order divides the devices that quotas admit: jobs within quotas come before those that borrow,
/// except with `borrow`. O(log jobs) for each job that changes or reaches a threshold; with `promote` or `tenants`,
/// O(jobs). State to save, with `promote`: one entry for each job.
class las {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = las_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::tenant_columns<in<double, "jobs/attained">, in<std::int64_t, "jobs/started">>;
    /// The policy renews its own figures of changed jobs only.
    static constexpr bool follows_changes = true;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.las",
                                .version = "1.0.0",
                                .summary = "the least attained service first, in queues",
                                .reasons = detail::gated_jobs::reasons};

    /// With the default parameters.
    las() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit las(las_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        order_.reserve(most);
        sorted_.reserve(most);
        gate_.reserve(most);
        pauses_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        order_.follow(t, jobs_, t.get<"jobs/attained">());
        if (parameters_.promote > 0) promote(t);
        if (!jobs_.plan(t, true)) return status::ok;
        if (parameters_.tenants != tenant_rule::ignore) {
            gate_.serve(t, jobs_, sorted_, parameters_.tenants,
                        [&](std::size_t row) noexcept { return key_of(t, row); });
            return jobs_.finish(t, out);
        }
        if (jobs_.all_fit()) {
            detail::start_all(t, jobs_);
            return jobs_.finish(t, out);
        }
        order_.rank_all(jobs_, t.now(), [&](std::size_t row) noexcept { rank(t, row); });
        order_.serve(t, jobs_);
        return jobs_.finish(t, out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept { return pauses_.save(space); }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept { return pauses_.load(saved); }

private:
    /// The last wait of a job, and its service that no longer counts.
    struct pause {
        double forgiven = 0;   // service that no longer counts
        double attained = -1;  // when it was last seen stopped
        nanoseconds since{0};

        [[nodiscard]] static auto fields(auto& self) noexcept {
            return std::tie(self.forgiven, self.attained, self.since.count);
        }
        [[nodiscard]] bool sane() const noexcept { return is_finite(forgiven) && forgiven >= 0 && is_finite(attained); }
    };

    las_parameters parameters_;
    detail::rigid_jobs jobs_;
    detail::followed_order order_;  // by service
    detail::rigid_order sorted_;    // all jobs, with `tenants`
    detail::gated_jobs gate_;
    job_memory<pause> pauses_;

    /// The queue for an attained service: 0, 1 or 2. A double, since it is a sort key.
    [[nodiscard]] double queue_of(double service) const noexcept {
        return service < parameters_.first_threshold ? 0 : service < parameters_.second_threshold ? 1 : 2;
    }

    /// The service of a job that counts now.
    [[nodiscard]] double service_of(std::size_t row, std::int64_t held, nanoseconds now) const noexcept {
        detail::line const& known = order_[row];
        double const grown = static_cast<double>(held) * to_seconds(now - nanoseconds{known.since});
        return known.value + grown - (parameters_.promote > 0 ? pauses_[row].forgiven : 0);
    }

    /// The sort key of a job now.
    [[nodiscard]] detail::priority key_of(tick<inputs> const& t, std::size_t row) const noexcept {
        std::int64_t const held = t.get<"jobs/held.gpu">()[row];
        return {queue_of(service_of(row, held, t.now())), detail::turn_of(held, t.get<"jobs/started">()[row])};
    }

    /// Sets the place of a job in the order, and the time of its next queue.
    void rank(tick<inputs> const& t, std::size_t row) noexcept {
        std::int64_t const held = t.get<"jobs/held.gpu">()[row];
        double const service = service_of(row, held, t.now()), queue = queue_of(service);
        order_.put(jobs_, row, {queue, detail::turn_of(held, t.get<"jobs/started">()[row])},
                   next_queue(queue, service, held, t.now()));
    }

    /// The time at which the service of a job reaches the threshold of its queue. The division rounds, so it is a
    /// little early; `rank` looks at the service itself.
    [[nodiscard]] nanoseconds next_queue(double queue, double service, std::int64_t held,
                                         nanoseconds now) const noexcept {
        if (held <= 0 || queue > 1) return detail::crossing_times::never;
        double const threshold = queue > 0 ? parameters_.second_threshold : parameters_.first_threshold;
        double const left = (threshold - service) / static_cast<double>(held) * (1 - 1e-9);
        constexpr double farthest = 1e9;  // seconds
        if (!(left < farthest)) return detail::crossing_times::never;
        return nanoseconds{now.count + 1 + static_cast<std::int64_t>(left * 1e9)};
    }

    /// Detects waits and promotes jobs. A wait begins when a job that ran is first seen without
    /// devices. Between two waits the attained service grows, which distinguishes them.
    void promote(tick<inputs> const& t) noexcept {
        pauses_.follow(t.get<"jobs/id">());
        auto const held = t.get<"jobs/held.gpu">();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            std::int64_t const wanted = jobs_.wanted(row);
            double const attained = order_[row].value;
            if (held[row] != 0 || wanted == 0 || !(attained > 0) || !is_finite(attained)) continue;
            pause& p = pauses_[row];
            if (p.attained != attained) {
                p.attained = attained;
                p.since = t.now();
            }
            double const service = attained - p.forgiven, ran = service / static_cast<double>(wanted);
            if (!(queue_of(service) > 0) || to_seconds(t.now() - p.since) < parameters_.promote * ran) continue;
            p.forgiven = attained;
            order_.note(row);
        }
    }
};

static_assert(Policy<las>);

}  // namespace ration::policies
