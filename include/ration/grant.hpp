// SPDX-License-Identifier: BSL-1.0
/// Grants: the only verb a policy has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/resource.hpp>

namespace ration {

/// "Job (row) holds `amount` of `resource` on `node` (row) from now on." Idempotent; 0 releases; what is not mentioned stays.
/// The layout is that of the plugin ABI and never changes.
struct grant {
    std::uint32_t job = 0;       ///< row of the jobs table of this tick
    std::uint32_t node = 0;      ///< row of the nodes table of this tick
    std::uint16_t resource = 0;  ///< row of the resources table
    std::uint16_t reason = 0;    ///< the policy's own code, for explanations: an index into its `reasons`
    std::uint32_t group = 0;     ///< the rows of one job, or of one non-zero group, are applied all or none
    std::int64_t amount = 0;     ///< in the resource's unit
    friend constexpr bool operator==(grant const&, grant const&) noexcept = default;
};
static_assert(sizeof(grant) == 24);

/// Where a policy writes its grants: a fixed space that the host owns.
class grants {
    std::span<grant> space_;
    std::size_t count_ = 0;
    bool overflowed_ = false;

public:
    explicit grants(std::span<grant> space) noexcept : space_(space) {}

    /// Adds one row; false when the space is full, and then the whole tick is refused.
    [[nodiscard]] bool add(grant const& g) noexcept {
        if (count_ == space_.size()) {
            overflowed_ = true;
            return false;
        }
        space_[count_++] = g;
        return true;
    }

    [[nodiscard]] bool set(std::size_t job, std::size_t node, resource_id resource, std::int64_t amount,
                           std::uint16_t reason = 0) noexcept {
        return add({static_cast<std::uint32_t>(job), static_cast<std::uint32_t>(node), static_cast<std::uint16_t>(resource), reason,
                    0, amount});
    }

    /// The space behind the rows, for an answer that is written there as a whole, and `commit` afterwards. `n` is at most its size.
    [[nodiscard]] std::span<grant> unused() noexcept { return {space_.data() + count_, space_.size() - count_}; }
    void commit(std::size_t n) noexcept { count_ += n; }

    [[nodiscard]] std::span<grant const> rows() const noexcept { return {space_.data(), count_}; }
    [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }
    void clear() noexcept { count_ = 0, overflowed_ = false; }
};

}  // namespace ration
