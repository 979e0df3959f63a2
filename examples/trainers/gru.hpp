// SPDX-License-Identifier: BSL-1.0
/// Gated recurrent unit: Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", 2014, in the form
/// that resets the state after its product with the weights, so that one product serves all three gates.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "layers.hpp"
#include "matrix.hpp"

namespace trainers {

template <class Real>
[[nodiscard]] Real sigmoid(Real x) {
    return 1 / (1 + std::exp(-x));
}

/// Reads `length` rows per sample, adjacent in the input, and gives the state behind the last. In every matrix that has
/// a row per sample and moment, the moments of a sample are adjacent; the gates' columns are reset, update, candidate.
template <class Real>
class gru {
    std::size_t length_, width_;
    dense<Real> from_input_, from_state_;
    matrix<Real> input_sums_, state_sums_;  // what the input and the state contribute, each moment, all gates
    // Values of the gates and the state before each moment; the state at the end
    matrix<Real> gates_, before_, last_;
    matrix<Real> d_input_sums_, d_state_sums_;
    matrix<Real> d_state_;

public:
    gru(std::size_t length, std::size_t inputs, std::size_t width, rng& random)
        : length_(length), width_(width), from_input_(inputs, 3 * width, random),
          from_state_(width, 3 * width, random) {}

    /// The state after the last row of each sample. Precondition: `length` divides the number of rows.
    matrix_view<Real const> forward(matrix_view<Real const> input) {
        resize(input.rows);
        from_input_.forward(input, input_sums_.view());
        for (std::size_t t = 0; t < length_; ++t) {
            from_state_.forward(at(before_, t), at(state_sums_, t));
            auto const after = t + 1 < length_ ? at(before_, t + 1) : last_.view();
            for (std::size_t sample = 0; sample < after.rows; ++sample)
                advance(sample * length_ + t, after.row(sample).data());
        }
        return last_.view();
    }

    /// Sets the gradients of the parameters. Precondition: `input` as at forward.
    void backward(matrix_view<Real const> input, matrix_view<Real const> d_last) {
        for (std::size_t r = 0; r < d_last.rows; ++r) std::ranges::copy(d_last.row(r), d_state_.view().row(r).begin());
        for (std::size_t t = length_; t-- > 0;) {
            for (std::size_t sample = 0; sample < d_last.rows; ++sample)
                retreat(sample * length_ + t, d_state_.view().row(sample).data());
            from_state_.add_input_gradient(at(d_state_sums_, t), d_state_.view());
        }
        from_state_.backward(before_.view(), d_state_sums_.view());
        from_input_.backward(input, d_input_sums_.view());
    }

    void collect(parameters<Real>& into) {
        from_input_.collect(into);
        from_state_.collect(into);
    }

private:
    void resize(std::size_t moments) {
        for (auto* all_gates : {&input_sums_, &state_sums_, &gates_, &d_input_sums_, &d_state_sums_})
            all_gates->resize(moments, 3 * width_);
        before_.resize(moments, width_);  // the states before the first moments stay as this leaves them: 0
        last_.resize(moments / length_, width_);
        d_state_.resize(moments / length_, width_);
    }

    [[nodiscard]] matrix_view<Real> at(matrix<Real>& moments, std::size_t t) const {
        return moments.view().every(length_, t);
    }

    /// One sample, one moment: the gates and the state after it.
    void advance(std::size_t moment, Real* after) {
        Real const* const x = input_sums_.view().row(moment).data();
        Real const* const s = state_sums_.view().row(moment).data();
        Real const* const before = before_.view().row(moment).data();
        Real* const gate = gates_.view().row(moment).data();
        std::size_t const w = width_;
        for (std::size_t i = 0; i < 2 * w; ++i) gate[i] = sigmoid(x[i] + s[i]);
        for (std::size_t i = 0; i < w; ++i) {
            // Tanh, in half its time
            Real const candidate = 2 * sigmoid(2 * (x[2 * w + i] + gate[i] * s[2 * w + i])) - 1;
            gate[2 * w + i] = candidate;
            after[i] = candidate + gate[w + i] * (before[i] - candidate);
        }
    }

    /// One sample, one moment: from the gradient of the state after it to that of both sums, and to that of the state
    /// before it as far as the update gate hands it on.
    void retreat(std::size_t moment, Real* d_state) {
        Real const* const s = state_sums_.view().row(moment).data();
        Real const* const before = before_.view().row(moment).data();
        Real const* const gate = gates_.view().row(moment).data();
        Real* const dx = d_input_sums_.view().row(moment).data();
        Real* const ds = d_state_sums_.view().row(moment).data();
        std::size_t const w = width_;
        for (std::size_t i = 0; i < w; ++i) {
            Real const reset = gate[i], update = gate[w + i], candidate = gate[2 * w + i];
            Real const d_candidate = d_state[i] * (1 - update) * (1 - candidate * candidate);
            dx[i] = ds[i] = d_candidate * s[2 * w + i] * reset * (1 - reset);
            dx[w + i] = ds[w + i] = d_state[i] * (before[i] - candidate) * update * (1 - update);
            dx[2 * w + i] = d_candidate;
            ds[2 * w + i] = d_candidate * reset;
            d_state[i] *= update;
        }
    }
};

}  // namespace trainers
