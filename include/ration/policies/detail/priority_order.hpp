// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// A sorted list of jobs that stays sorted from tick to tick.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <ration/buffer.hpp>
#include <ration/detail/sort.hpp>

namespace ration::policies::detail {

/// A sort key; the lower one comes first. Members are never NaN.
struct priority {
    double first = 0;
    std::int64_t second = 0;
};

/// The turn of a job among those of the same rank. Running jobs come before waiting ones, so that
/// no job is stopped for an equal one; then the job that started first; jobs that never ran come
/// last. `started` in ns, -1 = not yet.
[[nodiscard]] constexpr std::int64_t turn_of(std::int64_t held, std::int64_t started) noexcept {
    constexpr std::int64_t never = 0x7FFF'FFFF'FFFF'FFFF, waiting = std::int64_t{1} << 62;
    if (started < 0) return never;
    return held > 0 ? started : waiting | started;
}

/// The rows of the jobs table by priority; ties go to the job submitted first. It remembers the
/// last order, which usually changes little: O(rows) then, and O(rows log rows) at worst.
class priority_order {
public:
    /// A row and its key.
    struct entry {
        priority key;
        std::uint32_t row;
    };

    /// Allocates for this number of jobs.
    void reserve(std::size_t jobs) noexcept {
        ids_.reserve(jobs);
        entries_.reserve(2 * jobs);
        moved_.reserve(jobs);
    }

    /// Sorts the rows. `key(row)` is called once for each row. Precondition: `ids` ascend.
    template <class Key>
    [[nodiscard]] std::span<entry const> sort(std::span<std::uint64_t const> ids, Key const& key) noexcept {
        follow(ids);
        for (auto& e : entries_) e.key = key(std::size_t{e.row});
        if (!insert_in_order()) ration::detail::sort(entries_.data(), entries_.size(), before);
        return entries_.view();
    }

private:
    static constexpr std::uint32_t gone = 0xFFFF'FFFF;
    buffer<std::uint64_t> ids_;
    buffer<entry> entries_;
    buffer<std::uint32_t> moved_;  // by former row: where the job is now

    [[nodiscard]] static bool before(entry const& a, entry const& b) noexcept {
        if (a.key.first != b.key.first) return a.key.first < b.key.first;
        return a.key.second != b.key.second ? a.key.second < b.key.second : a.row < b.row;
    }

    /// Updates the rows: jobs that ended are removed, and new ones are appended.
    void follow(std::span<std::uint64_t const> ids) noexcept {
        if (ids.size() == ids_.size() && (ids.empty() || std::memcmp(ids.data(), ids_.data(), ids.size_bytes()) == 0))
            return;
        std::size_t const former = ids_.size();
        moved_.clear();
        std::uint32_t* const moved = moved_.extend(former);
        // The buffer is large enough: new entries are collected behind the present ones
        entry* const all = entries_.extend(ids.size());
        std::size_t row = 0, fresh = 0;
        for (std::size_t old = 0; old < former; ++old) {
            for (; row < ids.size() && ids[row] < ids_[old]; ++row)
                all[fresh++] = {{}, static_cast<std::uint32_t>(row)};
            moved[old] = row < ids.size() && ids[row] == ids_[old] ? static_cast<std::uint32_t>(row++) : gone;
        }
        for (; row < ids.size(); ++row) all[fresh++] = {{}, static_cast<std::uint32_t>(row)};
        std::size_t kept = 0;
        for (std::size_t i = 0; i < former; ++i)
            if (std::uint32_t const now = moved[entries_[i].row]; now != gone) {
                entries_[kept].row = now;
                ++kept;
            }
        for (std::size_t i = 0; i < fresh; ++i) entries_[kept++] = all[i];
        entries_.resize(kept);
        ids_.assign(ids.data(), ids.size());
    }

    /// Insertion sort. Returns false, to let another sort continue, if too much has changed.
    [[nodiscard]] bool insert_in_order() noexcept {
        std::size_t moves = 8 * entries_.size() + 64;
        for (std::size_t i = 1; i < entries_.size(); ++i) {
            if (!before(entries_[i], entries_[i - 1])) continue;
            entry const e = entries_[i];
            std::size_t place = i;
            for (; place > 0 && before(e, entries_[place - 1]); --place) entries_[place] = entries_[place - 1];
            entries_[place] = e;
            // A budget of eight moves per job keeps the sort linear.
            if (i - place > moves) return false;
            moves -= i - place;
        }
        return true;
    }
};

}  // namespace ration::policies::detail
