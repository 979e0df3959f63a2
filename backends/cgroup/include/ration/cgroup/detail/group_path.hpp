// SPDX-License-Identifier: BSL-1.0
/// The path of a group in every hierarchy, and which processes /proc/PID/cgroup shows there.
#pragma once

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <ration/cgroup/hierarchy.hpp>
#include <ration/process/proc.hpp>

namespace ration::cgroup::detail {

/// Some branches of the tree. A branch has one controller at least.
using branch_set = std::bitset<controller_count>;

/// The tree and the path of the parent must outlive it and stay in their places.
class group_path {
    tree const* tree_;
    group_path const* parent_;  // nullptr: below our own group
    std::string name_;

public:
    group_path(tree const& where, group_path const* parent, std::string_view name)
        : tree_(&where), parent_(parent), name_(name) {}

    [[nodiscard]] tree const& hierarchy() const noexcept { return *tree_; }
    /// The last part of the path.
    [[nodiscard]] std::string const& name() const noexcept { return name_; }

    /// Those of the first `count` branches in which /proc/PID/cgroup shows the process neither in this group nor in one
    /// below it. The text of that file stays in `scratch`. Error: not_found (the process).
    [[nodiscard]] result<branch_set> branches_without(int pid, io& machine, std::size_t count,
                                                      std::string& scratch) const noexcept {
        text<40> file("/proc/");
        file.append(number_text(pid)).append("/cgroup");
        if (int const failed = machine.read_system(file.c_str(), scratch)) {
            return make_error(failed == ENOENT || failed == ESRCH ? errc::not_found : code_of(failed), "read", file,
                              failed, "the process has ended");
        }
        branch_set missing;
        for (std::size_t i = 0; i < count; ++i) missing.set(i);
        for_each_membership(scratch, [&](membership_line const& line) {
            for (std::size_t i = 0; i < count; ++i)
                if (missing[i] && is_inside(line, i)) missing.reset(i);
        });
        if (missing.any() && is_exiting(pid, machine))
            return make_error(errc::not_found, "read", file, 0, "the process has ended");
        return missing;
    }

private:
    /// Whether a line of /proc/PID/cgroup shows the process in this group, or in one below it.
    [[nodiscard]] bool is_inside(membership_line const& line, std::size_t index) const noexcept {
        branch const& hierarchy = tree_->branches()[index];
        bool const same = hierarchy.kind == version::v2 ? line.hierarchy == 0
                                                        : std::ranges::any_of(all_controllers, [&](controller which) {
                                                              return hierarchy.controllers.contains(which) &&
                                                                     has_word(line.controllers, name_of(which));
                                                          });
        std::string_view rest = line.path;
        return same && !line.deleted && strip_from(rest, index) && (rest.empty() || rest.front() == '/');
    }

    /// Takes this path in a hierarchy off the front of `path`; false if it begins otherwise.
    [[nodiscard]] bool strip_from(std::string_view& path, std::size_t index) const noexcept {
        std::string_view const above = parent_ != nullptr ? std::string_view() : tree_->branches()[index].path;
        bool const below = parent_ != nullptr ? parent_->strip_from(path, index) : above == "/" || strip(path, above);
        return below && strip(path, "/") && strip(path, name_);
    }

    [[nodiscard]] static bool strip(std::string_view& text, std::string_view front) noexcept {
        bool const fits = text.starts_with(front);
        text.remove_prefix(fits ? front.size() : 0);
        return fits;
    }

    /// A v1 hierarchy shows an exiting process at its root (proc_cgroup_show in kernel/cgroup/cgroup.c): it has not
    /// left its group.
    [[nodiscard]] static bool is_exiting(int pid, io& machine) noexcept {
        text<40> file("/proc/");
        file.append(number_text(pid)).append("/stat");
        std::string text;
        int const failed = machine.read_system(file.c_str(), text);
        auto const found = failed == 0 ? process::parse_stat(text) : std::nullopt;
        return failed == ENOENT || failed == ESRCH || (found && found->exiting);
    }
};

}  // namespace ration::cgroup::detail
