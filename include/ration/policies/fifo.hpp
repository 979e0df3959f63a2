// SPDX-License-Identifier: BSL-1.0
/// fifo: first come, first served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/parameter.hpp>
#include <ration/policies/detail/rigid_jobs.hpp>
#include <ration/policy.hpp>

namespace ration::policies {

/// Parameters of `fifo`; each member has its unit and its default.
struct fifo_parameters {
    bool backfill = false;  ///< later jobs that fit pass one that does not

    static constexpr parameter_note notes[] = {
        {.name = "backfill", .meaning = "later jobs that fit pass one that does not"}};
    [[nodiscard]] static constexpr std::string_view problem() noexcept { return {}; }
};

/// Jobs start in the order of submission, each with the devices it asks for, and keep them. One for which there is no
/// room holds back all later ones; one that asks for more than all nodes have does not. O(jobs + nodes); no state.
class fifo {
public:
    using policy_concept = policy_tag;
    using parameters = fifo_parameters;
    using inputs = detail::rigid_columns<>;
    static constexpr meta about{.id = "ration.fifo",
                                .version = "1.0.0",
                                .summary = "first come, first served",
                                .reasons = detail::rigid_jobs::reasons};

    fifo() = default;
    explicit fifo(fifo_parameters const& p) noexcept : parameters_(p) {}

    [[nodiscard]] status prepare(limits const& most) noexcept {
        jobs_.reserve(most);
        return status::ok;
    }

    [[nodiscard]] status decide(tick<inputs> const& t, grants& out) noexcept {
        if (!jobs_.begin(t, false)) return status::ok;
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (jobs_.waits(t, row) && !jobs_.start(t, row) && !parameters_.backfill) break;
        return jobs_.finish(out);
    }

private:
    fifo_parameters parameters_;
    detail::rigid_jobs jobs_;
};

static_assert(Policy<fifo>);

}  // namespace ration::policies
