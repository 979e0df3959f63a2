// SPDX-License-Identifier: BSL-1.0
/// Names of groups. A job's name becomes a directory in cgroupfs, so it must be one that can only ever mean that
/// directory; a run's group has its owner in its name, so that the next start recognizes a dead run without a
/// separate file.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ration/cgroup/detail/errors.hpp>
#include <ration/cgroup/io.hpp>
#include <ration/process/proc.hpp>
#include <ration/result.hpp>

namespace ration::cgroup {

/// Longest name of a job or a run. Directory names may have 255 bytes; a run's group adds its owner to the name.
inline constexpr std::size_t longest_name = 100;

/// The group into which our own process moves when its own has to hand controllers down (enable.hpp).
inline constexpr char const* leaf_name = "ration-ctl";

namespace detail {

/// The prefixes of interface files. A group of such a name could be taken for a file, now or on a later kernel.
inline constexpr std::string_view interface_prefixes[] = {
    "cgroup.", "cpu.",     "cpuset.",   "cpuacct.",    "memory.", "pids.", "io.",
    "blkio.",  "freezer.", "hugetlb.",  "rdma.",       "misc.",   "dmem.", "devices.",
    "debug.",  "net_cls.", "net_prio.", "perf_event.", "irq."};
inline constexpr std::string_view interface_files[] = {"tasks", "notify_on_release", "release_agent"};

[[nodiscard]] constexpr bool ordinary(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '+' || c == '@';
}

[[nodiscard]] constexpr bool is_interface_name(std::string_view name) noexcept {
    return std::ranges::any_of(interface_prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
           std::ranges::find(interface_files, name) != std::ranges::end(interface_files);
}

template <class Number>
[[nodiscard]] inline bool parse_whole(std::string_view text, Number& number) noexcept {
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    return !text.empty() && failed == std::errc{} && end == text.data() + text.size();
}

}  // namespace detail

/// Whether `name` may name a group: at most `longest` letters, digits and characters of "-_.+@". It does not begin with
/// a dot, and not as the name of an interface file.
[[nodiscard]] inline result<void> check_name(std::string_view name, std::size_t longest = longest_name) noexcept {
    bool const sound = !name.empty() && name.size() <= longest && name.front() != '.' &&
                       std::ranges::all_of(name, detail::ordinary) && !detail::is_interface_name(name);
    if (!sound) {
        return make_error(
            errc::invalid_value, "name a group", name, 0,
            "use 1 to 100 letters, digits and -_.+@, no dot at the front, no name of a cgroup file such as cpu.max");
    }
    return {};
}

/// A process for all time: the number, when it started (clock ticks after boot) and the pid namespace in which the
/// number counts.
struct owner {
    int pid = 0;
    std::uint64_t started = 0;
    std::uint64_t pid_namespace = 0;
    friend constexpr bool operator==(owner const&, owner const&) noexcept = default;
};

struct run_name {
    std::string name;
    owner who;
    friend bool operator==(run_name const&, run_name const&) noexcept = default;
};

/// The group of a run: `ration-<name>.<pid>.<started>.<pid namespace>`.
[[nodiscard]] inline std::string group_name_of(run_name const& run) {
    return "ration-" + run.name + "." + std::to_string(run.who.pid) + "." + std::to_string(run.who.started) + "." +
           std::to_string(run.who.pid_namespace);
}

/// The reverse. Nothing for a group that no run made.
[[nodiscard]] inline std::optional<run_name> parse_run_name(std::string_view group) {
    if (!group.starts_with("ration-")) return std::nullopt;
    group.remove_prefix(7);
    std::array<std::uint64_t, 3> numbers{};
    for (std::size_t i = numbers.size(); i-- > 0;) {
        auto const dot = group.rfind('.');
        if (dot == std::string_view::npos || !detail::parse_whole(group.substr(dot + 1), numbers[i]))
            return std::nullopt;
        group = group.substr(0, dot);
    }
    if (!check_name(group) || numbers[0] == 0 || numbers[0] > 4'194'304) return std::nullopt;
    return run_name{std::string(group), {static_cast<int>(numbers[0]), numbers[1], numbers[2]}};
}

/// The number in `pid:[4026531836]`.
[[nodiscard]] inline std::optional<std::uint64_t> namespace_number(std::string_view link) noexcept {
    auto const open = link.find('['), close = link.find(']');
    std::uint64_t number = 0;
    if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
        !detail::parse_whole(link.substr(open + 1, close - open - 1), number)) {
        return std::nullopt;
    }
    return number;
}

/// This process, as it is written into the names of its groups.
[[nodiscard]] inline result<owner> self_as_owner(io& machine) noexcept {
    std::string stat, link;
    if (int const failed = machine.read_system("/proc/self/stat", stat))
        return system_error("read", "/proc/self/stat", failed);
    if (int const failed = machine.read_link("/proc/self/ns/pid", link))
        return system_error("read", "/proc/self/ns/pid", failed);
    auto const fields = process::parse_stat(stat);
    auto const space = namespace_number(link);
    if (!fields || !space) {
        return make_error(errc::io, "read", "/proc/self/stat", 0,
                          "/proc does not look as proc(5) describes it: is it mounted?");
    }
    return owner{machine.self(), fields->start_time, *space};
}

}  // namespace ration::cgroup
