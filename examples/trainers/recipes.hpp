// SPDX-License-Identifier: BSL-1.0
/// The meaning of each name on the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "models.hpp"

namespace trainers {

struct recipe {
    std::string_view name;
    std::string_view about;
    std::size_t batch;
    std::uint64_t steps;
    double rate;  ///< Adam's
    std::unique_ptr<model<float>> (*build)(rng& random);
};

[[nodiscard]] std::span<recipe const> recipes();

/// Null when there is none of that name.
[[nodiscard]] recipe const* find_recipe(std::string_view name);

}  // namespace trainers
