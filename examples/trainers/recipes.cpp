// SPDX-License-Identifier: BSL-1.0
#include "recipes.hpp"

#include <algorithm>
#include <array>

#include "fashion_mnist.hpp"

namespace trainers {
namespace {

constexpr std::size_t pixels = fashion_mnist::pixels, classes = fashion_mnist::classes, side = fashion_mnist::side;

using model_pointer = std::unique_ptr<model<float>>;
using widths = std::vector<std::size_t>;

model_pointer softmax(rng& random) { return std::make_unique<classifier<float>>(widths{pixels, classes}, random); }
model_pointer mlp(rng& random) {
    return std::make_unique<classifier<float>>(widths{pixels, 256, 128, classes}, random);
}
model_pointer vae(rng& random) { return std::make_unique<autoencoder<float>>(pixels, 256, 16, random); }
model_pointer rnn(rng& random) { return std::make_unique<row_reader<float>>(side, side, 64, classes, random); }

/// Batch sizes and rates are chosen so that each takes some ten seconds of one core to a useful loss; README.md has the
/// figures.
constexpr std::array<recipe, 4> all{{
    {"softmax", "softmax regression", 512, 4200, 3e-4, softmax},
    {"mlp", "multi-layer perceptron 784-256-128-10", 128, 1700, 2e-4, mlp},
    {"vae", "variational autoencoder, code of 16", 64, 1200, 1e-3, vae},
    {"rnn", "gated recurrent unit of 64 that reads row by row", 32, 1500, 2e-3, rnn},
}};

}  // namespace

std::span<recipe const> recipes() { return all; }

recipe const* find_recipe(std::string_view name) {
    auto const found = std::ranges::find(all, name, &recipe::name);
    return found == all.end() ? nullptr : &*found;
}

}  // namespace trainers
