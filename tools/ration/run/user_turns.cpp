// SPDX-License-Identifier: BSL-1.0
#include "run/user_turns.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <ration/process/proc.hpp>

namespace ration::program {

void user_turns::divide(std::vector<item> items, nanoseconds now, work const& piece) {
    if (std::exchange(turn_, now) != now) left_ = longest;
    std::ranges::sort(items, {}, [](item const& one) { return std::pair(one.user, one.slot); });
    std::vector<std::span<item>> users;
    for (auto at = items.begin(); at != items.end();) {
        auto const end = std::ranges::upper_bound(at, items.end(), at->user, {}, &item::user);
        users.emplace_back(at, end);
        at = end;
    }
    std::ranges::rotate(
        users, std::ranges::lower_bound(users, next_user_, {}, [](auto const& own) { return own.front().user; }));
    auto waiting = static_cast<std::int64_t>(users.size());
    for (auto const& own : users) {
        next_user_ = own.front().user;
        if (left_.count <= 0) return;
        left_ = left_ - serve(own, {left_.count / waiting--}, piece);
    }
}

/// Returns the time that it took.
nanoseconds user_turns::serve(std::span<item> items, nanoseconds part, work const& piece) {
    auto const began = process::now();
    auto& next = next_slots_[items.front().user];
    std::ranges::rotate(items, std::ranges::lower_bound(items, next, {}, &item::slot));
    for (auto const& one : items) {
        next = one.slot + 1;
        for (bool more = true; more;) {
            more = piece(one.slot);
            if (process::now() - began >= part) return process::now() - began;
        }
    }
    return process::now() - began;
}

}  // namespace ration::program
