// SPDX-License-Identifier: BSL-1.0
/// Parameters, the dense layer, and stacks of dense layers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "matrix.hpp"
#include "multiply.hpp"
#include "random.hpp"

namespace trainers {

/// Numbers that are learned, and the gradient of the last batch's loss with respect to them.
template <class Real>
struct parameter {
    matrix<Real> value, gradient;

    parameter(std::size_t rows, std::size_t columns) : value(rows, columns), gradient(rows, columns) {}
};

template <class Real>
using parameters = std::vector<parameter<Real>*>;

/// output = input * weight + bias, one row per sample.
template <class Real>
class dense {
    parameter<Real> weight_, bias_;

public:
    /// Weights uniform in the bounds of Glorot and Bengio (2010), biases 0.
    dense(std::size_t inputs, std::size_t outputs, rng& random) : weight_(inputs, outputs), bias_(1, outputs) {
        double const bound = std::sqrt(6.0 / static_cast<double>(inputs + outputs));
        for (Real& w : weight_.value.flat()) w = static_cast<Real>(random.between(-bound, bound));
    }

    [[nodiscard]] std::size_t outputs() const { return weight_.value.columns(); }

    void forward(matrix_view<Real const> input, matrix_view<Real> output) const {
        for (std::size_t r = 0; r < output.rows; ++r) std::ranges::copy(bias_.value.flat(), output.row(r).begin());
        add_product<Real>(input, weight_.value.view(), output);
    }

    /// Sets the gradients of weight and bias.
    void backward(matrix_view<Real const> input, matrix_view<Real const> d_output) {
        set_product<Real>(transposed(input), d_output, weight_.gradient.view());
        bias_.gradient.fill(Real{});
        Real* const sums = bias_.gradient.flat().data();
        for (std::size_t r = 0; r < d_output.rows; ++r)
            for (std::size_t c = 0; c < d_output.columns; ++c) sums[c] += d_output.row(r)[c];
    }

    void add_input_gradient(matrix_view<Real const> d_output, matrix_view<Real> d_input) const {
        add_product<Real>(d_output, transposed(weight_.value.view()), d_input);
    }

    void collect(parameters<Real>& into) { into.insert(into.end(), {&weight_, &bias_}); }
};

/// Dense layers with a ReLU between each and the next. One layer alone is a linear map.
template <class Real>
class perceptron {
    std::vector<dense<Real>> layers_;
    std::vector<matrix<Real>> outputs_, d_outputs_;  // of each layer; of each but the last

public:
    /// Widths from input to output, at least two.
    perceptron(std::vector<std::size_t> const& widths, rng& random)
        : outputs_(widths.size() - 1), d_outputs_(widths.size() - 2) {
        for (std::size_t i = 0; i + 1 < widths.size(); ++i) layers_.emplace_back(widths[i], widths[i + 1], random);
    }

    /// The output is the caller's to overwrite until the next call; backward does not read it.
    matrix_view<Real> forward(matrix_view<Real const> input) {
        for (std::size_t i = 0; i < layers_.size(); ++i) {
            outputs_[i].resize(input.rows, layers_[i].outputs());
            layers_[i].forward(input, outputs_[i].view());
            if (i + 1 < layers_.size())
                for (Real& x : outputs_[i].flat()) x = x > 0 ? x : Real{};
            input = outputs_[i].view();
        }
        return outputs_.back().view();
    }

    /// Sets the gradients of all layers; of the input too where `d_input` is not null. Precondition: `input` as at
    /// forward.
    void backward(matrix_view<Real const> input, matrix_view<Real const> d_output, matrix<Real>* d_input = nullptr) {
        for (std::size_t i = layers_.size() - 1; i > 0; --i) {
            layers_[i].backward(outputs_[i - 1].view(), d_output);
            set_input_gradient(i, d_output, d_outputs_[i - 1]);
            auto const live = outputs_[i - 1].flat();
            auto const d = d_outputs_[i - 1].flat();
            for (std::size_t n = 0; n < d.size(); ++n) d[n] = live[n] > 0 ? d[n] : Real{};
            d_output = d_outputs_[i - 1].view();
        }
        layers_[0].backward(input, d_output);
        if (d_input != nullptr) {
            d_input->resize(input.rows, input.columns);
            set_input_gradient(0, d_output, *d_input);
        }
    }

    void collect(parameters<Real>& into) {
        for (auto& layer : layers_) layer.collect(into);
    }

private:
    void set_input_gradient(std::size_t layer, matrix_view<Real const> d_output, matrix<Real>& d_input) const {
        if (layer > 0) d_input.resize(d_output.rows, layers_[layer - 1].outputs());
        d_input.fill(Real{});
        layers_[layer].add_input_gradient(d_output, d_input.view());
    }
};

}  // namespace trainers
