// SPDX-License-Identifier: BSL-1.0
/// Which hierarchy owns each controller here, and the directory of our own group in it. A machine may be v1, v2 or both
/// at once (hybrid), per controller. The file system, and a group that is created, confirm the contents of /proc.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <ration/cgroup/detail/controller.hpp>
#include <ration/cgroup/detail/proc_text.hpp>
#include <ration/cgroup/detail/teardown.hpp>
#include <ration/cgroup/directory.hpp>

namespace ration::cgroup {

/// One hierarchy that this backend uses, held open at our own group.
struct branch {
    version kind = version::none;
    directory own;
    std::string path;            ///< of our own group, as `/proc/PID/cgroup` names it
    controller_set controllers;  ///< those used here
};

inline constexpr std::size_t no_branch = static_cast<std::size_t>(-1);

/// Which hierarchy has a controller; with `version::none`, why none has, and a remedy.
struct ownership {
    version kind = version::none;
    std::size_t branch = no_branch;
    error why{};
};

/// The place of our own group in one hierarchy, from text alone.
[[nodiscard]] inline result<std::pair<std::string, std::string>> locate(version kind, std::string_view name,
                                                                        std::vector<mount> const& mounts,
                                                                        membership const& line) {
    if (line.deleted) {
        return make_error(errc::gone, "find the own group", line.path, 0,
                          "the group of this process was removed: start it from another one");
    }
    error why = make_error(
        errc::not_supported, "find the mount of", name, 0,
        kind == version::v1
            ? "the controller is bound to a v1 hierarchy that is not mounted: mount -t cgroup -o <controller> none <dir>"
            : "mount -t cgroup2 none /sys/fs/cgroup");
    std::pair<std::string, std::string> found;
    for (mount const& candidate : mounts) {
        if (candidate.kind != kind || (kind == version::v1 && !detail::has(candidate.controllers, name))) continue;
        auto mapped = directory_of(candidate, line.path);
        if (!mapped) {
            why = mapped.failure();
        } else if (found.first.empty() || !candidate.read_only) {
            found = {std::move(mapped).value(), line.path};
            if (!candidate.read_only) break;
        }
    }
    if (found.first.empty()) return why;
    return found;
}

/// The hierarchies of this machine as seen from our own group. Move-only; the `io` must outlive it.
class tree {
    std::vector<branch> branches_;
    std::array<ownership, controller_count> owners_{};
    std::string probe_;  // a name with the owner, in case this process dies before it removes the group

public:
    /// Reads /proc, opens every hierarchy that has a controller for us and creates and removes a group in each. A
    /// controller that cannot be used is not an error: its `owner` has the reason. Errors: /proc cannot be read.
    [[nodiscard]] static result<tree> discover(io& machine) {
        std::string memberships;
        if (int const failed = machine.read_system("/proc/self/cgroup", memberships))
            return system_error("read", "/proc/self/cgroup", failed);
        return discover(machine, memberships);
    }

    /// The same from the group that another process is or was in, given the text of its `/proc/PID/cgroup`.
    [[nodiscard]] static result<tree> discover(io& machine, std::string_view memberships) {
        std::string mountinfo;
        if (int const failed = machine.read_system("/proc/self/mountinfo", mountinfo))
            return system_error("read", "/proc/self/mountinfo", failed);
        auto const self = self_as_owner(machine);
        if (!self) return self.failure();
        tree found;
        found.probe_ = group_name_of({"probe", *self});
        auto const mounts = parse_mounts(mountinfo);
        auto const lines = parse_memberships(memberships);
        found.find_v2(machine, mounts, lines);
        for (controller const which : all_controllers) found.find_v1(machine, which, mounts, lines);
        return found;
    }

    [[nodiscard]] ownership const& owner(controller which) const noexcept {
        return owners_[static_cast<std::size_t>(which)];
    }
    [[nodiscard]] bool has(controller which) const noexcept { return owner(which).kind != version::none; }
    [[nodiscard]] std::vector<branch> const& branches() const noexcept { return branches_; }
    [[nodiscard]] branch const* branch_of(controller which) const noexcept {
        return has(which) ? &branches_[owner(which).branch] : nullptr;
    }

    /// From now on the controller counts as absent, for this reason.
    void give_up(controller which, error why) noexcept {
        if (has(which)) branches_[owner(which).branch].controllers.erase(which);
        owners_[static_cast<std::size_t>(which)] = {.kind = version::none, .branch = no_branch, .why = why};
    }

private:
    void own(controller which, std::size_t index) noexcept {
        branches_[index].controllers.insert(which);
        owners_[static_cast<std::size_t>(which)] = {.kind = branches_[index].kind, .branch = index, .why = {}};
    }

    void find_v2(io& machine, std::vector<mount> const& mounts, std::vector<membership> const& lines) {
        auto const line = std::ranges::find(lines, 0U, &membership::hierarchy);
        if (line == lines.end()) {
            give_up_all(make_error(errc::not_supported, "find", "the v2 hierarchy", 0,
                                   "boot a kernel with cgroup v2 (5.0 or later)"));
            return;
        }
        membership ours = *line;
        std::string const leaf = std::string("/") + leaf_name;
        if (ours.path.ends_with(leaf))  // moved there by an earlier start
            ours.path.resize(std::max<std::size_t>(ours.path.size() - leaf.size(), 1));
        auto const place = locate(version::v2, "cgroup2", mounts, ours);
        auto const index = place ? attach(machine, version::v2, *place) : result<std::size_t>(place.failure());
        if (!index) {
            give_up_all(index.failure());
            return;
        }
        std::string scratch;
        auto const offered = branches_[*index].own.read("cgroup.controllers", scratch);
        auto const names = detail::split(offered ? *offered : std::string_view{}, ' ');
        for (controller const which : all_controllers) {
            if (!is_enabled_by_parent(which) || detail::has(names, name_of(which))) {
                own(which, *index);
            } else {
                give_up(
                    which,
                    make_error(
                        errc::not_supported, "use controller", name_of(which), 0,
                        "the group above does not hand it down: write +<controller> to cgroup.subtree_control there"));
            }
        }
    }

    void find_v1(io& machine, controller which, std::vector<mount> const& mounts,
                 std::vector<membership> const& lines) {
        auto const line = std::ranges::find_if(lines, [&](membership const& entry) {
            return entry.hierarchy != 0 && detail::has(entry.controllers, name_of(which));
        });
        // v2 freezes and kills better than v1, without a controller: where it can be used, the v1 freezer is left
        // alone.
        if (line == lines.end() || which == controller::core || (which == controller::freezer && has(controller::core)))
            return;
        auto const place = locate(version::v1, name_of(which), mounts, *line);
        auto const index = place ? attach(machine, version::v1, *place) : result<std::size_t>(place.failure());
        if (index) {
            give_up(which, {});
            own(which, *index);
        } else {
            give_up(which, index.failure());
        }
    }

    void give_up_all(error const& why) noexcept {
        for (controller const which : all_controllers) give_up(which, why);
    }

    /// The branch at this directory, opened and tried if it is a new one.
    [[nodiscard]] result<std::size_t> attach(io& machine, version kind,
                                             std::pair<std::string, std::string> const& place) {
        auto const known =
            std::ranges::find_if(branches_, [&](branch const& b) { return b.own.path() == place.first; });
        if (known != branches_.end()) return static_cast<std::size_t>(known - branches_.begin());
        auto opened = directory::open(machine, place.first);
        if (!opened) return opened.failure();
        if (opened->kind() != kind) {
            return make_error(
                errc::namespace_mismatch, "open the hierarchy", place.first, 0,
                "something else is mounted over it: unmount that, or mount the hierarchy in another place");
        }
        if (auto const usable = try_out(*opened); !usable) return usable.failure();
        branches_.push_back({kind, std::move(opened).value(), place.second, {}});
        return branches_.size() - 1;
    }

    /// Permission is not read off user ids or modes: a group is created and removed.
    [[nodiscard]] result<void> try_out(directory const& own) const {
        std::string scratch;
        if (own.kind() == version::v2) {
            auto const type = own.read("cgroup.type", scratch);  // the root of the hierarchy has no such file
            if (type && *type != "domain") {
                return make_error(
                    errc::conflict, "use the own group, which is threaded", own.path(), 0,
                    "start from a group of type `domain`: systemd-run --user --scope -p Delegate=yes ...");
            }
        }
        auto const made = own.make(probe_);
        if (!made && made.failure().code != errc::already_exists) return made;
        fresh_group probe(own, probe_, milliseconds(200));
        auto const removed = remove_tree(own, probe_, 0, milliseconds(200));
        probe.keep();
        return removed;
    }
};

}  // namespace ration::cgroup
