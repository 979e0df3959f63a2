// SPDX-License-Identifier: BSL-1.0
// The blocked product against the sum that defines it, at sizes around those of its tiles and blocks.
#include "multiply.hpp"

#include <algorithm>
#include <cmath>

#include "random.hpp"
#include "support/catch.hpp"

using namespace trainers;

namespace {

matrix<double> random_matrix(std::size_t rows, std::size_t columns, rng& random) {
    matrix<double> made(rows, columns);
    for (double& x : made.flat()) x = random.between(-1, 1);
    return made;
}

double element(factor<double> const& f, std::size_t r, std::size_t c) {
    return f.data[r * f.row_step + c * f.column_step];
}

double worst_difference(factor<double> const& a, factor<double> const& b, matrix_view<double const> out,
                        double before) {
    double worst = 0;
    for (std::size_t r = 0; r < out.rows; ++r)
        for (std::size_t c = 0; c < out.columns; ++c) {
            double sum = before;
            for (std::size_t k = 0; k < a.columns; ++k) sum += element(a, r, k) * element(b, k, c);
            worst = std::max(worst, std::abs(sum - out.row(r)[c]));
        }
    return worst;
}

struct shape {
    std::size_t rows, depth, columns;
};

}  // namespace

TEST_CASE("product, sum of products, and transposed factors") {
    auto const s = GENERATE(shape{1, 1, 1}, shape{3, 5, 2}, shape{4, 256, 4}, shape{5, 257, 9}, shape{129, 300, 17},
                            shape{2, 3, 1025}, shape{131, 2, 1030});
    rng random(1);
    auto const a = random_matrix(s.rows, s.depth, random), b = random_matrix(s.depth, s.columns, random);
    auto const a_turned = random_matrix(s.depth, s.rows, random), b_turned = random_matrix(s.columns, s.depth, random);
    matrix<double> out(s.rows, s.columns);
    for (auto const& left : {factor<double>(a.view()), transposed(a_turned.view())})
        for (auto const& right : {factor<double>(b.view()), transposed(b_turned.view())}) {
            out.fill(7);
            add_product(left, right, out.view());
            CHECK(worst_difference(left, right, out.view(), 7) < 1e-12);
            set_product(left, right, out.view());
            CHECK(worst_difference(left, right, out.view(), 0) < 1e-12);
        }
}

TEST_CASE("a product into part of a matrix leaves the rest alone") {
    rng random(2);
    auto const a = random_matrix(6, 5, random), b = random_matrix(5, 3, random);
    matrix<double> whole(12, 3);
    whole.fill(7);
    auto const odd_rows = whole.view().every(2, 1);
    set_product<double>(a.view(), b.view(), odd_rows);
    CHECK(worst_difference(a.view(), b.view(), odd_rows, 0) < 1e-12);
    for (std::size_t r = 0; r < 12; r += 2)
        for (double const x : whole.view().row(r)) CHECK(x == 7);
}
