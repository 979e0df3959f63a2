// SPDX-License-Identifier: BSL-1.0
// Each layer, each loss and each model: the gradient that it claims is the one that finite differences measure.
#include <cmath>
#include <numeric>
#include <vector>

#include "differences.hpp"
#include "gru.hpp"
#include "layers.hpp"
#include "losses.hpp"
#include "models.hpp"
#include "support/catch.hpp"

using namespace trainers;
using namespace trainers::testing;

namespace {

matrix<double> random_matrix(std::size_t rows, std::size_t columns, rng& random) {
    matrix<double> made(rows, columns);
    randomise(made.flat(), random);
    return made;
}

double inner_product(matrix_view<double const> a, matrix_view<double const> b) {
    double sum = 0;
    for (std::size_t r = 0; r < a.rows; ++r)
        sum += std::inner_product(a.row(r).begin(), a.row(r).end(), b.row(r).begin(), 0.0);
    return sum;
}

batch<double> random_batch(std::size_t size, std::size_t pixels, std::size_t n_classes, std::size_t noise,
                           rng& random) {
    batch<double> drawn{{size, pixels}, {}, {size, noise}};
    randomise(drawn.images.flat(), random, 0, 1);
    for (std::size_t i = 0; i < size; ++i) drawn.labels.push_back(static_cast<std::uint8_t>(random.below(n_classes)));
    for (double& x : drawn.noise.flat()) x = random.normal();
    return drawn;
}

double worst_error_of(model<double>& whole, batch<double> const& samples, rng& random) {
    randomise(whole.learned(), random);
    (void)whole.learn(samples);
    (void)whole.learn(samples);  // what the first left behind must not show in the second's gradients
    return worst_error(whole.learned(), [&] { return whole.learn(samples); });
}

/// The derivative along a random direction through all parameters at once: one look at a model too large for all its
/// numbers.
double directional_error(model<double>& whole, batch<double> const& samples, rng& random) {
    (void)whole.learn(samples);
    double claimed = 0;
    std::vector<std::vector<double>> direction, start;
    for (auto* p : whole.learned()) {
        start.emplace_back(p->value.flat().begin(), p->value.flat().end());
        direction.emplace_back(start.back().size());
        randomise(direction.back(), random);
        claimed +=
            std::inner_product(direction.back().begin(), direction.back().end(), p->gradient.flat().begin(), 0.0);
    }
    auto const loss_at = [&](double distance) {
        for (std::size_t n = 0; n < start.size(); ++n)
            for (std::size_t i = 0; i < start[n].size(); ++i)
                whole.learned()[n]->value.flat()[i] = start[n][i] + distance * direction[n][i];
        return whole.learn(samples);
    };
    double const h = 1e-7, measured = (loss_at(h) - loss_at(-h)) / (2 * h);
    return std::abs(claimed - measured) / std::abs(measured);
}

}  // namespace

TEST_CASE("the check sees one wrong number among many right ones, and a gradient that is all zero") {
    std::vector<double> at{1.0, -2.0, 3.0}, right{2.0, -4.0, 6.0};
    auto const squares = [&] { return std::inner_product(at.begin(), at.end(), at.begin(), 0.0); };
    CHECK(worst_error(at, right, squares) < tolerance / 100);
    right[1] *= 1 + 2 * tolerance;
    CHECK(worst_error(at, right, squares) > tolerance);
    CHECK(worst_error(at, std::vector<double>(3), [] { return 1.0; }) > tolerance);
}

TEST_CASE("dense layer") {
    rng random(1);
    dense<double> layer(5, 3, random);
    parameters<double> learned;
    layer.collect(learned);
    randomise(learned, random);
    auto input = random_matrix(4, 5, random);
    auto const d_output = random_matrix(4, 3, random);
    matrix<double> output(4, 3), d_input(4, 5);
    auto const loss = [&] {
        layer.forward(input.view(), output.view());
        return inner_product(output.view(), d_output.view());
    };
    layer.backward(input.view(), d_output.view());
    layer.add_input_gradient(d_output.view(), d_input.view());
    CHECK(worst_error(learned, loss) < tolerance);
    CHECK(worst_error(input.flat(), d_input.flat(), loss) < tolerance);
}

TEST_CASE("stack of dense layers, used with batches of other sizes and of the same") {
    rng random(2);
    perceptron<double> stack({6, 8, 7, 3}, random);
    parameters<double> learned;
    stack.collect(learned);
    randomise(learned, random);
    matrix<double> d_input;
    for (std::size_t const rows : {7, 4, 4}) {
        auto input = random_matrix(rows, 6, random);
        auto const d_output = random_matrix(rows, 3, random);
        auto const loss = [&] { return inner_product(stack.forward(input.view()), d_output.view()); };
        (void)loss();
        stack.backward(input.view(), d_output.view(), &d_input);
        CHECK(worst_error(learned, loss) < tolerance);
        CHECK(worst_error(input.flat(), d_input.flat(), loss) < tolerance);
    }
}

TEST_CASE("gated recurrent unit, used twice: the second run starts from nothing that the first left") {
    rng random(3);
    std::size_t const length = 5, samples = 3, inputs = 4, width = 3;
    gru<double> unit(length, inputs, width, random);
    parameters<double> learned;
    unit.collect(learned);
    randomise(learned, random);
    for (int run = 0; run < 2; ++run) {
        auto const input = random_matrix(samples * length, inputs, random);
        auto const d_last = random_matrix(samples, width, random);
        auto const loss = [&] { return inner_product(unit.forward(input.view()), d_last.view()); };
        (void)loss();
        unit.backward(input.view(), d_last.view());
        CHECK(worst_error(learned, loss) < tolerance);
    }
}

TEST_CASE("softmax cross-entropy, also of scores beyond what exp can hold") {
    rng random(4);
    std::vector<std::uint8_t> const classes{0, 3, 1};
    auto scores = random_matrix(3, 4, random);
    for (double& x : scores.view().row(1)) x += 2000;
    auto gradient = scores;
    double const claimed_at = softmax_cross_entropy<double>(gradient.view(), classes);
    CHECK(std::isfinite(claimed_at));
    auto const loss = [&] {
        auto copy = scores;
        return softmax_cross_entropy<double>(copy.view(), classes);
    };
    CHECK(worst_error(scores.view().row(0), gradient.view().row(0), loss) < tolerance);
    CHECK(worst_error(scores.view().row(2), gradient.view().row(2), loss) < tolerance);
    matrix<double> even(1, 4);
    CHECK(softmax_cross_entropy<double>(even.view(), std::vector<std::uint8_t>{2}) == Catch::Approx(std::log(4.0)));
}

TEST_CASE("cross-entropy of pixels, also of scores beyond what exp can hold") {
    rng random(5);
    matrix<double> pixels(3, 4);
    randomise(pixels.flat(), random, 0, 1);
    auto scores = random_matrix(3, 4, random);
    auto gradient = scores;
    (void)pixel_cross_entropy<double>(gradient.view(), pixels.view());
    auto const loss = [&] {
        auto copy = scores;
        return pixel_cross_entropy<double>(copy.view(), pixels.view());
    };
    CHECK(worst_error(scores.flat(), gradient.flat(), loss) < tolerance);
    scores.fill(-2000);
    pixels.fill(1);
    CHECK(loss() == Catch::Approx(4 * 2000.0));
}

TEST_CASE("divergence of a code") {
    double mean = 0.7, log_variance = -0.4;
    code_divergence<double> const claimed(mean, log_variance);
    auto const loss = [&] { return code_divergence<double>(mean, log_variance).value; };
    CHECK(worst_error({&mean, 1}, {&claimed.d_mean, 1}, loss) < tolerance);
    CHECK(worst_error({&log_variance, 1}, {&claimed.d_log_variance, 1}, loss) < tolerance);
    CHECK(code_divergence<double>(0, 0).value == 0);
}

TEST_CASE("whole models, every number") {
    rng random(6);
    SECTION("softmax regression") {
        classifier<double> whole({12, 4}, random);
        CHECK(worst_error_of(whole, random_batch(5, 12, 4, 0, random), random) < tolerance);
    }
    SECTION("multi-layer perceptron") {
        classifier<double> whole({12, 9, 7, 4}, random);
        CHECK(worst_error_of(whole, random_batch(5, 12, 4, 0, random), random) < tolerance);
    }
    SECTION("variational autoencoder") {
        autoencoder<double> whole(12, 8, 3, random);
        CHECK(worst_error_of(whole, random_batch(5, 12, 4, whole.noise_columns(), random), random) < tolerance);
    }
    SECTION("recurrent model") {
        row_reader<double> whole(4, 3, 5, 4, random);
        CHECK(worst_error_of(whole, random_batch(5, 12, 4, 0, random), random) < tolerance);
    }
}

TEST_CASE("whole models at the size in which they are trained") {
    rng random(7);
    auto const samples = random_batch(9, 784, 10, 16, random);
    classifier<double> softmax({784, 10}, random), mlp({784, 256, 128, 10}, random);
    autoencoder<double> vae(784, 256, 16, random);
    row_reader<double> rnn(28, 28, 64, 10, random);
    for (model<double>* whole : std::initializer_list<model<double>*>{&softmax, &mlp, &vae, &rnn})
        CHECK(directional_error(*whole, samples, random) < tolerance);
}
