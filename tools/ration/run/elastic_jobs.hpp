// SPDX-License-Identifier: BSL-1.0
/// All jobs with devices, and the devices. The devices for one job depend on those that others give back, and on
/// nothing else of them.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <string>

#include "run/resize.hpp"

namespace ration::program {

class elastic_jobs {
    device_table table_;
    std::list<resize> jobs_;  // ascending ids; they stay where they are, and point at the table

public:
    elastic_jobs() = default;
    explicit elastic_jobs(std::span<std::string const> devices) : table_(devices) {}
    elastic_jobs(elastic_jobs const&) = delete;
    elastic_jobs& operator=(elastic_jobs const&) = delete;

    /// In ascending order of their ids. `first_cost`: seconds, what a restart is taken to cost until one was measured.
    void add(job_id job, resize_rules const& rules, double first_cost) {
        jobs_.emplace_back(job, table_, rules, first_cost);
    }

    /// Removes a job that is over. Pre: it holds no device.
    void remove(job_id job) {
        jobs_.remove_if([job](resize const& machine) { return machine.state().devices.job() == job; });
        table_.remove(job);
    }

    [[nodiscard]] device_table& table() noexcept { return table_; }
    [[nodiscard]] device_table const& table() const noexcept { return table_; }
    /// Null for a job without devices. O(jobs).
    [[nodiscard]] resize* find(job_id job) noexcept {
        for (auto& machine : jobs_)
            if (machine.state().devices.job() == job) return &machine;
        return nullptr;
    }
    [[nodiscard]] resize const* find(job_id job) const noexcept { return const_cast<elastic_jobs*>(this)->find(job); }

    /// Devices that jobs can have together: not those that a job which is over still holds on to, nor those cordoned,
    /// but for what a job has that cannot leave it now.
    [[nodiscard]] std::int64_t usable() const noexcept {
        std::int64_t out = 0;
        for (std::uint32_t device = 0; device < table_.devices().size(); ++device) out += counts(device) ? 1 : 0;
        return out;
    }

    /// Advances the time of all jobs. Jobs that give back come before those that take, so that a growth never waits for
    /// one that begins now.
    void advance(nanoseconds now) {
        for (auto& machine : jobs_)
            if (!machine.state().waits_to_grow()) machine.advance(now);
        keep_reservations();
        for (auto& machine : jobs_)
            if (machine.state().waits_to_grow()) machine.advance(now);
    }

private:
    [[nodiscard]] bool counts(std::uint32_t device) const noexcept {
        resize const* const has = find(table_.owner(device));
        if (has != nullptr && has->state().is_finishing && has->state().phase == resize_phase::clearing) return false;
        return !table_.devices().is_cordoned(device) || (has != nullptr && *has->state().why_not() != '\0');
    }

    /// A shrink that failed keeps devices that were promised on: the youngest growths that wait for them are given up.
    void keep_reservations() {
        std::int64_t over = -usable();
        // A job that ends gives all of it back
        for (auto const& machine : jobs_) over += machine.state().is_finishing ? 0 : machine.state().devices.wanted();
        for (auto at = jobs_.rbegin(); over > 0 && at != jobs_.rend(); ++at) {
            auto const& state = at->state();
            if (!state.waits_to_grow()) continue;
            over -= state.devices.wanted() - state.devices.size();
            at->give_up_waiting("the devices that it was to get did not become free");
        }
    }
};

}  // namespace ration::program
