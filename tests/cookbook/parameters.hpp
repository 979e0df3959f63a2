// SPDX-License-Identifier: BSL-1.0
// The recipe of docs/cookbook.md with parameters; parameters.cpp makes a plugin of it.
#pragma once

#include <ration/adapt/adapt.hpp>

#include "sharing.hpp"

// [parameters]
namespace cookbook {

struct tier_share_parameters {
    double reached = 0.5;  ///< what a job is worth for each tier that it has reached
    bool idle_rest = false;

    static constexpr ration::parameter_note notes[] = {
        {.name = "reached",
         .meaning = "what a job is worth for each tier that it has reached, 0 to 1",
         .least = 0,
         .most = 1},
        {.name = "idle_rest", .meaning = "leave a tenth of the machine free"}};

    [[nodiscard]] constexpr std::string_view problem() const noexcept {
        return reached >= 0 && reached <= 1 ? std::string_view{} : "reached is a share: write a number from 0 to 1";
    }
};

}  // namespace cookbook
BOOST_HANA_ADAPT_STRUCT(cookbook::tier_share_parameters, reached, idle_rest);
// [parameters]

namespace cookbook {

class tier_share {
    tier_share_parameters given_;

    [[nodiscard]] double worth(std::uint32_t tier) const noexcept {
        double value = 1;
        for (; tier > 0; --tier) value *= given_.reached;
        return value;
    }

public:
    using policy_concept = ration::policy_tag;
    using parameters = tier_share_parameters;
    static constexpr ration::meta about{.id = "org.example.tier-share", .version = "1.0.0"};
    using inputs =
        columns<in<std::uint32_t, "jobs/state">, in<std::uint32_t, "jobs/tier">, in<std::int64_t, "jobs/min.cpu">,
                in<std::int64_t, "jobs/max.cpu">, in<std::int64_t, "nodes/capacity.cpu">>;

    tier_share() = default;
    explicit tier_share(tier_share_parameters const& given) noexcept : given_(given) {}

    status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        auto const state = t.get<"jobs/state">(), tier = t.get<"jobs/tier">();
        auto const least = t.get<"jobs/min.cpu">(), most = t.get<"jobs/max.cpu">();
        double const room = static_cast<double>(t.get<"nodes/capacity.cpu">()[0]) * (given_.idle_rest ? 0.9 : 1);
        double sum = 0;
        for (std::size_t row = 0; row < t.jobs(); ++row) sum += runs(state[row]) ? worth(tier[row]) : 0;
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!runs(state[row]) || sum == 0) continue;
            auto const share = static_cast<std::int64_t>(room * (worth(tier[row]) / sum));
            if (!out.set(row, 0, resource_id::cpu, accepted(share, least[row], most[row]))) return status::capacity;
        }
        return status::ok;
    }
};
static_assert(ration::Policy<tier_share>);

}  // namespace cookbook
