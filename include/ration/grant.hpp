// SPDX-License-Identifier: BSL-1.0
/// Grants: the answer of a policy.
///
/// A policy writes rows of type `grant` into a `grants` object. The host validates each row
/// (host/check.hpp) before it applies it. The class also serves the two fast paths of the host:
/// rows that did not change since the last tick, and answers that the policy keeps in memory of its
/// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/resource.hpp>

namespace ration {

/// "Job (row) holds `amount` of `resource` on `node` (row) from now on."
///
/// Idempotent. An amount of 0 releases the resource; a job, node and resource that no row names
/// keep their amount. The layout is that of the plugin ABI and never changes.
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

// Job and node in one word; resource, reason and group in another. Compilers read fields that are
// beside each other at once.
[[nodiscard]] constexpr std::uint64_t place_word(grant const& g) noexcept {
    return g.job | std::uint64_t{g.node} << 32;
}
[[nodiscard]] constexpr std::uint64_t kind_word(grant const& g) noexcept {
    return g.resource | std::uint64_t{g.reason} << 16 | std::uint64_t{g.group} << 32;
}

}  // namespace detail

/// A list of the rows that differ from the rows that were in the same space before. A list with
/// more rows than `capacity` is incomplete, and the reader then takes all rows. A reader on another
/// core may begin with the first rows while the policy still writes.
struct changed_rows {
    /// Value of `*written` after rows that had been published were written a second time.
    static constexpr std::uint64_t rewritten = ~std::uint64_t{0};

    /// The indices of the changed rows, in ascending order.
    std::uint32_t* row = nullptr;
    /// The size of `row`, and the number of changes so far; more than `capacity` means
    /// "incomplete".
    std::size_t capacity = 0, count = 0;
    /// The number of rows in front that are final, or `rewritten`. Written with release order.
    std::uint64_t* written = nullptr;  ///< null if no reader waits

    /// Adds the index of a row that changed. Returns false if the list is full, which makes it
    /// incomplete.
    [[nodiscard]] bool note(std::size_t at) noexcept {
        if (count < capacity) row[count] = static_cast<std::uint32_t>(at);
        return ++count <= capacity;
    }
    /// Marks the list as incomplete: the reader takes all rows.
    void give_up() noexcept { count = capacity + 1; }
    /// Publishes that the first `rows` rows are final. No effect if no reader waits.
    void emit(std::uint64_t rows) const noexcept {
        if (written != nullptr) __atomic_store_n(written, rows, __ATOMIC_RELEASE);
    }
    /// Withdraws rows that were published, because they are written again.
    void withdraw() noexcept {
        give_up();
        if (written != nullptr && *written != 0) emit(rewritten);
    }
};

/// The space in which a policy writes its grants; the host owns the memory.
///
/// Example, inside `decide`:
/// ~~~{.cpp}
/// if (!out.set(job, node, ration::resource_id::gpu, 2)) return ration::status::capacity;
/// ~~~
///
/// One thread writes. Adding a row is O(1) and never allocates.
class grants {
    // Pointers rather than counts: writing a grant changes no pointer, and every compiler can prove
    // that, so it does not read these again for each row.
    grant *first_ = nullptr, *next_ = nullptr, *last_ = nullptr;
    /// Up to `simple_` a row is written; up to `compared_` it is compared first, and written if it
    /// differs.
    grant *simple_ = nullptr, *compared_ = nullptr;
    changed_rows* changed_ = nullptr;
    std::span<grant const> shown_;  ///< the rows, if they are in the policy's own memory
    bool by_rows_ = false, overflowed_ = false;

public:
    /// An empty answer in `space`. At most `space.size()` rows fit.
    explicit grants(std::span<grant> space) noexcept
        : first_(space.data()), next_(first_), last_(first_ + space.size()), simple_(last_) {}
    /// Writes only rows that differ from the row already there, and lists them in `changed`. Most
    /// rows are those of the last tick. A write to memory that another core reads costs a transfer
    /// of the cache line.
    grants(std::span<grant> space, changed_rows& changed) noexcept
        : first_(space.data()), next_(first_), last_(first_ + space.size()), compared_(last_), changed_(&changed) {}

    /// Adds one row. Returns false if the space is full; the host then rejects the answer of the
    /// whole tick.
    [[nodiscard]] bool add(grant const& g) noexcept {
        // One comparison in the common case; all other modes begin behind `simple_`.
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

    /// Adds the row "job holds `amount` of `resource` on node". `reason` is an index into
    /// `meta::reasons`. Returns false if the space is full.
    [[nodiscard]] bool set(std::size_t job, std::size_t node, resource_id resource, std::int64_t amount,
                           std::uint16_t reason = 0) noexcept {
        return add({static_cast<std::uint32_t>(job), static_cast<std::uint32_t>(node),
                    static_cast<std::uint16_t>(resource), reason, 0, amount});
    }

    /// The number of rows that can still be added.
    [[nodiscard]] std::size_t room() const noexcept { return static_cast<std::size_t>(last_ - next_); }
    /// The space behind the rows, for an answer that is copied there as a whole. Call `commit` with
    /// the number of rows that were written, at most the size of the span.
    [[nodiscard]] std::span<grant> unused() noexcept {
        if (shown_.data() != nullptr) take_over();
        if (changed_ != nullptr) changed_->give_up();
        return {next_, room()};
    }
    /// Adds the first `n` rows of `unused()` to the answer.
    void commit(std::size_t n) noexcept { next_ += n; }
    /// Declares that the reader uses `rows()` only and never the space, so that `show` may return
    /// rows elsewhere.
    void read_by_rows() noexcept { by_rows_ = true; }
    /// Makes rows in the policy's own memory the whole answer. They have to remain valid until the
    /// policy is called again, and there are at most `room()` of them. Returns false, without an
    /// effect, if the rows have to be copied into the space: rows were added before, or the reader
    /// reads the space.
    [[nodiscard]] bool show(std::span<grant const> rows) noexcept {
        if (!by_rows_ || next_ != first_) return false;
        if (!rows.empty()) {
            shown_ = rows;
            next_ = first_ + rows.size();
            simple_ = compared_ = first_;
        }
        return true;
    }

    /// The rows of the answer, in the order in which they were added.
    [[nodiscard]] std::span<grant const> rows() const noexcept {
        if (shown_.data() != nullptr) return shown_;
        return {first_, size()};
    }
    /// The number of rows.
    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(next_ - first_); }
    /// True if a row did not fit. The answer is then rejected.
    [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }
    /// Discards all rows, so that the policy can answer again.
    void clear() noexcept {
        next_ = first_;
        overflowed_ = false;
        shown_ = {};
        if (changed_ == nullptr) return write_all();
        changed_->withdraw();
        compared_ = first_;
        simple_ = last_;  // rows are no longer listed
    }

private:
    /// Compares two rows in three words, without a branch for each member.
    [[nodiscard]] static bool differ(grant const& a, grant const& b) noexcept {
        using detail::place_word, detail::kind_word;
        return ((place_word(a) ^ place_word(b)) | (kind_word(a) ^ kind_word(b)) |
                static_cast<std::uint64_t>(a.amount ^ b.amount)) != 0;
    }

    [[nodiscard]] bool add_if_changed(grant const& g) noexcept {
        if (differ(*next_, g)) {
            // The list is full: writing every row is faster than comparing.
            if (!changed_->note(static_cast<std::size_t>(next_ - first_))) compared_ = first_;
            *next_ = g;
        }
        ++next_;
        return true;
    }
    /// Continues behind `simple_`: moves rows of `show` into the space, or publishes 256 rows at a
    /// time for a waiting reader. By value, so that a compiler can keep the object in registers in
    /// a loop that adds rows.
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
    /// Copies the rows of `show` into the space.
    void take_over() noexcept {
        for (std::size_t i = 0; first_ + i != next_; ++i) first_[i] = shown_[i];
        write_all();
    }
    /// From here on, `add` writes without a comparison.
    void write_all() noexcept {
        shown_ = {};
        simple_ = last_;
    }
};

}  // namespace ration
