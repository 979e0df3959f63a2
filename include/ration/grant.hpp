// SPDX-License-Identifier: BSL-1.0
/// Grants: the only verb a policy has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/resource.hpp>

namespace ration {

/// "Job (row) holds `amount` of `resource` on `node` (row) from now on." Idempotent; 0 releases; what is not mentioned
/// stays. The layout is that of the plugin ABI and never changes.
struct grant {
    std::uint32_t job = 0;       ///< row of the jobs table of this tick
    std::uint32_t node = 0;      ///< row of the nodes table of this tick
    std::uint16_t resource = 0;  ///< resource_id
    std::uint16_t reason = 0;    ///< the policy's own code, for explanations: an index into its `reasons`
    std::uint32_t group = 0;     ///< the rows of one job, or of one non-zero group, are applied all or none
    std::int64_t amount = 0;     ///< in the resource's unit
    friend constexpr bool operator==(grant const&, grant const&) noexcept = default;
};
static_assert(sizeof(grant) == 24);

namespace detail {

/// Job and node in one word, and what is neither that nor the amount in another: fields beside each other that
/// compilers read at once.
[[nodiscard]] constexpr std::uint64_t place_word(grant const& g) noexcept {
    return g.job | std::uint64_t{g.node} << 32;
}
[[nodiscard]] constexpr std::uint64_t kind_word(grant const& g) noexcept {
    return g.resource | std::uint64_t{g.reason} << 16 | std::uint64_t{g.group} << 32;
}

}  // namespace detail

/// A list of the rows that differ from what stood in their places before; one that is longer than `capacity` is not
/// complete. Whoever waits for the answer then takes all rows, and may begin with those in front while others are still
/// written.
struct changed_rows {
    static constexpr std::uint64_t anew = ~std::uint64_t{0};

    std::uint32_t* row = nullptr;
    std::size_t capacity = 0, count = 0;
    std::uint64_t* written = nullptr;  ///< so many rows in front stay as they are, or `anew`; null where nobody asks

    /// False when the list is full.
    [[nodiscard]] bool note(std::size_t at) noexcept {
        if (count < capacity) row[count] = static_cast<std::uint32_t>(at);
        return ++count <= capacity;
    }
    void give_up() noexcept { count = capacity + 1; }
    void emit(std::uint64_t rows) const noexcept {
        if (written != nullptr) __atomic_store_n(written, rows, __ATOMIC_RELEASE);
    }
    /// The rows are written again after all.
    void roll_back_devices() noexcept {
        give_up();
        if (written != nullptr && *written != 0) emit(anew);
    }
};

/// Where a policy writes its grants: a fixed space that the host owns.
class grants {
    // Places rather than counts: writing a grant changes no pointer, as every compiler knows, so these are not read
    // again for each row.
    grant *first_ = nullptr, *next_ = nullptr, *last_ = nullptr;
    /// Up to here a row is just written, or compared and written if it differs
    grant *simple_ = nullptr, *compared_ = nullptr;
    changed_rows* changed_ = nullptr;
    std::span<grant const> shown_;  ///< the rows, when they lie elsewhere
    bool by_rows_ = false, overflowed_ = false;

public:
    explicit grants(std::span<grant> space) noexcept
        : first_(space.data()), next_(first_), last_(first_ + space.size()), simple_(last_) {}
    /// Writes only what differs from what stands there, and lists it: most rows are those of the last tick, and who
    /// shares the space with another core pays for each line that it writes to.
    grants(std::span<grant> space, changed_rows& changed) noexcept
        : first_(space.data()), next_(first_), last_(first_ + space.size()), compared_(last_), changed_(&changed) {}

    /// Adds one row; false when the space is full, and then the whole tick is refused.
    [[nodiscard]] bool add(grant const& g) noexcept {
        if (next_ >= simple_) {
            if (next_ < compared_) [[likely]]
                return add_if_changed(g);
            if (next_ == last_) {
                overflowed_ = true;
                return false;
            }
            *this = with_more_room(*this);
        }
        *next_++ = g;
        return true;
    }

    [[nodiscard]] bool set(std::size_t job, std::size_t node, resource_id resource, std::int64_t amount,
                           std::uint16_t reason = 0) noexcept {
        return add({static_cast<std::uint32_t>(job), static_cast<std::uint32_t>(node),
                    static_cast<std::uint16_t>(resource), reason, 0, amount});
    }

    /// So many rows can still be added.
    [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(last_ - next_); }
    /// The space behind the rows, for an answer that is written there as a whole, and `commit` afterwards. `n` is at
    /// most its size.
    [[nodiscard]] std::span<grant> unused() noexcept {
        if (shown_.data() != nullptr) take_over();
        if (changed_ != nullptr) changed_->give_up();
        return {next_, room()};
    }
    void commit(std::size_t n) noexcept { next_ += n; }
    /// Whoever asks goes by `rows()` alone and never looks into the space itself, so that an answer may lie elsewhere.
    void read_by_rows() noexcept { by_rows_ = true; }
    /// A whole answer that lies elsewhere, and stays there until the policy is asked again: it is `rows` from now on.
    /// At most `room` rows. False, and nothing has happened, when it has to be written into the space: there are rows
    /// already, or somebody reads that.
    [[nodiscard]] bool show(std::span<grant const> rows) noexcept {
        if (!by_rows_ || next_ != first_) return false;
        if (!rows.empty()) {
            shown_ = rows;
            next_ = first_ + rows.size();
            simple_ = compared_ = first_;
        }
        return true;
    }

    [[nodiscard]] std::span<grant const> rows() const noexcept {
        if (shown_.data() != nullptr) return shown_;
        return {first_, size()};
    }
    /// Of `rows`.
    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(next_ - first_); }
    [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }
    void clear() noexcept {
        next_ = first_;
        overflowed_ = false;
        shown_ = {};
        if (changed_ == nullptr) return write_all();
        changed_->roll_back_devices();
        compared_ = first_;
        simple_ = last_;  // and nobody is told any more
    }

private:
    /// In three words, without a branch for each member.
    [[nodiscard]] static bool differ(grant const& a, grant const& b) noexcept {
        using detail::place_word, detail::kind_word;
        return ((place_word(a) ^ place_word(b)) | (kind_word(a) ^ kind_word(b)) |
                static_cast<std::uint64_t>(a.amount ^ b.amount)) != 0;
    }

    [[nodiscard]] bool add_if_changed(grant const& g) noexcept {
        if (differ(*next_, g)) {
            // From here on, it is quicker to write them all
            if (!changed_->note(static_cast<std::size_t>(next_ - first_))) compared_ = first_;
            *next_ = g;
        }
        ++next_;
        return true;
    }
    /// Where the rows lie elsewhere, they move here; where somebody waits for them, he is told of a few at a time. By
    /// value, so that a compiler may keep all of this in registers where it writes row after row.
    [[nodiscard, gnu::cold, gnu::noinline]] static grants with_more_room(grants rows) noexcept {
        if (rows.changed_ == nullptr) {
            rows.take_over();
            return rows;
        }
        constexpr std::ptrdiff_t at_once = 256;
        rows.changed_->emit(rows.size());
        rows.simple_ = rows.last_ - rows.next_ > at_once ? rows.next_ + at_once : rows.last_;
        return rows;
    }
    void take_over() noexcept {
        for (std::size_t i = 0; first_ + i != next_; ++i) first_[i] = shown_[i];
        write_all();
    }
    void write_all() noexcept {
        shown_ = {};
        simple_ = last_;
    }
};

}  // namespace ration
