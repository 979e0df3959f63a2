// SPDX-License-Identifier: BSL-1.0
/// The time of a turn of the loop for work whose amount users choose, divided among them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <sys/types.h>
#include <vector>

#include <ration/units.hpp>

namespace ration::program {

/// Each user has an equal part of the time, however many items of work the user has. Users and items for which no time
/// was left are the first ones of the next turn. A piece of work can take longer than its part.
class user_turns {
public:
    static constexpr nanoseconds longest = milliseconds(5);  ///< of a turn

    struct item {
        uid_t user = 0;
        std::size_t slot = 0;  ///< of the caller
    };
    /// Does a small piece of the work; true if there may be more.
    using work = std::function<bool(std::size_t slot)>;

    /// Works until nothing is left or the time of this turn is used up. `now`: of the turn, in which this can be called
    /// again. O(items log items) besides the pieces.
    void divide(std::vector<item> items, nanoseconds now, work const& piece);

private:
    [[nodiscard]] nanoseconds serve(std::span<item> items, nanoseconds part, work const& piece);

    nanoseconds turn_{-1}, left_{};
    uid_t next_user_ = 0;
    std::map<uid_t, std::size_t> next_slots_;
};

}  // namespace ration::program
