// SPDX-License-Identifier: BSL-1.0
/// max_min: weighted max-min fairness over devices.
///
/// For machines that divide devices equally among jobs of any length. `drf` is the rule for
/// several resources and tenants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include <ration/buffer.hpp>
#include <ration/job_memory.hpp>
#include <ration/parameter.hpp>
#include <ration/policies/detail/attained_service.hpp>
#include <ration/policies/detail/device_claim.hpp>
#include <ration/policies/detail/elastic_jobs.hpp>
#include <ration/policies/detail/followed_shares.hpp>
#include <ration/policies/detail/heap.hpp>
#include <ration/policies/detail/level_shares.hpp>
#include <ration/policies/detail/priority_order.hpp>
#include <ration/policies/detail/requested_devices.hpp>
#include <ration/policies/detail/tenant_shares.hpp>
#include <ration/policies/detail/weight.hpp>
#include <ration/policy.hpp>
#include <ration/resource.hpp>
#include <ration/state.hpp>
#include <ration/target.hpp>

namespace ration::policies {

/// Parameters of `max_min`; each member has its unit and its default.
struct max_min_parameters {
    double round = 360;         ///< seconds after which jobs that waited replace jobs that ran
    bool by_tenant = false;     ///< devices are divided among tenants first
    bool heed_wants = false;    ///< a job gets no more than it requests while it runs
    bool levels_first = false;  ///< services below their level come before jobs without one

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "round",
         .meaning = "seconds after which those that waited change places with those that ran, 0 to 1000000",
         .least = 0,
         .most = 1e6},
        {.name = "by_tenant",
         .meaning = "divide devices among tenants by their weights first, and then among the jobs of each"},
        {.name = "heed_wants", .meaning = "give a job no more than it requests while it runs"},
        {.name = "levels_first",
         .meaning =
             "when devices lack, serve services below their level before jobs without a level; use it with heed_wants"}};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        return round >= 0 && round <= 1e6 ? std::string_view{}
                                          : "round is a time in seconds: write a number from 0 to 1000000";
    }
};

/// Devices are granted one by one, each to the job with the fewest for its weight that accepts one
/// more (progressive filling). So no job's share can grow without shrinking one with an equal or
/// smaller weighted share. A job gets at least its minimum.
///
/// If not all minima fit, jobs are served in ascending order of the service (device-seconds) for
/// their weight, as of the begin of the round; a new job is measured at its arrival. A job that
/// does not fit lets others overtake. Ties go to the job that holds more already, then to the job
/// submitted first.
///
/// With `by_tenant`, the device goes down the tree of tenants, each time to the one with the fewest for its weight, and
/// then to one of its jobs. An amount that a tenant cannot use goes to those of the same parent first. The service of a
/// job then counts for the part of the cluster that all weights give it.
///
/// With `heed_wants`, `jobs/requested.gpu` bounds the devices of a job, within its minimum and maximum. A job without a
/// request has its maximum as the bound. Devices are then divided on every tick.
///
/// With `levels_first`, `jobs/slo.slack` decides the order of jobs when devices lack. A service below its level comes
/// before jobs without a level with all that it can use, and a service at its level with the devices that it holds.
/// Minima come before that, and with `by_tenant` only jobs of one tenant compete. Devices are then divided on every
/// tick. Only `heed_wants` takes devices from a service again, so use both.
///
/// Between two rounds, devices are divided again only when jobs or devices come or go. O(log jobs) for each job that
/// changes and each device that changes hands, and at a new round for each job that has held devices since the last
/// one. Without a list of changes, O((jobs + devices) log jobs) for a division, and O(jobs + nodes) otherwise. So it is
/// with `levels_first`, and with `by_tenant`, where each device costs as much for each level of the tree. State: one
/// entry for each job.
class max_min {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = max_min_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::elastic_columns<in<double, "jobs/weight">, in<double, "jobs/attained">,
                                           in<std::int64_t, "jobs/requested.gpu">, in<std::uint32_t, "jobs/tenant">,
                                           in<std::uint32_t, "tenants/parent">, in<double, "tenants/weight">,
                                           in<double, "jobs/slo.met">, in<double, "jobs/slo.slack">>;
    /// The policy renews its own figures of changed jobs only.
    static constexpr bool follows_changes = true;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.max-min",
                                .version = "1.0.0",
                                .summary = "weighted max-min fairness over devices between jobs",
                                .reasons = detail::elastic_jobs::reasons};

    /// With the default parameters.
    max_min() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit max_min(max_min_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        followed_.reserve(most);
        order_.reserve(most.jobs);
        services_.reserve(most_jobs_ = most.jobs);
        claims_.reserve(most.jobs);
        tenants_.reserve(most);
        attained_.reserve(most);
        levels_.reserve(most);
        place_of_.reserve(most.jobs);
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        bool const new_round = !started_ || t.now() == round_ || to_seconds(t.now() - round_) >= parameters_.round;
        bool const is_listed = !parameters_.by_tenant && !parameters_.levels_first;
        bool const has_list = is_listed && t.changes(table_id::jobs).everything == 0;
        has_list ? followed_.follow(t, jobs_.places(), services_) : followed_.skip(t.now());
        if (parameters_.by_tenant) attained_.follow(t);
        bool const is_changed = has_list ? is_due(t) : jobs_.is_due(t, no_interval, true);
        bool const is_steady = !parameters_.heed_wants && !parameters_.levels_first;
        if (!is_changed && !new_round && is_steady) return status::ok;
        if (new_round) {
            started_ = true;
            round_ = t.now();
        }
        if (has_list) return divide_followed(t, new_round, out);
        if (parameters_.by_tenant) tenants_.begin(t);
        measure(t, new_round);
        auto const shares = jobs_.list(t, [&](std::size_t row) noexcept {
            return detail::accepted_devices(t, row, parameters_.heed_wants).maximum;
        });
        std::int64_t const left = admit(t, shares);
        parameters_.by_tenant ? tenants_.fill(t, shares, left) : fill(t, shares, left);
        if (parameters_.levels_first) levels_.divide(t, shares, parameters_.by_tenant);
        return jobs_.apply(t, out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        out.put(jobs_.last);
        out.put(started_);
        out.put(round_);
        services_.save(out);
        return out.needed();
    }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        detail::division last;
        bool started = false;
        nanoseconds round{0};
        auto services = job_memory<detail::weighted_service>{};
        services.reserve(most_jobs_);
        if (!in.get(last) || !in.get(started) || !in.get(round) || !services.load(in) || !in.finished())
            return status::state;
        jobs_.last = last;
        started_ = started;
        round_ = round;
        services_ = std::move(services);
        followed_.forget_services();
        return status::ok;
    }

private:
    static constexpr double no_interval = std::numeric_limits<double>::infinity();

    max_min_parameters parameters_;
    detail::elastic_jobs jobs_;
    // For hosts that list changes; the rest is for others
    detail::followed_shares followed_{parameters_.heed_wants};
    detail::priority_order order_;
    detail::heap<detail::device_claim> claims_;
    detail::tenant_shares tenants_;
    detail::attained_service attained_;
    detail::level_shares levels_;
    buffer<std::uint32_t> place_of_;  // by row: its share's place + 1; 0 = it has none
    job_memory<detail::weighted_service> services_;
    std::size_t most_jobs_ = 0;
    bool started_ = false;
    nanoseconds round_{0};

    [[nodiscard]] static double weight(tick<inputs> const& t, std::size_t row) noexcept {
        return detail::valid_weight(t.get<"jobs/weight">()[row]);
    }

    /// As `elastic_jobs::is_due`, with what has been followed.
    [[nodiscard]] bool is_due(tick<inputs> const& t) noexcept {
        auto const now = followed_.situation(t);
        if (!jobs_.last.is_outdated(now, no_interval, true) && !jobs_.places().is_overdrawn()) return false;
        jobs_.last = now;
        return true;
    }
    [[nodiscard]] status divide_followed(tick<inputs> const& t, bool new_round, grants& out) noexcept {
        detail::placement& places = jobs_.places();
        places.start(t, detail::elastic_jobs::node_lost_devices);
        followed_.measure(services_, t.now(), new_round);
        followed_.divide(t, places);
        followed_.apply(t, places);
        return places.finish(t, out);
    }

    [[nodiscard]] detail::weighted_service service_of(tick<inputs> const& t, std::size_t row) noexcept {
        return parameters_.by_tenant ? detail::weighted_service::of(attained_.of(t, row), tenants_.weight(t, row))
                                     : detail::weighted_service::of(t.get<"jobs/attained">()[row], weight(t, row));
    }
    /// Records the service: of all jobs at the begin of a round, and otherwise of new ones.
    void measure(tick<inputs> const& t, bool all) noexcept {
        services_.follow(t.get<"jobs/id">());
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (all || !services_[row].is_measured) services_[row] = service_of(t, row);
    }

    /// Grants the minima, in the order of service, while devices are left. Returns the number of
    /// devices left.
    [[nodiscard]] std::int64_t admit(tick<inputs> const& t, std::span<detail::share> shares) noexcept {
        std::int64_t left = jobs_.devices(), needed = 0;
        for (auto& s : shares) {
            s.given = s.least;
            needed += s.least;
        }
        if (needed <= left) return left - needed;
        auto const order = order_.sort(
            t.get<"jobs/id">(), [&](std::size_t row) noexcept { return detail::priority{services_[row].for_weight}; });
        place_of_.reset(t.jobs());
        for (std::size_t i = 0; i < shares.size(); ++i) {
            shares[i].given = 0;
            place_of_[shares[i].row] = static_cast<std::uint32_t>(i + 1);
        }
        for (auto const& e : order) {
            if (place_of_[e.row] == 0) continue;
            detail::share& s = shares[place_of_[e.row] - 1];
            if (s.least <= left) {
                s.given = s.least;
                left -= s.least;
            }
        }
        return left;
    }

    /// Grants the remaining devices one by one.
    void fill(tick<inputs> const& t, std::span<detail::share> shares, std::int64_t left) noexcept {
        auto const held = t.get<"jobs/held.gpu">();
        auto const claim_of = [&](std::size_t place) noexcept {
            auto const& s = shares[place];
            return detail::device_claim::of(s.given, weight(t, s.row), held[s.row], place);
        };
        claims_.clear();
        for (std::size_t i = 0; i < shares.size(); ++i)
            if (shares[i].given > 0 && shares[i].given < shares[i].most) claims_.push(claim_of(i));
        static_cast<void>(detail::fill_by_claims(
            claims_, shares, left, [](detail::share const& s) noexcept { return s.most; }, claim_of));
    }
};

static_assert(Policy<max_min>);

}  // namespace ration::policies
