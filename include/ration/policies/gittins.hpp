// SPDX-License-Identifier: BSL-1.0
/// gittins: the job first that has the best chance to end for the service it needs. Source: J. Gu
/// et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI 2019, its
/// discretised 2D-Gittins index.
///
/// For clusters where the distribution of job sizes is known, and the size of a single job is not.
/// `las` is the paper's rule without the distribution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <ration/parameter.hpp>
#include <ration/policies/detail/job_time.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policies/detail/rigid_order.hpp>
#include <ration/policies/detail/service_distribution.hpp>
#include <ration/policy.hpp>
#include <ration/state.hpp>
#include <ration/target.hpp>

namespace ration::policies {

/// Parameters of `gittins`; each member has its unit and its default.
struct gittins_parameters {
    double quantum = 3250;  ///< device-seconds; unit in which the index counts service

    /// Meaning and valid interval of each parameter, for help texts and the JSON schema.
    static constexpr parameter_note notes[] = {
        {.name = "quantum", .meaning = "device-seconds in which the index counts service, above 0", .least = 0}};

    /// Validates the values: a sentence with the first invalid one and the fix, or empty text.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        return quantum > 0 && is_finite(quantum) ? std::string_view{}
                                                 : "quantum is a service in device-seconds: write a number above 0";
    }
};

/// The service of a job is its devices times the seconds that it held them. Its index is P(it ends
/// within the next quantum) / E(service within that quantum), both conditioned on the whole quanta
/// that it has attained. The largest index is served first; ties go to running jobs, then to the
/// job that started first, and jobs that never ran come last. All or nothing; a job that does not
/// fit lets others overtake; running jobs are stopped for jobs before them.
///
/// The paper assumes a known distribution of service. Here it is that of the last 512 submitted
/// jobs, by their predicted lengths; of the job itself only its attained service is used. The index
/// changes with whole quanta only, so that running jobs do not overtake each other all the time:
/// this is our interpretation of "discretised". O(jobs) as long as the order changes little. State:
/// the distribution.
class gittins {
public:
    /// Declares the class as a policy.
    using policy_concept = policy_tag;
    /// The parameters that a user can set.
    using parameters = gittins_parameters;
    /// The columns that `decide` reads. A host that lacks one of them refuses the policy.
    using inputs = detail::rigid_columns<in<double, "jobs/attained">, in<std::int64_t, "jobs/started">,
                                         in<double, "jobs/total_steps">, in<double, "jobs/nominal_steps_per_second">>;
    /// Identity of the policy, and the texts of its reason codes.
    static constexpr meta about{.id = "ration.gittins",
                                .version = "1.0.0",
                                .summary = "the likeliest to end for the service it takes first",
                                .reasons = detail::rigid_jobs::reasons};

    /// With the default parameters.
    gittins() = default;
    /// With these parameters. Precondition: `p.problem()` is empty.
    explicit gittins(gittins_parameters const& p) noexcept : parameters_(p) {}

    /// Allocates for the largest tables, so that `decide` does not allocate.
    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        order_.reserve(most);
        services_.reserve();
        return status::ok;
    }

    /// Writes the grants of one tick. Returns `status::capacity` if they do not fit.
    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        learn(t);
        if (!jobs_.begin(t, true)) return status::ok;
        auto const attained = t.get<"jobs/attained">();
        auto const started = t.get<"jobs/started">(), held = t.get<"jobs/held.gpu">();
        order_.serve(t, jobs_, [&](std::size_t row) noexcept {
            return detail::priority{-services_.index(attained[row], parameters_.quantum),
                                    detail::turn_of(held[row], started[row])};
        });
        return jobs_.finish(t, out);
    }

    /// Writes the state if it fits, and returns its size in bytes.
    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        out.put(next_);
        // The number goes first, so that `load` can refuse a wrong one.
        out.put(std::uint64_t{services_.size()});
        for (std::size_t k = 0; k < services_.size(); ++k) out.put(services_[k]);
        return out.needed();
    }
    /// Restores what `save` wrote. Returns `status::state`, without an effect, for invalid bytes.
    [[nodiscard]] status load(std::span<std::byte const> saved) noexcept {
        state_reader in(saved);
        std::uint64_t next = 0, size = 0;
        if (!in.get(next) || !in.get(size) || size > services_.most) return status::state;
        detail::service_distribution services;
        services.reserve();
        for (double service = 0; size > 0; --size) {
            if (!in.get(service) || !is_finite(service)) return status::state;
            services.add(service);
        }
        if (!in.finished()) return status::state;
        services_ = std::move(services);
        next_ = next;
        return status::ok;
    }

private:
    gittins_parameters parameters_;
    detail::rigid_jobs jobs_;
    detail::rigid_order order_;
    detail::service_distribution services_;
    std::uint64_t next_ = 0;  // ids below are counted

    /// Adds the predicted service of new jobs to the distribution. Ids ascend and are never reused,
    /// so each job counts once.
    void learn(tick<inputs> const& t) noexcept {
        auto const ids = t.get<"jobs/id">();
        auto const length = t.get<"jobs/total_steps">(), rate = t.get<"jobs/nominal_steps_per_second">();
        auto const asked = t.get<"jobs/request.gpu">();
        if (ids.empty() || ids.back() < next_) return;
        std::size_t row = ids.size();
        while (row > 0 && ids[row - 1] >= next_) --row;
        for (; row < ids.size(); ++row) {
            double const service = detail::size_of_work(length[row], rate[row], asked[row], job_measure::service);
            if (is_finite(service) && service > 0) services_.add(service);
        }
        next_ = ids.back() + 1;
    }
};

static_assert(Policy<gittins>);

}  // namespace ration::policies
