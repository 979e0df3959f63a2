// SPDX-License-Identifier: BSL-1.0
/// Where cgroup hierarchies are mounted and where a process sits in them, from the texts of /proc/self/mountinfo and
/// /proc/PID/cgroup. Pure functions: nothing is opened, nothing is guessed from paths. Sources: proc(5), cgroups(7).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <ration/cgroup/detail/errors.hpp>
#include <ration/cgroup/detail/pids.hpp>
#include <ration/cgroup/io.hpp>
#include <ration/cgroup/names.hpp>
#include <ration/result.hpp>

namespace ration::cgroup {

/// One mounted hierarchy.
struct mount {
    std::string root;  ///< the directory of the hierarchy that is visible at `point`
    std::string point;
    version kind = version::none;
    bool read_only = false;
    std::vector<std::string> controllers;  ///< v1: as mounted, named ones as `name=...`
};

/// One line of /proc/PID/cgroup: the group that the process sits in, in one hierarchy.
struct membership {
    unsigned hierarchy = 0;  ///< 0 is v2
    std::vector<std::string> controllers;
    std::string path;
    bool deleted = false;  ///< the group was removed under the process
};

namespace detail {

/// Splits at every separator; empty parts are kept.
[[nodiscard]] inline std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (;;) {
        auto const at = text.find(separator);
        parts.emplace_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

/// mountinfo writes blank, tab, line end and backslash as a backslash and three octal digits.
[[nodiscard]] inline std::string decode_octal(std::string_view text) {
    std::string plain;
    auto const octal = [](char c) { return c >= '0' && c <= '7'; };
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) && octal(text[i + 3])) {
            plain.push_back(
                static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
            i += 3;
        } else {
            plain.push_back(text[i]);
        }
    }
    return plain;
}

[[nodiscard]] inline bool has(std::vector<std::string> const& words, std::string_view word) noexcept {
    return std::ranges::find(words, word) != words.end();
}

/// The same for words in one text, divided by commas.
[[nodiscard]] constexpr bool has_word(std::string_view words, std::string_view word) noexcept {
    while (!words.empty()) {
        auto const end = std::min(words.find(','), words.size());
        if (words.substr(0, end) == word) return true;
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return false;
}

[[nodiscard]] constexpr bool below(std::string_view path, std::string_view root) noexcept {
    return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

}  // namespace detail

/// The cgroup mounts among the lines of mountinfo, in their order. Lines of another shape are passed over.
[[nodiscard]] inline std::vector<mount> parse_mounts(std::string_view mountinfo) {
    std::vector<mount> mounts;
    for_each_line(mountinfo, [&](std::string_view line) {
        auto const middle = line.find(" - ");
        if (middle == std::string_view::npos) return;
        auto const left = detail::split(line.substr(0, middle), ' '),
                   right = detail::split(line.substr(middle + 3), ' ');
        if (left.size() < 6 || right.size() < 3 || (right[0] != "cgroup" && right[0] != "cgroup2")) return;
        auto const super = detail::split(right[2], ',');
        mount found{.root = detail::decode_octal(left[3]),
                    .point = detail::decode_octal(left[4]),
                    .kind = right[0] == "cgroup2" ? version::v2 : version::v1,
                    .read_only = detail::has(detail::split(left[5], ','), "ro") || detail::has(super, "ro"),
                    .controllers = {}};
        if (found.kind == version::v1) {
            // Other words ("rw", "xattr") are there too: they match no controller's name
            found.controllers = super;
        }
        mounts.push_back(std::move(found));
    });
    return mounts;
}

/// One line of /proc/PID/cgroup in place: views into its text.
struct membership_line {
    unsigned hierarchy = 0;        ///< 0 is v2
    std::string_view controllers;  ///< divided by commas
    std::string_view path;
    bool deleted = false;
};

/// Calls `visit(membership_line)` for each line of /proc/PID/cgroup. Only the first two colons divide: paths may hold
/// colons. Lines of another shape are passed over. No allocation.
template <class Visit>
void for_each_membership(std::string_view text, Visit visit) {
    constexpr std::string_view deleted = " (deleted)";
    for_each_line(text, [&](std::string_view line) {
        auto const first = line.find(':');
        auto const second = first == std::string_view::npos ? first : line.find(':', first + 1);
        membership_line entry;
        if (second == std::string_view::npos || !detail::parse_whole(line.substr(0, first), entry.hierarchy)) return;
        entry.controllers = line.substr(first + 1, second - first - 1);
        entry.path = line.substr(second + 1);
        entry.deleted = entry.path.ends_with(deleted);
        if (entry.deleted) entry.path.remove_suffix(deleted.size());
        visit(entry);
    });
}

/// The lines of /proc/PID/cgroup.
[[nodiscard]] inline std::vector<membership> parse_memberships(std::string_view text) {
    std::vector<membership> lines;
    for_each_membership(text, [&](membership_line const& line) {
        lines.push_back({.hierarchy = line.hierarchy,
                         .controllers = line.controllers.empty() ? std::vector<std::string>{}
                                                                 : detail::split(line.controllers, ','),
                         .path = std::string(line.path),
                         .deleted = line.deleted});
    });
    return lines;
}

/// The directory under which `mounted` shows the group `path`.
/// Error: namespace_mismatch, when the mount belongs to another cgroup namespace or shows another part of the
/// hierarchy.
[[nodiscard]] inline result<std::string> directory_of(mount const& mounted, std::string_view path) {
    bool const outside = mounted.root.starts_with("/..") || path.starts_with("/..");
    if (!outside && mounted.root == "/") return path == "/" ? mounted.point : mounted.point + std::string(path);
    if (!outside && detail::below(path, mounted.root))
        return mounted.point + std::string(path.substr(mounted.root.size()));
    return make_error(errc::namespace_mismatch, "find the own group below", mounted.point, 0,
                      "mount the hierarchy again inside this namespace: mount -t cgroup2 none /sys/fs/cgroup");
}

}  // namespace ration::cgroup
