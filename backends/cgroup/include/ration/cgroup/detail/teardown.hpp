// SPDX-License-Identifier: BSL-1.0
/// Ending and removing groups with everything below them. Each call works on one directory and its subtree, so that a
/// job's group and what a dead run left behind go the same way.
#pragma once

#include <algorithm>
#include <csignal>
#include <new>
#include <string>
#include <vector>

#include <ration/cgroup/detail/freeze.hpp>
#include <ration/cgroup/detail/pids.hpp>
#include <ration/cgroup/detail/values.hpp>
#include <ration/cgroup/directory.hpp>

namespace ration::cgroup {

namespace detail {

/// A pause that doubles, from 1 to 64 ms.
class backoff {
    std::int64_t next_ = 1;

public:
    /// False when the deadline has passed.
    [[nodiscard]] bool wait(io& machine, nanoseconds deadline) noexcept {
        if (machine.now() >= deadline) return false;
        machine.sleep(milliseconds(next_));
        next_ = std::min<std::int64_t>(next_ * 2, 64);
        return true;
    }
};

/// A group that vanished needs no more work.
[[nodiscard]] inline result<void> unless_gone(result<void> done) noexcept {
    return !done && done.failure().code == errc::gone ? result<void>() : done;
}

/// Calls `visit(directory)` for the group and all below it, the lowest first. `depth` bounds the descent.
template <class Visit>
[[nodiscard]] result<void> visit_tree(directory const& top, Visit& visit, int depth = 64) {
    auto const children = top.list();
    if (!children) return unless_gone(children.failure());
    for (std::string const& name : *children) {
        auto const child =
            depth > 0 ? top.child(name) : result<directory>(make_error(errc::limit, "descend below", top.path()));
        if (!child && depth > 0 && child.failure().system == ENOENT) continue;  // removed since it was listed
        if (!child) return child.failure();
        if (auto const visited = visit_tree(*child, visit, depth - 1); !visited) return visited;
    }
    return visit(top);
}

[[nodiscard]] inline result<void> signal_tree(directory const& top, int number) {
    auto const signal = [number](directory const& where) -> result<void> {
        std::size_t reached = 0;
        int const failed = where.machine().signal_members(where.handle(), number, reached);
        bool const threaded = failed == EOPNOTSUPP;  // its processes are listed in the domain above
        return failed != 0 && !threaded ? unless_gone(where.failure("signal", "cgroup.procs", failed)) : result<void>();
    };
    return visit_tree(top, signal);
}

[[nodiscard]] inline result<void> thaw_tree(directory const& top) {
    auto const each = [](directory const& where) { return unless_gone(thaw(where)); };
    return visit_tree(top, each);
}

/// One attempt to end everything. v2 does it in one step. On v1 a frozen process keeps its SIGKILL until it is thawed,
/// and an unfrozen one may fork away from it: so freeze, kill, thaw. A group that does not freeze is killed all the
/// same.
[[nodiscard]] inline result<void> kill_once(directory const& top) {
    if (top.kind() == version::v2) {
        auto const killed = top.write("cgroup.kill", "1");
        return killed || killed.failure().code != errc::not_supported ? unless_gone(killed) : signal_tree(top, SIGKILL);
    }
    std::string unused;
    bool const can_freeze = static_cast<bool>(top.read("freezer.state", unused));
    if (can_freeze) static_cast<void>(freeze(top, milliseconds(20)));
    auto const sent = signal_tree(top, SIGKILL);
    auto const thawed = can_freeze ? thaw_tree(top) : result<void>();
    return sent ? thawed : sent;
}

}  // namespace detail

/// The processes in the group and below it.
[[nodiscard]] inline result<std::vector<int>> members_of(directory const& top) {
    std::vector<int> all;
    auto const collect = [&](directory const& where) -> result<void> {
        std::string text;
        auto const listed = where.read("cgroup.procs", text);
        if (!listed)
            return listed.failure().system == EOPNOTSUPP ? result<void>() : detail::unless_gone(listed.failure());
        auto const pids = parse_pids(text);
        all.insert(all.end(), pids.begin(), pids.end());
        return {};
    };
    if (auto const visited = detail::visit_tree(top, collect); !visited) return visited.failure();
    std::ranges::sort(all);
    return all;
}

/// Whether anything lives in the group or below it.
[[nodiscard]] inline result<bool> is_populated(directory const& top) {
    if (top.kind() == version::v2) {
        std::string text;
        auto const events = top.read("cgroup.events", text);
        if (!events) return events.failure().code == errc::gone ? result<bool>(false) : result<bool>(events.failure());
        return keyed_number(text, "populated") != 0;
    }
    auto const members = members_of(top);
    if (!members) return members.failure();
    return !members->empty();
}

/// SIGKILLs everything in the group and below it until nothing is left. Error: timed_out.
[[nodiscard]] inline result<void> kill_tree(directory const& top, nanoseconds at_most) {
    nanoseconds const deadline = top.machine().now() + at_most;
    detail::backoff pause;
    for (;;) {
        auto const populated = is_populated(top);
        if (!populated) return populated.failure();
        if (!*populated) return {};
        if (auto const killed = detail::kill_once(top); !killed) return killed;
        if (!pause.wait(top.machine(), deadline))
            return make_error(errc::timed_out, "kill", top.path(), 0, detail::late_remedy);
    }
}

[[nodiscard]] inline result<void> remove_tree(directory const& parent, std::string const& name, std::uint64_t inode,
                                              nanoseconds at_most);

namespace detail {

[[nodiscard]] inline bool is_absence(error const& why) noexcept { return why.system == ENOENT || why.system == ENODEV; }

[[nodiscard]] inline result<void> remove_once(directory const& parent, std::string const& name, std::uint64_t inode,
                                              nanoseconds deadline) {
    auto const top = parent.child(name);
    if (!top) {
        // No descriptor left: an empty group can be removed unopened
        bool const any = inode == 0 && !is_absence(top.failure());
        return any && parent.remove(name) ? result<void>() : top.failure();
    }
    if (inode != 0 && top->inode() != inode) return {};
    auto const children = top->list();
    if (!children && children.failure().code == errc::limit)
        return parent.remove(name);  // which also needs no descriptor
    if (!children) return children.failure();
    for (std::string const& child : *children)
        if (auto const removed = remove_tree(*top, child, 0, deadline - parent.machine().now()); !removed)
            return removed;
    return parent.remove(name);
}

}  // namespace detail

/// Removes the group `name` below `parent`, with all groups below it, as long as it still is the group `inode` (0:
/// whichever it is). One that is not there, or is another of the same name, counts as removed. EBUSY right after the
/// last process died passes: it is tried again until the deadline, and anything else a few times.
[[nodiscard]] inline result<void> remove_tree(directory const& parent, std::string const& name, std::uint64_t inode,
                                              nanoseconds at_most) {
    nanoseconds const deadline = parent.machine().now() + at_most;
    detail::backoff pause;
    int absences = 0;  // one may be of another thing than the group; a second time it is the group
    for (int turn = 1;; ++turn) {
        result<void> const removed = detail::remove_once(parent, name, inode, deadline);
        bool const absent = !removed && detail::is_absence(removed.failure());
        absences += absent ? 1 : 0;
        if (removed || absences == 2) return {};
        bool const again = absent || removed.failure().code == errc::busy || turn < 3;
        if (!again || (!absent && !pause.wait(parent.machine(), deadline))) return removed;
    }
}

/// A new group without an owner. The destructor removes it unless it was kept, also without
/// memory: an empty group goes by its name alone.
class fresh_group {
    directory const* parent_;
    std::string const& name_;
    nanoseconds at_most_;

public:
    fresh_group(directory const& parent, std::string const& name, nanoseconds at_most) noexcept
        : parent_(&parent), name_(name), at_most_(at_most) {}
    fresh_group(fresh_group const&) = delete;
    fresh_group& operator=(fresh_group const&) = delete;
    ~fresh_group() {
        if (parent_ == nullptr) return;
        try {
            static_cast<void>(remove_tree(*parent_, name_, 0, at_most_));
        } catch (std::bad_alloc const&) {
            static_cast<void>(parent_->remove(name_));
        }
    }
    void keep() noexcept { parent_ = nullptr; }
};

}  // namespace ration::cgroup
