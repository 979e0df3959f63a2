// SPDX-License-Identifier: BSL-1.0
/// How much of the machine a whole run may use: a set of cpus, or an amount of CPU time.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include <ration/cgroup/detail/set.hpp>

namespace ration::cgroup {

/// Nothing: all that we have. A set: those cpus. An amount: that much; whole cores become a set of that many, where
/// possible.
using cpu_cap = std::variant<std::monostate, cpu_set, millicores>;

namespace detail {

/// The cpus that this process may use, from /proc/self/status.
[[nodiscard]] inline result<cpu_set> own_cpus(io& machine) {
    std::string text;
    if (int const failed = machine.read_system("/proc/self/status", text))
        return system_error("read", "/proc/self/status", failed);
    std::string_view list;
    for_each_line(text, [&](std::string_view line) {
        constexpr std::string_view key = "Cpus_allowed_list:";
        list = line.starts_with(key) ? line.substr(key.size()) : list;
    });
    return cpu_set::parse(list);
}

/// The cpus of a cap in cores: the lowest of ours, so that they are always the same.
[[nodiscard]] inline result<cpu_cap> as_set_where_possible(group const& run, cpu_cap const& wanted) {
    auto const* const amount = std::get_if<millicores>(&wanted);
    bool const whole = amount != nullptr && amount->count > 0 && amount->count % 1000 == 0;
    if (!whole || run.place_of(controller::cpuset) == nullptr) return wanted;
    auto const ours = usable_cpus(run);
    return ours ? result<cpu_cap>(cpu_cap(ours->lowest(static_cast<std::size_t>(amount->count / 1000))))
                : result<cpu_cap>(ours.failure());
}

/// A v1 child never has a cpu that its parent lacks. So the run first gets old and new cpus together, then the jobs
/// move, then the run lets go of the old ones. On v2 the jobs' own sets are empty and follow by themselves.
[[nodiscard]] inline result<void> cap_cpus(group const& run, std::vector<group const*> const& jobs,
                                           cpu_set const& wanted) {
    auto const place = find_place(run, controller::cpuset);
    if (!place) return place.failure();
    if ((*place)->kind() == version::v2) {
        auto const allowed = usable_cpus(run);
        if (jobs.empty() && allowed && !wanted.within(*allowed)) {  // v2 itself would take it and give others
            return make_error(errc::out_of_range, "set cpus of", run.name(), 0,
                              "name only cpus that this process may use");
        }
        return set(run, wanted);
    }
    std::string text;
    auto const now = (*place)->read("cpuset.cpus", text);
    auto const both = now ? cpu_set::parse(std::string(*now) + "," + wanted.list()) : result<cpu_set>(now.failure());
    auto done = both ? set(run, *both) : result<void>(both.failure());
    for (group const* const job : jobs) done = done ? set(*job, wanted) : done;
    return done ? set(run, wanted) : done;
}

/// On v1 no child may have more than its parent: jobs above the new cap shrink to it first.
[[nodiscard]] inline result<void> cap_quota(group const& run, std::vector<group const*> const& jobs,
                                            cpu_quota const& wanted) noexcept {
    auto const place = find_place(run, controller::cpu);
    if (!place) return place.failure();
    for (group const* const job : jobs) {
        directory const& files = *job->place_of(controller::cpu);
        if (files.kind() != version::v1 || wanted.is_unlimited()) continue;
        auto const quota = number_in(files, "cpu.cfs_quota_us");
        auto const period = number_in(files, "cpu.cfs_period_us");
        if (!quota || !period) return quota ? period.failure() : quota.failure();
        bool const above = *quota != unlimited && *quota * wanted.period() > wanted.quota() * *period;
        if (above) {
            if (auto const shrunk = set(*job, wanted); !shrunk) return shrunk;
        }
    }
    return set(run, wanted);
}

}  // namespace detail

/// Limits the run's group, in the order that the kernel asks for: a wider cap goes to the run first, a narrower one to
/// the jobs first. Errors: out_of_range, conflict (cpus that are not ours), empty_set, not_supported.
[[nodiscard]] inline result<void> set_cap(group const& run, std::vector<group const*> const& jobs,
                                          cpu_cap const& wanted) {
    auto const chosen = detail::as_set_where_possible(run, wanted);
    if (!chosen) return chosen.failure();
    if (auto const* const cpus = std::get_if<cpu_set>(&*chosen)) {
        if (cpus->empty()) return make_error(errc::empty_set, "set cpus of", run.name());
        if (run.place_of(controller::cpuset) != nullptr) return detail::cap_cpus(run, jobs, *cpus);
        auto const quota = cpu_quota::of(millicores{static_cast<std::int64_t>(cpus->size()) * 1000});
        return quota ? detail::cap_quota(run, jobs, *quota) : result<void>(quota.failure());
    }
    if (auto const* const amount = std::get_if<millicores>(&*chosen)) {
        auto const quota = cpu_quota::of(*amount);
        return quota ? detail::cap_quota(run, jobs, *quota) : result<void>(quota.failure());
    }
    return {};
}

/// The CPU that the run's jobs can use together: its cpus, or its quota if that is less.
[[nodiscard]] inline result<millicores> capacity_of(group const& run) {
    auto const cpus = run.place_of(controller::cpuset) != nullptr ? usable_cpus(run) : detail::own_cpus(run.machine());
    if (!cpus) return cpus.failure();
    millicores capacity{static_cast<std::int64_t>(cpus->size()) * 1000};
    directory const* const place = run.place_of(controller::cpu);
    if (place == nullptr) return capacity;
    std::string text;
    auto const shown = place->read(place->kind() == version::v2 ? "cpu.max" : "cpu.cfs_quota_us", text);
    if (!shown) return shown.failure();
    auto const blank = std::min(shown->find(' '), shown->size());
    auto const quota = amount_of(shown->substr(0, blank));
    if (quota && *quota != unlimited)
        capacity.count = std::min(capacity.count, *quota * 1000 / cpu_quota::usual_period);
    return capacity;
}

}  // namespace ration::cgroup
