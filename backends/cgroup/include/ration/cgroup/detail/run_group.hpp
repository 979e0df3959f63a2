// SPDX-License-Identifier: BSL-1.0
/// The group of a whole run, in whatever hierarchies this machine has, and what its jobs can use together.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/cgroup/detail/cap.hpp>
#include <ration/cgroup/detail/enable.hpp>
#include <ration/cgroup/detail/group.hpp>
#include <ration/cgroup/names.hpp>
#include <ration/resource.hpp>

namespace ration::cgroup::detail {

/// In one place for good: groups point to the tree and to the run's group, and must end before.
class run_group {
    tree hierarchies_;
    evacuation room_;
    std::unique_ptr<cgroup::group> group_;
    std::vector<resource_id> resources_;
    millicores capacity_{};

public:
    /// Finds the hierarchies, makes the run's group and caps it. Errors: those of `backend::open`.
    /// `soft_memory`: the number of `memory_soft`, if the host offers it.
    [[nodiscard]] static result<std::unique_ptr<run_group>> open(io& machine, std::string_view name, cpu_cap const& cap,
                                                                 std::optional<resource_id> soft_memory) {
        if (auto const sound = check_name(name); !sound) return sound.failure();
        if (soft_memory && *soft_memory < resource_id::first_custom)
            return make_error(errc::out_of_range, "open the cgroup backend with", "options::soft_memory", 0,
                              "set it to a number from resource_id::first_custom on");
        auto const who = self_as_owner(machine);
        auto found = who ? tree::discover(machine) : result<tree>(who.failure());
        if (!found) return found.failure();
        auto ready = std::make_unique<run_group>();
        ready->hierarchies_ = std::move(found).value();
        if (auto const roomy = ready->room_.prepare(ready->hierarchies_); !roomy) return roomy.failure();
        if (!ready->hierarchies_.has(controller::cpu)) return ready->hierarchies_.owner(controller::cpu).why;
        auto made = cgroup::group::create(ready->hierarchies_, nullptr, group_name_of({std::string(name), *who}));
        if (!made) return made.failure();
        ready->group_ = std::make_unique<cgroup::group>(std::move(made).value());
        if (auto const capped = ready->set_cap({}, cap); !capped) return capped.failure();
        ready->resources_.push_back(resource_id::cpu);
        directory const* const memory = ready->group_->place_of(controller::memory);
        if (memory != nullptr) ready->resources_.push_back(resource_id::memory);
        if (memory != nullptr && memory->kind() == version::v2 && soft_memory)
            ready->resources_.push_back(*soft_memory);
        return ready;
    }

    [[nodiscard]] std::span<resource_id const> resources() const noexcept { return resources_; }
    [[nodiscard]] millicores capacity() const noexcept { return capacity_; }
    [[nodiscard]] tree const& hierarchies() const noexcept { return hierarchies_; }
    [[nodiscard]] cgroup::group const& group() const noexcept { return *group_; }

    /// Changes what the run may use. `jobs` are all groups below it.
    [[nodiscard]] result<void> set_cap(std::vector<cgroup::group const*> const& jobs, cpu_cap const& wanted) {
        auto const done = cgroup::set_cap(*group_, jobs, wanted);
        auto const capacity = done ? capacity_of(*group_) : result<millicores>(done.failure());
        if (!capacity) return capacity.failure();
        capacity_ = *capacity;
        return {};
    }
};

}  // namespace ration::cgroup::detail
