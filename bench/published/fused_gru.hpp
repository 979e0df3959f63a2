// SPDX-License-Identifier: BSL-1.0
// A GRU step as one loop over tiles of units: products, gates and update of a tile together. The weights are packed by
// tile once, as an inference server does when it loads a model.
// Source: T. Zhao, Y. Zhang, K. Olukotun, "Serving Recurrent Neural Networks Efficiently with a Spatial Accelerator",
// MLSys 2019.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "gru.hpp"
#include "matrix.hpp"
#include "multiply.hpp"

namespace published {

/// The launch parameters of a fused step.
struct gru_tile {
    std::size_t units = 8;   ///< of the state, in one tile
    std::size_t unroll = 1;  ///< independent sums over the depth
    std::size_t rows = 1;    ///< of the batch, that share a tile's weights
    std::size_t ahead = 0;   ///< bytes by which weights are prefetched
};

/// Weights of a layer whose input is as wide as its state. The columns are reset, update, candidate.
struct gru_weights {
    std::size_t width;
    trainers::matrix<float> from_input, from_state;  // width x 3 width
    std::vector<float> input_bias, state_bias;       // 3 width
};

/// The sums of all gates in memory, and the passes over them: as in examples/trainers.
class gate_passes {
    trainers::matrix<float> gates_;

public:
    trainers::matrix<float> input_sums, state_sums;  // rows x 3 width

    void resize(std::size_t rows, std::size_t width) {
        for (auto* each : {&input_sums, &state_sums, &gates_}) each->resize(rows, 3 * width);
    }
    /// The state after the step. Pre: both sums are complete.
    void advance(trainers::matrix<float>& state) {
        for (std::size_t row = 0; row < state.rows(); ++row) advance_row(row, state.view().row(row));
    }

private:
    void advance_row(std::size_t row, std::span<float> state) {
        float const *const x = input_sums.view().row(row).data(), *const s = state_sums.view().row(row).data();
        float* const gate = gates_.view().row(row).data();
        std::size_t const w = state.size();
        for (std::size_t i = 0; i < 2 * w; ++i) gate[i] = trainers::sigmoid(x[i] + s[i]);
        for (std::size_t i = 0; i < w; ++i) {
            float const candidate = 2 * trainers::sigmoid(2 * (x[2 * w + i] + gate[i] * s[2 * w + i])) - 1;
            state[i] = candidate + gate[w + i] * (state[i] - candidate);
        }
    }
};

/// The baseline: two products of the trainers' own matrix product, then the passes.
class unfused_gru {
    gru_weights const& weights_;
    gate_passes passes_;

public:
    explicit unfused_gru(gru_weights const& weights) : weights_(weights) {}

    void step(trainers::matrix<float> const& input, trainers::matrix<float>& state) {
        passes_.resize(input.rows(), weights_.width);
        trainers::set_product<float>(input.view(), weights_.from_input.view(), passes_.input_sums.view());
        trainers::set_product<float>(std::as_const(state).view(), weights_.from_state.view(),
                                     passes_.state_sums.view());
        for (std::size_t row = 0; row < input.rows(); ++row) {
            add(passes_.input_sums.view().row(row), weights_.input_bias);
            add(passes_.state_sums.view().row(row), weights_.state_bias);
        }
        passes_.advance(state);
    }

private:
    static void add(std::span<float> to, std::vector<float> const& bias) {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] += bias[i];
    }
};

namespace detail {

/// Sums of one tile over `depth` for some rows of the batch: `Units` for each of three gates.
template <std::size_t Units, std::size_t Unroll, std::size_t Rows>
void add_products(float const* weights, float const* const (&from)[Rows], std::size_t depth, std::size_t ahead,
                  float (&sums)[Rows][3 * Units]) {
    float parts[Unroll][Rows][3 * Units] = {};
    std::size_t k = 0;
    for (; k + Unroll <= depth; k += Unroll)
        for (std::size_t u = 0; u < Unroll; ++u, weights += 3 * Units) {
            __builtin_prefetch(reinterpret_cast<char const*>(weights) + ahead);
            for (std::size_t r = 0; r < Rows; ++r)
                for (std::size_t i = 0; i < 3 * Units; ++i) parts[u][r][i] += weights[i] * from[r][k + u];
        }
    for (; k < depth; ++k, weights += 3 * Units)
        for (std::size_t r = 0; r < Rows; ++r)
            for (std::size_t i = 0; i < 3 * Units; ++i) parts[0][r][i] += weights[i] * from[r][k];
    for (std::size_t r = 0; r < Rows; ++r)
        for (std::size_t i = 0; i < 3 * Units; ++i)
            for (std::size_t u = 0; u < Unroll; ++u) sums[r][i] += parts[u][r][i];
}

}  // namespace detail

/// Weights by tile: the biases of input and state, then for each row of both matrices the units of the three gates. The
/// last tile is filled up with zeros.
class packed_gru_weights {
    std::size_t width_, units_;
    std::vector<float> numbers_;

public:
    packed_gru_weights(gru_weights const& from, std::size_t units) : width_(from.width), units_(units) {
        numbers_.reserve((width_ + units - 1) / units * tile_size());
        for (std::size_t first = 0; first < width_; first += units) {
            add_row(from.input_bias.data(), first);
            add_row(from.state_bias.data(), first);
            for (auto const* each : {&from.from_input, &from.from_state})
                for (std::size_t k = 0; k < width_; ++k) add_row(each->view().row(k).data(), first);
        }
    }

    [[nodiscard]] std::size_t width() const noexcept { return width_; }
    [[nodiscard]] std::size_t units() const noexcept { return units_; }
    [[nodiscard]] std::size_t tile_size() const noexcept { return 3 * units_ * (2 + 2 * width_); }
    [[nodiscard]] float const* data() const noexcept { return numbers_.data(); }

private:
    void add_row(float const* row, std::size_t first) {
        for (std::size_t gate = 0; gate < 3; ++gate)
            for (std::size_t i = first; i < first + units_; ++i)
                numbers_.push_back(i < width_ ? row[gate * width_ + i] : 0);
    }
};

/// The step of one setting of the tile. With `separate` the sums go through memory and the passes follow, so that the
/// effect of fusion alone can be measured.
class fused_gru {
    packed_gru_weights const& weights_;
    gru_tile tile_;
    bool separate_;
    gate_passes passes_;
    trainers::matrix<float> next_;
    void (fused_gru::*step_)(trainers::matrix<float> const&, trainers::matrix<float> const&) = nullptr;

public:
    /// Pre: the weights are packed for the units of the tile; `unroll` and `rows` are 1, 2 or 4.
    fused_gru(packed_gru_weights const& weights, gru_tile const& tile, bool separate = false)
        : weights_(weights), tile_(tile), separate_(separate) {
        choose_units<4, 8, 12, 16, 24, 32>();
    }

    /// Pre: `rows` of the tile divides the number of rows.
    void step(trainers::matrix<float> const& input, trainers::matrix<float>& state) {
        next_.resize(state.rows(), state.columns());
        passes_.resize(state.rows(), state.columns());
        (this->*step_)(input, state);
        if (separate_)
            passes_.advance(state);
        else
            std::swap(next_, state);
    }

private:
    template <std::size_t... Units>
    void choose_units() {
        ((weights_.units() == Units ? choose_unroll<Units>() : void()), ...);
    }
    template <std::size_t Units>
    void choose_unroll() {
        if (tile_.unroll == 1) choose_rows<Units, 1>();
        if (tile_.unroll == 2) choose_rows<Units, 2>();
        if (tile_.unroll == 4) choose_rows<Units, 4>();
    }
    template <std::size_t Units, std::size_t Unroll>
    void choose_rows() {
        if (tile_.rows == 1) step_ = &fused_gru::step_tiles<Units, Unroll, 1>;
        if (tile_.rows == 2) step_ = &fused_gru::step_tiles<Units, Unroll, 2>;
        if (tile_.rows == 4) step_ = &fused_gru::step_tiles<Units, Unroll, 4>;
    }

    template <std::size_t Units, std::size_t Unroll, std::size_t Rows>
    void step_tiles(trainers::matrix<float> const& input, trainers::matrix<float> const& state) {
        float const* tile = weights_.data();
        for (std::size_t first = 0; first < weights_.width(); first += Units, tile += weights_.tile_size())
            for (std::size_t row = 0; row < input.rows(); row += Rows)
                step_tile<Units, Unroll, Rows>(tile, first, row, input, state);
    }

    template <std::size_t Units, std::size_t Unroll, std::size_t Rows>
    void step_tile(float const* tile, std::size_t first, std::size_t row, trainers::matrix<float> const& input,
                   trainers::matrix<float> const& state) {
        constexpr std::size_t gates = 3 * Units;
        std::size_t const width = weights_.width();
        float const *x[Rows], *h[Rows];
        float x_sums[Rows][gates], h_sums[Rows][gates];
        for (std::size_t r = 0; r < Rows; ++r) {
            x[r] = input.view().row(row + r).data();
            h[r] = state.view().row(row + r).data();
            std::copy_n(tile, gates, x_sums[r]);
            std::copy_n(tile + gates, gates, h_sums[r]);
        }
        float const* const weights = tile + 2 * gates;
        detail::add_products<Units, Unroll, Rows>(weights, x, width, tile_.ahead, x_sums);
        detail::add_products<Units, Unroll, Rows>(weights + gates * width, h, width, tile_.ahead, h_sums);
        std::size_t const live = std::min(Units, width - first);
        for (std::size_t r = 0; r < Rows; ++r) {
            if (separate_) {
                store<Units>(x_sums[r], passes_.input_sums.view().row(row + r), first, live);
                store<Units>(h_sums[r], passes_.state_sums.view().row(row + r), first, live);
                continue;
            }
            float* const next = next_.view().row(row + r).data() + first;
            for (std::size_t i = 0; i < live; ++i) next[i] = unit<Units>(x_sums[r] + i, h_sums[r] + i, h[r][first + i]);
        }
    }

    template <std::size_t Units>
    static void store(float const* sums, std::span<float> to, std::size_t first, std::size_t live) {
        for (std::size_t gate = 0; gate < 3; ++gate)
            std::copy_n(sums + gate * Units, live, to.data() + gate * to.size() / 3 + first);
    }

    /// The new value of one unit. `x` and `s`: its sums for reset, which those of the other gates follow.
    template <std::size_t Units>
    [[nodiscard]] static float unit(float const* x, float const* s, float before) {
        float const reset = trainers::sigmoid(x[0] + s[0]), update = trainers::sigmoid(x[Units] + s[Units]);
        float const candidate = 2 * trainers::sigmoid(2 * (x[2 * Units] + reset * s[2 * Units])) - 1;
        return candidate + update * (before - candidate);
    }
};

}  // namespace published
