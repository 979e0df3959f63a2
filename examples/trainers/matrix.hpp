// SPDX-License-Identifier: BSL-1.0
/// Dense row-major matrices and views of their parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace trainers {

/// Rows of adjacent numbers, the rows `stride` numbers apart. Owns nothing.
template <class Real>
struct matrix_view {
    Real* data = nullptr;
    std::size_t rows = 0, columns = 0, stride = 0;

    [[nodiscard]] std::span<Real> row(std::size_t r) const { return {data + r * stride, columns}; }

    /// Every `step`th row from `first` on. Precondition: `step` divides the number of rows.
    [[nodiscard]] matrix_view every(std::size_t step, std::size_t first) const {
        return {data + first * stride, rows / step, columns, stride * step};
    }

    operator matrix_view<Real const>() const
        requires(!std::is_const_v<Real>)
    {
        return {data, rows, columns, stride};
    }
};

template <class Real>
class matrix {
    std::size_t rows_ = 0, columns_ = 0;
    std::vector<Real> numbers_;

public:
    matrix() = default;
    matrix(std::size_t rows, std::size_t columns) { resize(rows, columns); }

    /// Its content is lost when the shape changes.
    void resize(std::size_t rows, std::size_t columns) {
        if (rows == rows_ && columns == columns_) return;
        numbers_.assign(rows * columns, Real{});
        rows_ = rows;
        columns_ = columns;
    }

    void fill(Real value) { std::fill(numbers_.begin(), numbers_.end(), value); }

    [[nodiscard]] std::size_t rows() const { return rows_; }
    [[nodiscard]] std::size_t columns() const { return columns_; }
    [[nodiscard]] std::span<Real> flat() { return numbers_; }
    [[nodiscard]] std::span<Real const> flat() const { return numbers_; }

    [[nodiscard]] matrix_view<Real> view() { return {numbers_.data(), rows_, columns_, columns_}; }
    [[nodiscard]] matrix_view<Real const> view() const { return {numbers_.data(), rows_, columns_, columns_}; }

    /// The same numbers in rows of another length. Precondition: `columns` divides their number.
    [[nodiscard]] matrix_view<Real> as_rows_of(std::size_t columns) {
        return {numbers_.data(), numbers_.size() / columns, columns, columns};
    }
    [[nodiscard]] matrix_view<Real const> as_rows_of(std::size_t columns) const {
        return {numbers_.data(), numbers_.size() / columns, columns, columns};
    }
};

}  // namespace trainers
