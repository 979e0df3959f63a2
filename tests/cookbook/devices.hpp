// SPDX-License-Identifier: BSL-1.0
// Recipes of docs/cookbook.md that give out devices.
#pragma once

#include <ration/job_memory.hpp>

#include "sharing.hpp"

namespace cookbook {

struct while_it_pays {
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{.id = "org.example.while-it-pays", .version = "1.0.0"};
    using inputs =
        columns<in<std::uint32_t, "jobs/state">, in_rows<double, "jobs/speedup">, in<std::int64_t, "jobs/min.gpu">,
                in<std::int64_t, "jobs/max.gpu">, in<std::int64_t, "nodes/capacity.gpu">>;

    status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        auto const speedup = t.get<"jobs/speedup">();  // ration::vector_column<double>
        std::int64_t left = t.get<"nodes/capacity.gpu">()[0];
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!active(t.get<"jobs/state">()[row])) continue;
            // [speedup]
            std::span<double const> const at = speedup[row];  // at[k]: how much faster with k devices than with one
            std::int64_t const most =
                std::min({left, t.get<"jobs/max.gpu">()[row], static_cast<std::int64_t>(at.size()) - 1});
            std::int64_t devices = 0;
            while (devices < most &&
                   at[static_cast<std::size_t>(devices + 1)] - at[static_cast<std::size_t>(devices)] >= 0.5)
                ++devices;
            if (devices < t.get<"jobs/min.gpu">()[row]) devices = 0;
            // [speedup]
            if (!out.set(row, 0, resource_id::gpu, devices)) return status::capacity;
            left -= devices;
        }
        return status::ok;
    }
};
static_assert(ration::Policy<while_it_pays>);

struct equal_devices_best_batch {
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{.id = "org.example.equal-devices-best-batch", .version = "1.0.0"};
    using inputs =
        columns<in<std::uint32_t, "jobs/state">, in_rows<std::int64_t, "jobs/batch">, in<std::int64_t, "jobs/min.gpu">,
                in<std::int64_t, "jobs/max.gpu">, in<std::int64_t, "jobs/min.batch">,
                in<std::int64_t, "jobs/max.batch">, in<std::int64_t, "nodes/capacity.gpu">>;

    status decide(tick<inputs> const& t, grants& out) noexcept {
        auto const state = t.get<"jobs/state">();
        std::int64_t const jobs = std::count_if(state.begin(), state.end(), active);
        if (t.nodes() == 0 || jobs == 0) return status::ok;
        auto const best = t.get<"jobs/batch">();
        std::int64_t const share = t.get<"nodes/capacity.gpu">()[0] / jobs;
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!active(state[row])) continue;
            // [batch]
            std::int64_t devices =
                std::min({share, t.get<"jobs/max.gpu">()[row], static_cast<std::int64_t>(best[row].size()) - 1});
            std::int64_t batch = best[row][static_cast<std::size_t>(devices)];
            if (devices < t.get<"jobs/min.gpu">()[row] || batch < t.get<"jobs/min.batch">()[row] ||
                batch > t.get<"jobs/max.batch">()[row])
                devices = batch = 0;
            if (!out.set(row, 0, resource_id::gpu, devices) || !out.set(row, 0, resource_id::batch, batch))
                return status::capacity;
            // [batch]
        }
        return status::ok;
    }
};
static_assert(ration::Policy<equal_devices_best_batch>);

class whole_or_not {
    ration::buffer<std::int64_t> free_;

public:
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{.id = "org.example.whole-or-not", .version = "1.0.0"};
    using inputs = columns<in<std::uint32_t, "jobs/state">, in<std::int64_t, "jobs/request.gpu">,
                           in<std::int64_t, "jobs/min.gpu">, in<std::int64_t, "jobs/max.gpu">,
                           in<std::int64_t, "jobs/held.gpu">, in<std::int64_t, "nodes/free.gpu">>;

    status prepare(ration::limits const& most) noexcept {
        free_.reserve(most.nodes);
        return status::ok;
    }

    status decide(tick<inputs> const& t, grants& out) noexcept {
        auto const free = t.get<"nodes/free.gpu">(), asked = t.get<"jobs/request.gpu">();
        free_.assign(free.data(), free.size());
        std::int64_t left = 0;
        for (std::int64_t& devices : free_) {
            devices = std::max(devices, std::int64_t{0});  // below 0: a node has lost devices that are held
            left += devices;
        }
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            // [gang]
            bool const waits = active(t.get<"jobs/state">()[row]) && t.get<"jobs/held.gpu">()[row] == 0;
            // Bounds can change, so that a request is outside of them
            auto const gang = std::clamp(asked[row], t.get<"jobs/min.gpu">()[row], t.get<"jobs/max.gpu">()[row]);
            // Who does not fit as a whole holds nothing, and is passed
            if (!waits || gang < 1 || gang > left) continue;
            left -= gang;
            for (std::size_t node = 0, missing = static_cast<std::size_t>(gang); missing > 0; ++node) {
                std::int64_t const part = std::min(static_cast<std::int64_t>(missing), free_[node]);
                if (part > 0 && !out.set(row, node, resource_id::gpu, part)) return status::capacity;
                free_[node] -= part;
                missing -= static_cast<std::size_t>(part);
            }
            // [gang]
        }
        return status::ok;
    }
};
static_assert(ration::Policy<whole_or_not>);

class short_queue {
    struct place {
        bool is_known = false, is_dropped = false;
    };
    ration::job_memory<place> places_;

public:
    using policy_concept = ration::policy_tag;
    // [queue-reasons]
    enum reason : std::uint16_t { none, has_a_device, waits, dropped };
    static constexpr std::string_view reasons[] = {"", "one device each, in the order of the rows",
                                                   "waits for a device", "dropped: three others waited when it came"};
    static constexpr ration::meta about{.id = "org.example.short-queue", .version = "1.0.0", .reasons = reasons};
    // [queue-reasons]
    using inputs =
        columns<in<std::uint64_t, "jobs/id">, in<std::uint32_t, "jobs/state">, in<std::int64_t, "nodes/capacity.gpu">>;

    status prepare(ration::limits const& most) noexcept {
        places_.reserve(most.jobs);
        return status::ok;
    }

    status decide(tick<inputs> const& t, grants& out) noexcept {
        if (t.nodes() == 0) return status::ok;
        places_.follow(t.get<"jobs/id">());
        std::int64_t left = t.get<"nodes/capacity.gpu">()[0], waiting = 0;
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!active(t.get<"jobs/state">()[row])) continue;
            // [queue]
            place& p = places_[row];
            reason why = p.is_dropped ? dropped : left > 0 ? has_a_device : waits;
            if (why == waits && ++waiting > 3 && !p.is_known) {
                p.is_dropped = true;
                why = dropped;
            }
            p.is_known = true;
            left -= why == has_a_device;
            if (!out.set(row, 0, resource_id::gpu, why == has_a_device ? 1 : 0, why)) return status::capacity;
            // [queue]
        }
        return status::ok;
    }
};
static_assert(ration::Policy<short_queue>);

struct by_lot {
    using policy_concept = ration::policy_tag;
    static constexpr ration::meta about{.id = "org.example.by-lot", .version = "1.0.0"};
    using inputs =
        columns<in<std::uint32_t, "jobs/state">, in<std::int64_t, "jobs/held.gpu">, in<std::int64_t, "nodes/free.gpu">>;

    status decide(tick<inputs> const& t, grants& out) noexcept {
        auto const waits = [&](std::size_t row) {
            return active(t.get<"jobs/state">()[row]) && t.get<"jobs/held.gpu">()[row] == 0;
        };
        if (t.nodes() == 0 || t.get<"nodes/free.gpu">()[0] < 1) return status::ok;
        std::uint64_t rng = t.seed(), waiting = 0;
        std::size_t drawn = t.jobs();
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            if (!waits(row)) continue;
            rng = (rng ^ (rng >> 30)) * 0xBF58476D1CE4E5B9u + row;  // one seed for a tick, one throw for a job
            if ((rng >> 33) % ++waiting == 0) drawn = row;          // each is drawn with the same chance
        }
        if (drawn == t.jobs()) return status::ok;
        return out.set(drawn, 0, resource_id::gpu, 1) ? status::ok : status::capacity;
    }
};
static_assert(ration::Policy<by_lot>);

}  // namespace cookbook
