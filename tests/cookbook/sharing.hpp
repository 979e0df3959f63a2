// SPDX-License-Identifier: BSL-1.0
// Recipes of docs/cookbook.md that share the CPU of one node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/buffer.hpp>
#include <ration/job.hpp>
#include <ration/parameter.hpp>
#include <ration/policy.hpp>

namespace cookbook {

using ration::columns, ration::in, ration::in_rows, ration::tick, ration::grants, ration::resource_id, ration::status;

[[nodiscard]] constexpr bool runs(std::uint32_t state) noexcept {
    return static_cast<ration::job_state>(state) == ration::job_state::running;
}
[[nodiscard]] constexpr bool active(std::uint32_t state) noexcept {
    return ration::is_active(static_cast<ration::job_state>(state));
}

/// A grant of CPU is 0, which pauses the job, or within what the job accepts, and `least_cpu` at least: that much
/// always fits.
[[nodiscard]] constexpr std::int64_t accepted(std::int64_t amount, std::int64_t least, std::int64_t most) noexcept {
    return amount < least ? 0 : ration::cpu_limit(amount, {least, most});
}

struct equal_within_bounds {
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{.id = "org.example.equal-within-bounds", .version = "1.0.0"};
    using inputs = columns<in<std::uint32_t, "jobs/state">, in<std::int64_t, "jobs/min.cpu">,
                           in<std::int64_t, "jobs/max.cpu">, in<std::int64_t, "nodes/capacity.cpu">>;

    status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        auto const state = t.get<"jobs/state">();
        auto const least = t.get<"jobs/min.cpu">(), most = t.get<"jobs/max.cpu">();
        // [bounds]
        std::int64_t left = t.get<"nodes/capacity.cpu">()[0];
        std::int64_t jobs = std::count_if(state.begin(), state.end(), runs);
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!runs(state[row])) continue;
            std::int64_t amount = ration::cpu_limit(left / jobs--, {least[row], most[row]});
            if (amount > left && amount > ration::least_cpu.count) amount = 0;  // its minimum is not there
            if (!out.set(row, 0, resource_id::cpu, amount)) return status::capacity;
            left -= std::min(amount, left);  // what this job could not take is there for the later ones
        }
        // [bounds]
        return status::ok;
    }
};
static_assert(ration::Policy<equal_within_bounds>);

class by_tenant_and_weight {
    struct tenant {
        std::uint32_t id;
        double weight;
    };
    ration::buffer<tenant> tenants_;

    [[nodiscard]] tenant& of(std::uint32_t id) noexcept {
        for (auto& known : tenants_)
            if (known.id == id) return known;
        tenants_.push_back({id, 0});
        return tenants_.back();
    }
    [[nodiscard]] static double weight(double given) noexcept {
        return given > 0 && ration::is_finite(given) ? given : 1;
    }

public:
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{.id = "org.example.by-tenant-and-weight", .version = "1.0.0"};
    using inputs = columns<in<std::uint32_t, "jobs/state">, in<std::uint32_t, "jobs/tenant">, in<double, "jobs/weight">,
                           in<std::int64_t, "jobs/min.cpu">, in<std::int64_t, "jobs/max.cpu">,
                           in<std::int64_t, "nodes/capacity.cpu">>;

    status prepare(ration::limits const& most) noexcept {
        tenants_.reserve(most.jobs);
        return status::ok;
    }

    status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        auto const state = t.get<"jobs/state">(), owner = t.get<"jobs/tenant">();
        auto const least = t.get<"jobs/min.cpu">(), most = t.get<"jobs/max.cpu">();
        tenants_.clear();
        // [tenants]
        for (std::size_t row = 0; row < t.jobs(); ++row)
            if (runs(state[row])) of(owner[row]).weight += weight(t.get<"jobs/weight">()[row]);
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!runs(state[row])) continue;
            double const part =
                weight(t.get<"jobs/weight">()[row]) / of(owner[row]).weight / static_cast<double>(tenants_.size());
            auto const share = static_cast<std::int64_t>(part * static_cast<double>(t.get<"nodes/capacity.cpu">()[0]));
            if (!out.set(row, 0, resource_id::cpu, accepted(share, least[row], most[row]))) return status::capacity;
        }
        // [tenants]
        return status::ok;
    }
};
static_assert(ration::Policy<by_tenant_and_weight>);

struct follows_use {
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{.id = "org.example.follows-use", .version = "1.0.0"};
    using inputs =
        columns<in<std::uint32_t, "jobs/state">, in<double, "jobs/used.cpu">, in<std::int64_t, "jobs/min.cpu">,
                in<std::int64_t, "jobs/max.cpu">, in<std::int64_t, "nodes/capacity.cpu">>;

    status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        auto const used = t.get<"jobs/used.cpu">();
        auto const least = t.get<"jobs/min.cpu">(), most = t.get<"jobs/max.cpu">();
        double sum = 0;
        for (double const u : used) sum += u;
        for (std::size_t row = 0; row < t.jobs() && sum > 0; ++row) {
            if (!runs(t.get<"jobs/state">()[row])) continue;
            auto const share =
                static_cast<std::int64_t>(static_cast<double>(t.get<"nodes/capacity.cpu">()[0]) * (used[row] / sum));
            if (!out.set(row, 0, resource_id::cpu, accepted(share, least[row], most[row]))) return status::capacity;
        }
        return status::ok;
    }
};
static_assert(ration::Policy<follows_use>);

}  // namespace cookbook
