// SPDX-License-Identifier: BSL-1.0
/// Handing v2 controllers down, and getting our own process out of the way first: a v2 group that hands controllers to
/// its children may hold no process itself. Source: kernel document cgroup-v2, "No Internal Process Constraint".
#pragma once

#include <new>
#include <string>
#include <utility>
#include <vector>

#include <ration/cgroup/detail/controller.hpp>
#include <ration/cgroup/detail/pids.hpp>
#include <ration/cgroup/detail/teardown.hpp>
#include <ration/cgroup/directory.hpp>
#include <ration/cgroup/hierarchy.hpp>

namespace ration::cgroup {

namespace detail {

/// Those of `wanted` that `listed` names.
[[nodiscard]] inline controller_set listed_in(std::string_view list, controller_set wanted) {
    auto const names = split(list, ' ');
    controller_set found;
    for (controller const which : all_controllers)
        if (wanted.contains(which) && has(names, name_of(which))) found.insert(which);
    return found;
}

/// `+cpu` or `-cpu` to cgroup.subtree_control. A moment after a process was moved away the kernel may still say EBUSY.
[[nodiscard]] inline result<void> switch_controller(directory const& where, char sign, controller which) noexcept {
    text<24> text(std::string_view(&sign, 1));
    text.append(name_of(which));
    result<void> written;
    for (int turn = 0; turn < 5; ++turn) {
        written = where.write("cgroup.subtree_control", text);
        if (written || written.failure().code != errc::busy) return written;
        where.machine().sleep(milliseconds(2));
    }
    return written;
}

}  // namespace detail

/// What `enable` did: those of the wanted that are handed down now, and why the others are not.
struct enabled {
    controller_set all;
    error why{};
};

/// Hands the wanted controllers down from `where` to its children, each on its own, because the kernel refuses a list
/// as a whole.
[[nodiscard]] inline result<enabled> enable(directory const& where, controller_set wanted) {
    std::string text;
    auto const before = where.read("cgroup.subtree_control", text);
    if (!before) return before.failure();
    enabled done{.all = detail::listed_in(*before, wanted), .why = {}};
    for (controller const which : all_controllers) {
        if (!wanted.contains(which) || done.all.contains(which)) continue;
        if (auto const written = detail::switch_controller(where, '+', which); written)
            done.all.insert(which);
        else if (written.failure().code == errc::gone)
            return written.failure();
        else
            done.why = written.failure();
    }
    return done;
}

/// Makes our own group able to hand its controllers down, by moving our own process into a leaf of it; undone by the
/// destructor. Only our own process is moved. When others are in the group too, nothing is changed and the controllers
/// are given up.
class evacuation {
    directory const* own_ = nullptr;
    controller_set handed_down_;
    bool moved_ = false;

public:
    evacuation() noexcept = default;
    evacuation(evacuation const&) = delete;
    evacuation& operator=(evacuation const&) = delete;
    ~evacuation() { leave(); }

    /// Prepares the v2 branch of `where`, if there is one and it has controllers that parents hand down. Controllers
    /// that cannot be handed down are given up in `where`, with the reason. `where` must stay in its place as long as
    /// this lives.
    [[nodiscard]] result<void> prepare(tree& where) {
        controller_set wanted;
        for (controller const which : all_controllers)
            if (is_enabled_by_parent(which) && where.owner(which).kind == version::v2) wanted.insert(which);
        if (wanted.empty()) return {};
        own_ = &where.branch_of(controller::core)->own;
        handed_down_ = wanted;
        auto const ready = make_room(wanted);
        auto const done = ready ? enable(*own_, wanted) : result<enabled>(ready.failure());
        if (!done && done.failure().code != errc::conflict && done.failure().code != errc::denied) {
            leave();
            return done.failure();
        }
        for (controller const which : all_controllers)
            if (wanted.contains(which) && !(done && done->all.contains(which)))
                where.give_up(which, done ? done->why : done.failure());
        if (!done || done->all.empty()) leave();
        return {};
    }

    [[nodiscard]] bool moved() const noexcept { return moved_; }

    /// Puts our process back and removes the leaf. Changes that fail to be undone stay until the maker of the group
    /// removes it.
    void leave() noexcept {
        for (int turn = 0; turn < 3 && moved_; ++turn) {
            try {
                moved_ = !leave_once();
            } catch (std::bad_alloc const&) {
                moved_ = !leave_without_memory();
            }
        }
        moved_ = false;
        handed_down_ = {};
    }

private:
    [[nodiscard]] bool leave_once() {
        for (controller const which : all_controllers)
            if (handed_down_.contains(which)) static_cast<void>(detail::switch_controller(*own_, '-', which));
        auto const inside = own_->child(leaf_name);
        auto const pids = inside ? members_of(*inside) : result<std::vector<int>>(inside.failure());
        for (int const pid : pids ? *pids : std::vector<int>{})  // we, and children of ours that went nowhere else
            static_cast<void>(own_->write("cgroup.procs", detail::number_text(pid)));
        return static_cast<bool>(remove_tree(*own_, leaf_name, 0, milliseconds(20)));
    }

    /// Nothing can be listed: only this process moves back, and an empty leaf is removed.
    [[nodiscard]] bool leave_without_memory() noexcept {
        static_cast<void>(own_->write("cgroup.procs", detail::number_text(own_->machine().self())));
        return static_cast<bool>(own_->remove(leaf_name));
    }

    [[nodiscard]] result<void> make_room(controller_set wanted) {
        std::string text;
        bool root = true;  // which has neither of these files
        for (char const* const file : {"cgroup.type", "cgroup.events"}) {
            auto const shown = own_->read(file, text);
            if (!shown && shown.failure().code != errc::not_supported) return shown.failure();
            root = root && !shown;
        }
        auto const enabled_now = own_->read("cgroup.subtree_control", text);
        if (!enabled_now) return enabled_now.failure();
        if (root || detail::listed_in(*enabled_now, wanted) == wanted)
            return {};  // the root may hold processes; a group that hands everything down already cannot hold any
        auto const listed = own_->read("cgroup.procs", text);
        if (!listed) return listed.failure();
        auto const pids = parse_pids(text);
        int const self = own_->machine().self();
        if (std::ranges::any_of(pids, [self](int pid) { return pid != self; })) {
            return make_error(
                errc::conflict, "hand controllers down from", own_->path(), 0,
                "other processes are in this group: start alone in one, systemd-run --user --scope -p Delegate=yes ...");
        }
        if (pids.empty()) return {};
        auto const made = own_->make(leaf_name);
        if (!made && made.failure().code != errc::already_exists) return made;
        std::string const name = leaf_name;
        fresh_group leaf(*own_, name, milliseconds(200));
        auto const inside = own_->child(name);
        auto const written =
            inside ? inside->write("cgroup.procs", detail::number_text(self)) : result<void>(inside.failure());
        if (!written) return written;
        leaf.keep();
        moved_ = true;
        return {};
    }
};

}  // namespace ration::cgroup
