// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The nodes on which learners are placed.
///
/// Part of learners.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ration/policies/detail/placement.hpp>
#include <ration/resource.hpp>

namespace ration::policies {

/// The node for a learner: the fullest or the emptiest on which it fits.
enum class learner_placement : std::uint8_t { pack, spread };
/// The words of `learner_placement` in a configuration, in the order of its values.
inline constexpr std::string_view learner_placement_names[] = {"pack", "spread"};
/// Found by the adapter of parameters (adapt/parameters.hpp).
[[nodiscard]] constexpr std::span<std::string_view const> words_of(learner_placement) noexcept {
    return learner_placement_names;
}

namespace detail {

/// The size of learners, and the node for the next one.
class learner_nodes {
    std::int64_t learner_ = 1;
    std::int64_t most_free_ = max_amount;  // an upper bound of the free devices of every node
    learner_placement where_ = learner_placement::pack;

public:
    /// Starts a plan with learners of this size.
    void begin(std::int64_t learner, learner_placement where) noexcept {
        learner_ = learner;
        where_ = where;
        forget();
    }
    /// Learners have been freed. Until then nodes only fill.
    void forget() noexcept { most_free_ = max_amount; }
    /// The size of a learner, in devices.
    [[nodiscard]] std::int64_t size() const noexcept { return learner_; }
    /// The devices of the next learner of a job that lacks this number.
    [[nodiscard]] std::int64_t next(std::int64_t lacks) const noexcept { return lacks < learner_ ? lacks : learner_; }
    /// The node for a learner of this size, or `nowhere`.
    [[nodiscard]] std::size_t find(placement const& places, std::int64_t devices) noexcept {
        if (devices > most_free_) return placement::nowhere;
        std::size_t const node = where_ == learner_placement::pack ? places.tightest(devices) : places.emptiest();
        if (node != placement::nowhere && places.free(node) >= devices) return node;
        most_free_ = devices - 1;
        return placement::nowhere;
    }
};

}  // namespace detail
}  // namespace ration::policies
