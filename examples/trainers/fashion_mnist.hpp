// SPDX-License-Identifier: BSL-1.0
/// Fashion-MNIST's training images, and batches of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "idx.hpp"
#include "models.hpp"
#include "random.hpp"

namespace trainers {

struct fashion_mnist {
    static constexpr std::size_t side = 28, pixels = side * side, classes = 10;
    static constexpr char const* default_folder = "/usr/share/datasets/fashion-mnist";

    std::vector<std::uint8_t> images;  ///< `pixels` bytes each
    std::vector<std::uint8_t> labels;  ///< below `classes`
};

/// The training set in `folder`, under the names that its publishers gave the files.
[[nodiscard]] attempt<fashion_mnist> load_fashion_mnist(std::filesystem::path const& folder);

/// Without end: images drawn with replacement, and noise.
class batch_source {
    fashion_mnist const& data_;
    rng random_;
    batch<float> drawn_;

public:
    /// `data` must outlive it and hold at least one image.
    batch_source(fashion_mnist const& data, std::size_t size, std::size_t noise_columns, rng random);

    /// Valid until the next call.
    [[nodiscard]] batch<float> const& next();
};

}  // namespace trainers
