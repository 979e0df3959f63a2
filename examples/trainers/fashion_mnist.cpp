// SPDX-License-Identifier: BSL-1.0
#include "fashion_mnist.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace trainers {

attempt<fashion_mnist> load_fashion_mnist(std::filesystem::path const& folder) {
    auto images = read_idx(folder / "train-images-idx3-ubyte.gz", 3);
    if (auto* problem = std::get_if<std::string>(&images)) return std::move(*problem);
    auto labels = read_idx(folder / "train-labels-idx1-ubyte.gz", 1);
    if (auto* problem = std::get_if<std::string>(&labels)) return std::move(*problem);
    auto& [sizes, bytes] = std::get<idx>(images);
    auto& names = std::get<idx>(labels).elements;
    if (sizes[1] != fashion_mnist::side || sizes[2] != fashion_mnist::side)
        return folder.string() + ": images of " + std::to_string(sizes[1]) + " x " + std::to_string(sizes[2]) +
               " pixels, not 28 x 28";
    if (sizes[0] != names.size())
        return folder.string() + ": " + std::to_string(sizes[0]) + " images, but " + std::to_string(names.size()) +
               " labels";
    if (*std::ranges::max_element(names) >= fashion_mnist::classes) return folder.string() + ": a label above 9";
    return fashion_mnist{std::move(bytes), std::move(names)};
}

batch_source::batch_source(fashion_mnist const& data, std::size_t size, std::size_t noise_columns, rng random)
    : data_(data), random_(random),
      drawn_{{size, fashion_mnist::pixels}, std::vector<std::uint8_t>(size), {size, noise_columns}} {}

batch<float> const& batch_source::next() {
    for (std::size_t i = 0; i < drawn_.labels.size(); ++i) {
        std::size_t const n = random_.below(data_.labels.size());
        drawn_.labels[i] = data_.labels[n];
        std::uint8_t const* const from = data_.images.data() + n * fashion_mnist::pixels;
        auto const to = drawn_.images.view().row(i);
        for (std::size_t p = 0; p < to.size(); ++p) to[p] = static_cast<float>(from[p]) * (1.0F / 255);
    }
    for (float& x : drawn_.noise.flat()) x = static_cast<float>(random_.normal());
    return drawn_;
}

}  // namespace trainers
