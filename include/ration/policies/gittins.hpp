// SPDX-License-Identifier: BSL-1.0
/// gittins: the job first that is likeliest to end for the service it takes. Source: J. Gu et al., "Tiresias: A GPU
/// Cluster Manager for Distributed Deep Learning", NSDI 2019, its discretised 2D-Gittins index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <ration/parameter.hpp>
#include <ration/policies/detail/job_time.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policies/detail/service_distribution.hpp>
#include <ration/policy.hpp>
#include <ration/state.hpp>
#include <ration/target.hpp>

namespace ration::policies {

/// Parameters of `gittins`; each member has its unit and its default.
struct gittins_parameters {
    double quantum = 3250;  ///< device-seconds

    static constexpr parameter_note notes[] = {
        {.name = "quantum", .meaning = "device-seconds in which the index counts service, above 0", .least = 0}};

    /// What is wrong with the values and what to write instead, as a sentence; empty when nothing is.
    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        return quantum > 0 && is_finite(quantum) ? std::string_view{}
                                                 : "quantum is a service in device-seconds: write a number above 0";
    }
};

/// A job's service is its devices times the seconds that it held them. Its index is P(it ends within the next quantum)
/// over E(service that it takes in it), both given the whole quanta that it has attained; the largest index is served
/// first, of equals those that run, then the job that started first, and those that never ran last. All or nothing; who
/// does not fit lets others pass; running jobs make room.
///
/// The paper takes the distribution of service as known. Here it is that of the last 512 jobs submitted, as their
/// predicted lengths say; of the job itself only what it has attained is used. That the index changes with whole quanta
/// only, so that running jobs do not overtake each other all the time, is a reading of "discretised". O(jobs) as long
/// as little changes in the order; state: the distribution.
class gittins {
public:
    using policy_concept = policy_tag;
    using parameters = gittins_parameters;
    using inputs = detail::rigid_columns<in<double, "jobs/attained">, in<std::int64_t, "jobs/started">,
                                         in<double, "jobs/total_steps">, in<double, "jobs/nominal_steps_per_second">>;
    static constexpr meta about{.id = "ration.gittins",
                                .version = "1.0.0",
                                .summary = "the likeliest to end for the service it takes first",
                                .reasons = detail::rigid_jobs::reasons};

    gittins() = default;
    explicit gittins(gittins_parameters const& p) noexcept : parameters_(p) {}

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        services_.reserve();
        return status::ok;
    }

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        learn(t);
        if (!jobs_.begin(t, true)) return status::ok;
        auto const attained = t.get<"jobs/attained">();
        auto const started = t.get<"jobs/started">(), held = t.get<"jobs/held.gpu">();
        jobs_.serve(t, [&](std::size_t row) noexcept {
            return detail::priority{-services_.index(attained[row], parameters_.quantum),
                                    detail::turn_of(held[row], started[row])};
        });
        return jobs_.finish(out);
    }

    [[nodiscard]] std::size_t save(std::span<std::byte> space) const noexcept {
        state_writer out(space);
        out.put(next_);
        out.put(std::uint64_t{services_.size()});
        for (std::size_t k = 0; k < services_.size(); ++k) out.put(services_[k]);
        return out.needed();
    }
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
    detail::service_distribution services_;
    std::uint64_t next_ = 0;  // ids below are counted

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
