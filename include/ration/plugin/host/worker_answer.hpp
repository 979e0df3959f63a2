// SPDX-License-Identifier: BSL-1.0
/// The last answer of a worker, in the host's own memory: the host validates and uses only data
/// that the worker can no longer change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <ration/grant.hpp>
#include <ration/plugin/host/worker_layout.hpp>

namespace ration::plugin {

/// A copy of the last answer that is updated by each new one. If the worker lists the changed rows
/// relative to this copy, only those are copied. Data of the worker are not trusted: its numbers
/// are read once, and none leads outside its rows and this copy.
class worker_answer {
    std::vector<grant> rows_;
    std::size_t count_ = 0;
    std::size_t most_ = 0;
    std::uint32_t of_ = 0;     // the request that it answers; 0 = none
    std::size_t fetched_ = 0;  // first rows that are already those of the awaited answer

public:
    /// Reserves address space for the largest answer; memory is used as answers come.
    void reserve(std::size_t most) {
        rows_.clear();
        rows_.reserve(most);
        most_ = most;
        forget();
    }
    /// Forgets the answer, so that the next one is copied entirely.
    void forget() noexcept {
        count_ = 0;
        of_ = 0;
        fetched_ = 0;
    }

    /// Called before a request. Returns the request whose answer is here, to which the worker can
    /// list changes.
    [[nodiscard]] std::uint32_t await() noexcept {
        fetched_ = 0;
        return of_;
    }
    /// The rows of the answer.
    [[nodiscard]] std::span<grant const> rows() const noexcept { return {rows_.data(), count_}; }

    /// Copies the rows that are final in an answer which is still being written, at most `space`
    /// rows. So an answer that changes all rows is copied while the worker continues, and only the
    /// last rows are left at its end.
    void fetch(std::byte const* shared, output_layout const& places, std::size_t space) noexcept {
        std::uint64_t const written = once(reinterpret_cast<worker_reply const*>(shared)->written);
        if (written <= fetched_ || written > space || written > most_) return;
        std::size_t const from = fetched_;
        forget();  // the copy is now neither the last answer nor the next
        copy(shared, places, from, written);
        fetched_ = written;
    }

    /// Takes the answer to request `sequence`, at most `space` rows; `shared` is the worker's file.
    /// Returns a message if the answer is invalid, and then has no answer; otherwise an empty text.
    /// O(changed rows).
    [[nodiscard]] std::string_view take(std::byte const* shared, output_layout const& places, std::uint32_t sequence,
                                        std::size_t space) noexcept {
        auto const& reply = *reinterpret_cast<worker_reply const*>(shared);
        std::uint64_t const count = once(reply.count), changed = once(reply.changed_rows);
        bool const listed = changed != all_rows && of_ != 0;
        std::size_t const fetched = once(reply.written_again) != 0 ? 0 : fetched_;
        forget();
        if (count > space || count > most_) return "reports more grants than there is space for";
        if (listed && (changed > places.most_changed || count > rows_.size()))
            return "lists more changes than there can be";
        // Rows that were fetched during the answer are final unless the worker wrote them again.
        if (!listed) copy(shared, places, fetched, count);
        std::byte const* const from = shared + places.grants;
        auto const* const list = reinterpret_cast<std::uint32_t const*>(shared + places.changed);
        for (std::uint64_t i = 0; listed && i < changed; ++i) {
            std::uint32_t const row = once(list[i]);
            if (row >= count) return "lists a change of a row that is not in its answer";
            std::memcpy(&rows_[row], from + row * sizeof(grant), sizeof(grant));
        }
        count_ = count;
        of_ = sequence;
        return {};
    }

private:
    /// Copies a range of rows.
    void copy(std::byte const* shared, output_layout const& places, std::size_t first, std::size_t last) noexcept {
        if (rows_.size() < last) rows_.resize(last);
        if (first < last)
            std::memcpy(&rows_[first], shared + places.grants + first * sizeof(grant), (last - first) * sizeof(grant));
    }
};

}  // namespace ration::plugin
