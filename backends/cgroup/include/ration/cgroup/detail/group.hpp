// SPDX-License-Identifier: BSL-1.0
/// One group of ours: a directory of the same name in every hierarchy that has a controller for us. A run has one, and
/// below it each job has one.
#pragma once

#include <algorithm>
#include <bitset>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <ration/cgroup/detail/enable.hpp>
#include <ration/cgroup/detail/teardown.hpp>
#include <ration/cgroup/hierarchy.hpp>
#include <ration/host/no_memory.hpp>

namespace ration::cgroup {

/// Move-only. The destructor kills what is left in the group and removes it, waiting at most `patience`. The tree and
/// the parent must outlive it and stay in their places.
class group {
    using branch_set = std::bitset<controller_count>;  // a branch has one controller at least

    tree const* tree_ = nullptr;
    group const* parent_ = nullptr;
    std::string name_;
    std::vector<directory> places_;  // one for each branch of the tree, in that order

    group(tree const& where, group const* parent, std::string_view name) : tree_(&where), parent_(parent), name_(name) {
        places_.reserve(where.branches().size());
    }

public:
    static constexpr nanoseconds patience = milliseconds(2000);

    group(group&& other) noexcept
        : tree_(std::exchange(other.tree_, nullptr)), parent_(other.parent_), name_(std::move(other.name_)),
          places_(std::move(other.places_)) {}
    group& operator=(group&& other) noexcept {
        if (this != &other) {
            discard();
            tree_ = std::exchange(other.tree_, nullptr);
            parent_ = other.parent_;
            name_ = std::move(other.name_);
            places_ = std::move(other.places_);
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

    [[nodiscard]] std::string const& name() const noexcept { return name_; }
    [[nodiscard]] tree const& hierarchy() const noexcept { return *tree_; }
    [[nodiscard]] io& machine() const noexcept { return places_.front().machine(); }

    /// Where a controller's files are; nullptr if nobody has the controller.
    [[nodiscard]] directory const* place_of(controller which) const noexcept {
        // Not yet, while it is being made
        bool const there = tree_->has(which) && tree_->owner(which).branch < places_.size();
        return there ? &places_[tree_->owner(which).branch] : nullptr;
    }
    [[nodiscard]] std::vector<directory> const& places() const noexcept { return places_; }

    /// For clone3 with CLONE_INTO_CGROUP: the v2 directory's descriptor, or -1. The child still has to be placed in the
    /// v1 hierarchies with `place`, before it runs anything of its own.
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
        auto const missing = missing_places(pid, scratch);
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
        return where != nullptr ? cgroup::freeze(*where, at_most) : result<void>(tree_->owner(controller::freezer).why);
    }
    [[nodiscard]] result<void> thaw() const noexcept {
        directory const* const where = place_of(controller::freezer);
        return where != nullptr ? cgroup::thaw(*where) : result<void>(tree_->owner(controller::freezer).why);
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

    /// Removes the group from every hierarchy; afterwards the object is empty. What is in it must have been killed.
    /// Errors: busy. Then the object stays as it is and may be tried again.
    [[nodiscard]] result<void> remove(nanoseconds at_most = patience) {
        while (!places_.empty()) {
            std::size_t const last = places_.size() - 1;
            directory const& where = places_[last];
            if (where) {
                if (auto const removed = remove_tree(above(last), name_, where.inode(), at_most); !removed)
                    return removed;
            }
            places_.pop_back();
        }
        tree_ = nullptr;
        return {};
    }

private:
    [[nodiscard]] directory const& above(std::size_t index) const noexcept {
        return parent_ != nullptr ? parent_->places_[index] : tree_->branches()[index].own;
    }

    void discard() noexcept {
        // Perhaps there is memory at the second turn
        for (int turn = 0; turn < 2 && tree_ != nullptr && !places_.empty(); ++turn)
            static_cast<void>(or_no_memory("end a group", name_, [&] {
                static_cast<void>(kill());
                return remove();
            }));
        if (tree_ == nullptr) return;
        try {
            remove_closed();
        } catch (std::bad_alloc const&) {
            remove_empty();
        }
    }

    /// Without memory nothing can be listed or opened; an empty group goes by its name alone. What stays is an orphan
    /// that the next run removes.
    void remove_empty() noexcept {
        for (std::size_t i = places_.size(); i-- > 0;) static_cast<void>(above(i).remove(name_));
    }

    /// Without a free descriptor nothing can be removed: those of the group itself are the last that can be had.
    void remove_closed() {
        for (directory& where : places_) where.close();
        for (std::size_t i = places_.size(); i-- > 0;)
            static_cast<void>(remove_tree(above(i), name_, places_[i].inode(), patience));
    }

    [[nodiscard]] result<void> create_in(std::size_t index) {
        branch const& hierarchy = tree_->branches()[index];
        directory const& parent = above(index);
        if (hierarchy.kind == version::v2 && parent_ != nullptr) {
            auto const handed = enable(parent, hand_down(hierarchy.controllers));
            if (!handed) return handed.failure();
            if (handed->all != hand_down(hierarchy.controllers)) return handed->why;
        }
        if (auto const made = parent.make(name_); !made) return made;
        fresh_group fresh(parent, name_, patience);
        auto opened = parent.child(name_);
        if (!opened) return opened.failure();
        places_.push_back(std::move(opened).value());
        fresh.keep();
        bool const needs_cpus = hierarchy.kind == version::v1 && hierarchy.controllers.contains(controller::cpuset);
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

    /// Takes the path of this group in a hierarchy off the front of `path`; false if it begins otherwise.
    [[nodiscard]] bool strip_path(std::string_view& path, std::size_t index) const noexcept {
        std::string_view const above = parent_ != nullptr ? std::string_view() : tree_->branches()[index].path;
        bool const below = parent_ != nullptr ? parent_->strip_path(path, index) : above == "/" || strip(path, above);
        return below && strip(path, "/") && strip(path, name_);
    }

    [[nodiscard]] static bool strip(std::string_view& text, std::string_view front) noexcept {
        bool const fits = text.starts_with(front);
        text.remove_prefix(fits ? front.size() : 0);
        return fits;
    }

    /// Whether a line of /proc/PID/cgroup shows the process in this group, or in one below it.
    [[nodiscard]] bool is_inside(membership_line const& line, std::size_t index) const noexcept {
        branch const& hierarchy = tree_->branches()[index];
        bool const same = hierarchy.kind == version::v2 ? line.hierarchy == 0
                                                        : std::ranges::any_of(all_controllers, [&](controller which) {
                                                              return hierarchy.controllers.contains(which) &&
                                                                     detail::has_word(line.controllers, name_of(which));
                                                          });
        std::string_view rest = line.path;
        return same && !line.deleted && strip_path(rest, index) && (rest.empty() || rest.front() == '/');
    }

    /// The branches in which /proc/PID/cgroup does not show the process in this group. The text of that file stays in
    /// `scratch`.
    [[nodiscard]] result<branch_set> missing_places(int pid, std::string& scratch) const noexcept;
    [[nodiscard]] bool is_exiting(int pid) const noexcept;
    [[nodiscard]] static result<void> move(directory const& where, int pid) noexcept;
};

inline result<group::branch_set> group::missing_places(int pid, std::string& scratch) const noexcept {
    text<40> file("/proc/");
    file.append(detail::number_text(pid)).append("/cgroup");
    if (int const failed = machine().read_system(file.c_str(), scratch)) {
        return make_error(failed == ENOENT || failed == ESRCH ? errc::not_found : code_of(failed), "read", file, failed,
                          "the process has ended");
    }
    branch_set missing;
    for (std::size_t i = 0; i < places_.size(); ++i) missing.set(i);
    for_each_membership(scratch, [&](membership_line const& line) {
        for (std::size_t i = 0; i < places_.size(); ++i)
            if (missing[i] && is_inside(line, i)) missing.reset(i);
    });
    if (missing.any() && is_exiting(pid)) return make_error(errc::not_found, "read", file, 0, "the process has ended");
    return missing;
}

/// A v1 hierarchy shows an exiting process at its root (proc_cgroup_show in kernel/cgroup/cgroup.c): it has not left
/// its group.
inline bool group::is_exiting(int pid) const noexcept {
    text<40> file("/proc/");
    file.append(detail::number_text(pid)).append("/stat");
    std::string text;
    int const failed = machine().read_system(file.c_str(), text);
    auto const found = failed == 0 ? process::parse_stat(text) : std::nullopt;
    return failed == ENOENT || failed == ESRCH || (found && found->exiting);
}

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
        return make_error(errc::invalid_value, "place a process in", name_, 0, "a process number is 1 or more");
    std::string scratch;
    auto const before = missing_places(pid, scratch);
    if (!before) return before.failure();
    for (std::size_t i = 0; i < places_.size(); ++i)
        if (auto const moved = before->test(i) ? move(places_[i], pid) : result<void>(); !moved) return moved;
    auto const missing = missing_places(pid, scratch);
    if (!missing) return missing.failure();
    for (std::size_t i = 0; i < places_.size(); ++i)
        if (missing->test(i))
            return places_[i].problem(errc::unverified, "place a process in", "", 0,
                                      "another program moves processes here too: stop that one");
    return {};
}

}  // namespace ration::cgroup
