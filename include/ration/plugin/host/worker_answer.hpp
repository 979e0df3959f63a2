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

/// Brought up to date from each answer: with the rows that have changed, when the worker lists them against the answer that is here.
/// What the worker says is data: its numbers are read once, and none leads beyond its own rows and this copy.
class worker_answer {
    std::vector<grant> rows_;
    std::size_t count_ = 0;
    std::size_t most_ = 0;
    std::uint32_t of_ = 0;  // the request that it answers; 0: none

public:
    /// No answer will have more rows. Takes address space only; it is filled as answers come.
    void reserve(std::size_t most) {
        rows_.clear(), rows_.reserve(most);
        most_ = most;
        forget();
    }
    void forget() noexcept { count_ = 0, of_ = 0; }

    /// What the worker may list changes against.
    [[nodiscard]] std::uint32_t known() const noexcept { return of_; }
    [[nodiscard]] std::span<grant const> rows() const noexcept { return {rows_.data(), count_}; }

    /// The answer to `sequence`, at most `space` rows; `shared` is the worker's file. Says what cannot be, and is then of no request; else nothing.
    /// O(rows that have changed).
    [[nodiscard]] std::string_view take(std::byte const* shared, output_places const& places, std::uint32_t sequence, std::size_t space) noexcept {
        auto const& reply = *reinterpret_cast<worker_reply const*>(shared);
        std::uint64_t const count = once(reply.count), changed = once(reply.changed_rows);
        bool const listed = changed != all_rows && of_ != 0;
        forget();
        if (count > space || count > most_) return "says that it wrote more grants than there is space for";
        if (listed && (changed > places.most_changed || count > rows_.size())) return "lists more changes than there can be";
        std::byte const* const from = shared + places.grants;
        if (!listed) {
            if (rows_.size() < count) rows_.resize(count);
            if (count != 0) std::memcpy(rows_.data(), from, count * sizeof(grant));
        }
        auto const* const list = reinterpret_cast<std::uint32_t const*>(shared + places.changed);
        for (std::uint64_t i = 0; listed && i < changed; ++i) {
            std::uint32_t const row = once(list[i]);
            if (row >= count) return "lists a change of a row that is not in its answer";
            std::memcpy(&rows_[row], from + row * sizeof(grant), sizeof(grant));
        }
        count_ = count, of_ = sequence;
        return {};
    }
};

}  // namespace ration::plugin
