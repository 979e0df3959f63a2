// SPDX-License-Identifier: BSL-1.0
/// The last answer of a worker, in memory of the host's own: nobody checks or uses what the worker can still change.
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

/// Brought up to date from each answer: with the rows that have changed, when the worker lists them against the answer
/// that is here. What the worker says is data: its numbers are read once, and none leads beyond its own rows and this
/// copy.
class worker_answer {
    std::vector<grant> rows_;
    std::size_t count_ = 0;
    std::size_t most_ = 0;
    std::uint32_t of_ = 0;     // the request that it answers; 0: none
    std::size_t fetched_ = 0;  // rows in front are those of the answer that is awaited

public:
    /// No answer will have more rows. Takes address space only; it is filled as answers come.
    void reserve(std::size_t most) {
        rows_.clear();
        rows_.reserve(most);
        most_ = most;
        forget();
    }
    void forget() noexcept {
        count_ = 0;
        of_ = 0;
        fetched_ = 0;
    }

    /// Another answer is asked for; the request whose answer is here, for the worker to list changes against.
    [[nodiscard]] std::uint32_t await() noexcept {
        fetched_ = 0;
        return of_;
    }
    [[nodiscard]] std::span<grant const> rows() const noexcept { return {rows_.data(), count_}; }

    /// Fetches what is written of an answer that is still being written, at most `space` rows: an answer in which all
    /// rows change is on its way while the worker goes on, and what is left when it is done are the last few.
    void fetch(std::byte const* shared, output_paths const& places, std::size_t space) noexcept {
        std::uint64_t const written = once(reinterpret_cast<worker_reply const*>(shared)->written);
        if (written <= fetched_ || written > space || written > most_) return;
        std::size_t const from = fetched_;
        forget();  // what is here is neither the last answer nor the next
        copy(shared, places, from, written);
        fetched_ = written;
    }

    /// The answer to `sequence`, at most `space` rows; `shared` is the worker's file. Says what cannot be, and is then
    /// of no request; else nothing. O(rows that have changed).
    [[nodiscard]] std::string_view take(std::byte const* shared, output_paths const& places, std::uint32_t sequence,
                                        std::size_t space) noexcept {
        auto const& reply = *reinterpret_cast<worker_reply const*>(shared);
        std::uint64_t const count = once(reply.count), changed = once(reply.changed_rows);
        bool const listed = changed != all_rows && of_ != 0;
        std::size_t const fetched = once(reply.written_again) != 0 ? 0 : fetched_;
        forget();
        if (count > space || count > most_) return "says that it wrote more grants than there is space for";
        if (listed && (changed > places.most_changed || count > rows_.size()))
            return "lists more changes than there can be";
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
    void copy(std::byte const* shared, output_paths const& places, std::size_t first, std::size_t last) noexcept {
        if (rows_.size() < last) rows_.resize(last);
        if (first < last)
            std::memcpy(&rows_[first], shared + places.grants + first * sizeof(grant), (last - first) * sizeof(grant));
    }
};

}  // namespace ration::plugin
