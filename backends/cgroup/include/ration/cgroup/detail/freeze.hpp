// SPDX-License-Identifier: BSL-1.0
/// Freezing and thawing one group, with deadlines. After any error on the way to frozen, the group is thawed again.
/// Sources: kernel documents freezer-subsystem (v1) and cgroup-v2 (cgroup.freeze, cgroup.events).
#pragma once

#include <algorithm>
#include <string>

#include <ration/cgroup/detail/values.hpp>
#include <ration/cgroup/directory.hpp>

namespace ration::cgroup {

namespace detail {

inline constexpr char const* late_remedy =
    "a process in the group does not react, perhaps it waits for a disk: look for state D in ps";

[[nodiscard]] inline char const* freeze_file(directory const& where) noexcept {
    return where.kind() == version::v2 ? "cgroup.freeze" : "freezer.state";
}
[[nodiscard]] inline std::string_view freeze_text(directory const& where, bool frozen) noexcept {
    return where.kind() == version::v2 ? (frozen ? "1" : "0") : (frozen ? "FROZEN" : "THAWED");
}

/// v2 reports the change in cgroup.events.
[[nodiscard]] inline result<void> await_frozen_v2(directory const& where, nanoseconds deadline) noexcept {
    io& machine = where.machine();
    std::string text;
    for (;;) {
        if (auto const events = where.read("cgroup.events", text); !events) return events.failure();
        auto const state = keyed_number(text, "frozen");
        if (state == 1) return {};
        if (!state) {
            return make_error(errc::not_supported, "freeze", where.path(), 0,
                              "this kernel cannot freeze v2 groups: use 5.2 or later");
        }
        nanoseconds const left = deadline - machine.now();
        if (left.count <= 0) return make_error(errc::timed_out, "freeze", where.path(), 0, late_remedy);
        int const waited = machine.wait_change(where.handle(), "cgroup.events", text, left);
        if (waited != 0 && waited != ETIMEDOUT) return where.failure("wait for", "cgroup.events", waited);
    }
}

/// v1 has to be asked. While processes fork, FREEZING may never become FROZEN: thawing for a moment lets them finish.
[[nodiscard]] inline result<void> await_frozen_v1(directory const& where, nanoseconds deadline) noexcept {
    io& machine = where.machine();
    std::string text;
    for (int turn = 1;; ++turn) {
        auto const state = where.read("freezer.state", text);
        if (!state) return state.failure();
        if (*state == "FROZEN") return {};
        if (machine.now() >= deadline) return make_error(errc::timed_out, "freeze", where.path(), 0, late_remedy);
        if (turn % 50 == 0) {
            if (auto const thawed = where.write("freezer.state", "THAWED"); !thawed) return thawed;
        }
        machine.sleep(milliseconds(1));
        if (auto const again = where.write("freezer.state", "FROZEN"); !again) return again;
    }
}

}  // namespace detail

/// Whether the group itself was ordered to freeze, not a group above it.
[[nodiscard]] inline result<bool> is_frozen(directory const& where) noexcept {
    std::string text;
    auto const state = where.read(where.kind() == version::v2 ? "cgroup.freeze" : "freezer.self_freezing", text);
    if (!state) return state.failure();
    return *state == "1";
}

/// Returns when everything in the group runs again, or may run as soon as a frozen group above it does.
[[nodiscard]] inline result<void> thaw(directory const& where) noexcept {
    return where.write(detail::freeze_file(where), detail::freeze_text(where, false));
}

/// Returns when nothing in the group runs any more. On any error the group is left thawed.
[[nodiscard]] inline result<void> freeze(directory const& where, nanoseconds at_most) noexcept {
    nanoseconds const deadline = where.machine().now() + at_most;
    auto frozen = where.write(detail::freeze_file(where), detail::freeze_text(where, true));
    if (frozen) {
        frozen = where.kind() == version::v2 ? detail::await_frozen_v2(where, deadline)
                                             : detail::await_frozen_v1(where, deadline);
    }
    if (!frozen) static_cast<void>(thaw(where));  // the first error is reported
    return frozen;
}

/// Thaws in its destructor unless it was released.
class thaw_guard {
    directory const* where_;

public:
    explicit thaw_guard(directory const& where) noexcept : where_(&where) {}
    thaw_guard(thaw_guard const&) = delete;
    thaw_guard& operator=(thaw_guard const&) = delete;
    ~thaw_guard() {
        if (where_ != nullptr) static_cast<void>(thaw(*where_));
    }
    void release() noexcept { where_ = nullptr; }
};

}  // namespace ration::cgroup
