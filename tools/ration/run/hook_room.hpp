// SPDX-License-Identifier: BSL-1.0
/// The commands of hooks that may start at once, divided among users.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <sys/types.h>

namespace ration::program {

/// None: the user of the run or service, whose places no other user can take.
using hook_user = std::optional<uid_t>;

class hook_room {
    std::size_t own_ = most_of_own, others_ = most_of_others;  // places that are left
    std::map<uid_t, std::size_t> held_;                        // by other users

public:
    static constexpr std::size_t most_of_own = 16, most_of_other_user = 4, most_of_others = 48;

    /// Takes this many places. False: the user has fewer.
    bool take(hook_user const& user, std::size_t count = 1) {
        auto& left = user ? others_ : own_;
        if (left < count) return false;
        if (user) {
            auto& held = held_[*user];
            if (held + count > most_of_other_user) return false;
            held += count;
        }
        left -= count;
        return true;
    }
};

}  // namespace ration::program
