// SPDX-License-Identifier: BSL-1.0
/// Matrix product on one core: blocks that stay in cache, packed so that the innermost loop reads memory in order.
/// The scheme is that of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3),
/// 2008.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "matrix.hpp"

namespace trainers {

/// A factor: a view, or a view read as its transpose at no cost.
template <class Real>
struct factor {
    Real const* data;
    std::size_t rows, columns, row_step, column_step;

    factor(matrix_view<Real const> v)
        : data(v.data), rows(v.rows), columns(v.columns), row_step(v.stride), column_step(1) {}
    factor(Real const* d, std::size_t r, std::size_t c, std::size_t rs, std::size_t cs)
        : data(d), rows(r), columns(c), row_step(rs), column_step(cs) {}

    [[nodiscard]] factor transposed() const { return {data, columns, rows, column_step, row_step}; }
    [[nodiscard]] factor part(std::size_t row, std::size_t n_rows, std::size_t column, std::size_t n_columns) const {
        return {data + row * row_step + column * column_step, n_rows, n_columns, row_step, column_step};
    }
};

template <class Real>
[[nodiscard]] factor<std::remove_const_t<Real>> transposed(matrix_view<Real> v) {
    return factor<std::remove_const_t<Real>>(v).transposed();
}

namespace detail {

/// Sizes of blocks: a tile of the result fits the registers (eight of SSE2's sixteen hold its sums), a packed strip of
/// the right factor the first-level cache, the packed block of the left one the second level.
template <class Real>
struct blocking {
    static constexpr std::size_t tile_rows = 4, tile_columns = 32 / sizeof(Real);
    static constexpr std::size_t depth = 256, rows = 128, columns = 1024;
};

/// Copies `from` into strips of `Width` rows, depth-major, the last strip filled up with zeros.
template <std::size_t Width, class Real>
void pack(factor<Real> const& from, std::vector<Real>& to) {
    std::size_t const strips = (from.rows + Width - 1) / Width;
    to.resize(strips * Width * from.columns);
    for (std::size_t s = 0; s < strips; ++s) {
        std::size_t const live = std::min(Width, from.rows - s * Width);
        Real const* source = from.data + s * Width * from.row_step;
        Real* target = to.data() + s * Width * from.columns;
        for (std::size_t k = 0; k < from.columns; ++k, source += from.column_step, target += Width) {
            for (std::size_t i = 0; i < live; ++i) target[i] = source[i * from.row_step];
            for (std::size_t i = live; i < Width; ++i) target[i] = Real{};
        }
    }
}

/// One tile: sums over `depth` products, then added to the live part of the result.
template <class Real>
void add_tile(Real const* a, Real const* b, std::size_t depth, matrix_view<Real> out) {
    constexpr std::size_t R = blocking<Real>::tile_rows, C = blocking<Real>::tile_columns;
    Real sums[R][C] = {};
    for (std::size_t k = 0; k < depth; ++k, a += R, b += C)
        for (std::size_t i = 0; i < R; ++i)
            for (std::size_t j = 0; j < C; ++j) sums[i][j] += a[i] * b[j];
    for (std::size_t i = 0; i < out.rows; ++i)
        for (std::size_t j = 0; j < out.columns; ++j) out.data[i * out.stride + j] += sums[i][j];
}

template <class Real>
void add_block(Real const* a, Real const* b, std::size_t depth, matrix_view<Real> out) {
    constexpr std::size_t R = blocking<Real>::tile_rows, C = blocking<Real>::tile_columns;
    for (std::size_t j = 0; j < out.columns; j += C)
        for (std::size_t i = 0; i < out.rows; i += R)
            add_tile(a + i * depth, b + j * depth, depth,
                     matrix_view<Real>{out.data + i * out.stride + j, std::min(R, out.rows - i),
                                       std::min(C, out.columns - j), out.stride});
}

}  // namespace detail

/// out += a b. Preconditions: the shapes fit, and `out` overlaps neither factor.
template <class Real>
void add_product(factor<Real> const& a, factor<Real> const& b, matrix_view<Real> out) {
    using size = detail::blocking<Real>;
    static thread_local std::vector<Real> packed_a, packed_b;
    for (std::size_t k = 0; k < a.columns; k += size::depth) {
        std::size_t const depth = std::min(size::depth, a.columns - k);
        for (std::size_t j = 0; j < out.columns; j += size::columns) {
            std::size_t const columns = std::min(size::columns, out.columns - j);
            detail::pack<size::tile_columns>(b.part(k, depth, j, columns).transposed(), packed_b);
            for (std::size_t i = 0; i < out.rows; i += size::rows) {
                std::size_t const rows = std::min(size::rows, out.rows - i);
                detail::pack<size::tile_rows>(a.part(i, rows, k, depth), packed_a);
                detail::add_block(packed_a.data(), packed_b.data(), depth,
                                  matrix_view<Real>{out.data + i * out.stride + j, rows, columns, out.stride});
            }
        }
    }
}

/// out = a b.
template <class Real>
void set_product(factor<Real> const& a, factor<Real> const& b, matrix_view<Real> out) {
    for (std::size_t r = 0; r < out.rows; ++r) std::ranges::fill(out.row(r), Real{});
    add_product(a, b, out);
}

}  // namespace trainers
