// SPDX-License-Identifier: BSL-1.0
/// One group of ours: a directory of the same name in every hierarchy that has a controller for us. A run has one, and
/// below it each job has one.
#pragma once

#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/cgroup/detail/enable.hpp>
#include <ration/cgroup/detail/group_path.hpp>
#include <ration/cgroup/detail/teardown.hpp>
#include <ration/cgroup/hierarchy.hpp>
#include <ration/host/no_memory.hpp>

namespace ration::cgroup {

/// Move-only. The destructor kills what is left in the group and removes it, waiting at most `patience`. The tree and
/// the parent must outlive it and stay in their places.
class group {
    detail::group_path path_;
    group const* parent_;
    std::vector<directory> places_;  // one for each branch of the tree, in that order; none once it is removed

    group(tree const& where, group const* parent, std::string_view name)
        : path_(where, parent != nullptr ? &parent->path_ : nullptr, name), parent_(parent) {
        places_.reserve(where.branches().size());
    }

public:
    static constexpr nanoseconds patience = milliseconds(2000);

    group(group&& other) noexcept = default;  // a vector that was moved from is empty
    group& operator=(group&& other) noexcept {
        if (this != &other) {
            discard();
            path_ = std::move(other.path_);
            parent_ = other.parent_;
            places_ = std::exchange(other.places_, {});
        }
        return *this;
    }
    ~group() { discard(); }

    /// Creates the group in every branch, below our own group or below `parent`. With v2 the parent hands its
    /// controllers down first; a v1 cpuset gets its parent's cpus and memory nodes, without which it can hold no
    /// process. All or nothing. Errors: invalid_value (the name), already_exists, denied, limit.
    [[nodiscard]] static result<group> create(tree const& where, group const* parent, std::string_view name) {
        // A run's name carries its owner and may be longer than a job's
        if (auto const sound = check_name(name, 255); !sound) return sound.failure();
        group made(where, parent, name);
        for (std::size_t i = 0; i < where.branches().size(); ++i)
            if (auto const done = made.create_in(i); !done)
                return done.failure();  // the destructor removes what there is
        return made;
    }

    [[nodiscard]] std::string const& name() const noexcept { return path_.name(); }
    [[nodiscard]] tree const& hierarchy() const noexcept { return path_.hierarchy(); }
    [[nodiscard]] io& machine() const noexcept { return places_.front().machine(); }

    /// Where a controller's files are; nullptr if no hierarchy has the controller.
    [[nodiscard]] directory const* place_of(controller which) const noexcept {
        // Not yet, while it is being made
        bool const there = hierarchy().has(which) && hierarchy().owner(which).branch < places_.size();
        return there ? &places_[hierarchy().owner(which).branch] : nullptr;
    }
    [[nodiscard]] std::vector<directory> const& places() const noexcept { return places_; }

    /// For clone3 with CLONE_INTO_CGROUP: the v2 directory's descriptor, or -1. The child still has to be placed in the
    /// v1 hierarchies with `place`, before it runs its program.
    [[nodiscard]] int clone_directory() const noexcept {
        directory const* const v2 = place_of(controller::core);
        return v2 != nullptr ? v2->machine().native(v2->handle()) : -1;
    }

    /// Puts a process into the group in every hierarchy where it is not yet, and checks with /proc/PID/cgroup that it
    /// is there. Errors: not_found (no such process), gone, empty_set, denied, unverified.
    [[nodiscard]] result<void> place(int pid) const noexcept;

    /// Whether the process is in this group, or in one below it, in every hierarchy: as /proc/PID/cgroup has it.
    /// Error: not_found.
    [[nodiscard]] result<bool> contains(int pid) const noexcept {
        std::string scratch;
        return contains(pid, scratch);
    }
    /// The same, for a caller that asks again and again.
    [[nodiscard]] result<bool> contains(int pid, std::string& scratch) const noexcept {
        auto const missing = path_.branches_without(pid, machine(), places_.size(), scratch);
        return missing ? result<bool>(missing->none()) : result<bool>(missing.failure());
    }

    /// Puts processes back that have left some, but not all, hierarchies of the group. Then every hierarchy has the
    /// same members.
    [[nodiscard]] result<void> gather() const {
        if (places_.size() < 2) return {};
        auto const all = members();
        result<void> first = all ? result<void>() : result<void>(all.failure());
        if (!all) return first;
        for (int const pid : *all) {
            auto const inside = contains(pid);
            auto const placed = inside && !*inside ? place(pid) : result<void>();
            first = first ? placed : first;
        }
        return first;
    }

    /// All processes in the group and below it, sorted, each once.
    [[nodiscard]] result<std::vector<int>> members() const {
        std::vector<int> all;
        for (directory const& where : places_) {
            auto const found = members_of(where);
            if (!found) return found.failure();
            all.insert(all.end(), found->begin(), found->end());
        }
        std::ranges::sort(all);
        all.erase(std::unique(all.begin(), all.end()), all.end());
        return all;
    }

    /// Stops every process in the group; on an error it is thawed. Errors: timed_out, not_supported.
    [[nodiscard]] result<void> freeze(nanoseconds at_most = patience) const noexcept {
        directory const* const where = place_of(controller::freezer);
        return where != nullptr ? cgroup::freeze(*where, at_most)
                                : result<void>(hierarchy().owner(controller::freezer).why);
    }
    [[nodiscard]] result<void> thaw() const noexcept {
        directory const* const where = place_of(controller::freezer);
        return where != nullptr ? cgroup::thaw(*where) : result<void>(hierarchy().owner(controller::freezer).why);
    }
    [[nodiscard]] result<bool> frozen() const noexcept {
        directory const* const where = place_of(controller::freezer);
        return where != nullptr ? is_frozen(*where) : result<bool>(false);
    }

    /// SIGKILLs everything in the group and below it, frozen or not, and returns when nothing is left. Error:
    /// timed_out.
    [[nodiscard]] result<void> kill(nanoseconds at_most = patience) const {
        nanoseconds const deadline = machine().now() + at_most;
        result<void> first;
        auto const kill_in = [&](directory const& where) {
            auto const killed = kill_tree(where, deadline - machine().now());
            first = first ? killed : first;
        };
        directory const* const best = place_of(controller::freezer);  // where racing forks can be held
        if (best != nullptr) kill_in(*best);
        for (directory const& where : places_)
            if (&where != best) kill_in(where);
        return first;
    }

    /// Removes the group from every hierarchy; afterwards the object is empty. Its processes must have been killed.
    /// Errors: busy. Then the object stays as it is and may be tried again.
    [[nodiscard]] result<void> remove(nanoseconds at_most = patience) {
        while (!places_.empty()) {
            std::size_t const last = places_.size() - 1;
            directory const& where = places_[last];
            if (where) {
                if (auto const removed = remove_tree(above(last), name(), where.inode(), at_most); !removed)
                    return removed;
            }
            places_.pop_back();
        }
        return {};
    }

private:
    [[nodiscard]] directory const& above(std::size_t index) const noexcept {
        return parent_ != nullptr ? parent_->places_[index] : hierarchy().branches()[index].own;
    }

    void discard() noexcept {
        // Perhaps there is memory at the second turn
        for (int turn = 0; turn < 2 && !places_.empty(); ++turn)
            static_cast<void>(or_no_memory("end a group", name(), [&] {
                static_cast<void>(kill());
                return remove();
            }));
        try {
            remove_closed();
        } catch (std::bad_alloc const&) {
            remove_empty();
        }
    }

    /// Without memory nothing can be listed or opened; an empty group goes by its name alone. A group that stays is an
    /// orphan that the next run removes.
    void remove_empty() noexcept {
        for (std::size_t i = places_.size(); i-- > 0;) static_cast<void>(above(i).remove(name()));
    }

    /// Without a free descriptor nothing can be removed: those of the group itself are the last that can be had.
    void remove_closed() {
        for (directory& where : places_) where.close();
        for (std::size_t i = places_.size(); i-- > 0;)
            static_cast<void>(remove_tree(above(i), name(), places_[i].inode(), patience));
    }

    [[nodiscard]] result<void> create_in(std::size_t index) {
        branch const& in = hierarchy().branches()[index];
        directory const& parent = above(index);
        if (in.kind == version::v2 && parent_ != nullptr) {
            auto const handed = enable(parent, hand_down(in.controllers));
            if (!handed) return handed.failure();
            if (handed->all != hand_down(in.controllers)) return handed->why;
        }
        if (auto const made = parent.make(name()); !made) return made;
        fresh_group fresh(parent, name(), patience);
        auto opened = parent.child(name());
        if (!opened) return opened.failure();
        places_.push_back(std::move(opened).value());
        fresh.keep();
        bool const needs_cpus = in.kind == version::v1 && in.controllers.contains(controller::cpuset);
        return needs_cpus ? inherit_cpuset(parent, places_.back()) : result<void>();
    }

    [[nodiscard]] static controller_set hand_down(controller_set owned) noexcept {
        for (controller const which : all_controllers)
            if (!is_enabled_by_parent(which)) owned.erase(which);
        return owned;
    }

    /// The parent is our own group, which holds us and so has both, or a group of ours that got them in this way.
    [[nodiscard]] static result<void> inherit_cpuset(directory const& parent, directory const& child) noexcept {
        for (char const* const file : {"cpuset.cpus", "cpuset.mems"}) {
            std::string text;
            auto const inherited = parent.read(file, text);
            if (!inherited) return inherited.failure();
            if (inherited->empty())
                return parent.problem(errc::empty_set, "inherit", file, 0, remedy_of(errc::empty_set));
            if (auto const written = write_verified(child, file, *inherited); !written) return written;
        }
        return {};
    }

    [[nodiscard]] static result<void> move(directory const& where, int pid) noexcept;
};

/// EINVAL may mean that the process has not finished being born: it passes within milliseconds.
inline result<void> group::move(directory const& where, int pid) noexcept {
    auto const text = detail::number_text(pid);
    result<void> moved;
    for (int turn = 0; turn < 5; ++turn) {
        moved = where.write("cgroup.procs", text);
        if (moved || moved.failure().system != EINVAL) return moved;
        where.machine().sleep(milliseconds(1 << turn));
    }
    return moved;
}

inline result<void> group::place(int pid) const noexcept {
    if (pid <= 0)
        return make_error(errc::invalid_value, "place a process in", name(), 0, "a process number is 1 or more");
    std::string scratch;
    auto const before = path_.branches_without(pid, machine(), places_.size(), scratch);
    if (!before) return before.failure();
    for (std::size_t i = 0; i < places_.size(); ++i)
        if (auto const moved = before->test(i) ? move(places_[i], pid) : result<void>(); !moved) return moved;
    auto const missing = path_.branches_without(pid, machine(), places_.size(), scratch);
    if (!missing) return missing.failure();
    for (std::size_t i = 0; i < places_.size(); ++i)
        if (missing->test(i))
            return places_[i].problem(errc::unverified, "place a process in", "", 0,
                                      "another program moves processes here too: stop that one");
    return {};
}

}  // namespace ration::cgroup
