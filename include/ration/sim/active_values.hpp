// SPDX-License-Identifier: BSL-1.0
/// A value for each active job of a stream.
///
/// For observers of a run, which get ids and no rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ration::sim {

/// Values by id, in memory that follows the active jobs. Ids ascend, and are added once each.
template <class T>
class active_values {
    struct entry {
        std::uint64_t id : 63;
        std::uint64_t is_gone : 1;
        T value;
    };
    std::vector<entry> entries_;
    std::size_t gone_ = 0;

    static constexpr std::size_t fewest_to_remove = 16;

public:
    /// Adds a job. Precondition: the id is above all others.
    void add(std::uint64_t id, T value) { entries_.push_back({id, 0, value}); }
    /// The value of a job. Precondition: it was added, and not removed. O(log jobs).
    [[nodiscard]] T& operator[](std::uint64_t id) noexcept { return find(id)->value; }
    /// Removes a job. Amortised O(log jobs).
    void remove(std::uint64_t id) {
        find(id)->is_gone = 1;
        ++gone_;
        if (gone_ < fewest_to_remove || gone_ * 4 < entries_.size()) return;
        std::erase_if(entries_, [](entry const& e) { return e.is_gone != 0; });
        gone_ = 0;
    }
    /// The number of jobs.
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size() - gone_; }

private:
    [[nodiscard]] entry* find(std::uint64_t id) noexcept {
        auto const found = std::lower_bound(entries_.begin(), entries_.end(), id,
                                            [](entry const& e, std::uint64_t wanted) { return e.id < wanted; });
        return entries_.data() + (found - entries_.begin());
    }
};

}  // namespace ration::sim
