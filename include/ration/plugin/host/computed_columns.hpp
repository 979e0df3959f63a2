// SPDX-License-Identifier: BSL-1.0
/// The columns that a plugin's estimator computes, and their places in its answer.
///
/// An answer takes the space of grants, in process and in the output of a worker, so that both kinds of plugins share
/// one way to ask, one deadline and one list of faults. Host and worker compute the same places.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <ration/column.hpp>
#include <ration/grant.hpp>
#include <ration/plugin/host/manifest.hpp>
#include <ration/text.hpp>

namespace ration::plugin {

/// The columns of one answer, one after the other, each on a multiple of 8 bytes.
class computed_columns {
    std::vector<needed_column> columns_;

public:
    /// No column: the plugin is a policy.
    computed_columns() = default;
    /// Those of `computed_by`.
    explicit computed_columns(std::vector<needed_column> columns) noexcept : columns_(std::move(columns)) {}

    /// The columns, in the order of the manifest.
    [[nodiscard]] std::vector<needed_column> const& all() const noexcept { return columns_; }
    /// The offset of a column in an answer for this number of rows, in bytes.
    [[nodiscard]] std::size_t offset(std::size_t column, std::size_t rows) const noexcept {
        std::size_t at = 0;
        for (std::size_t k = 0; k < column; ++k) at += (rows * size_of(columns_[k].type) + 7) / 8 * 8;
        return at;
    }
    /// The grants whose space an answer takes.
    [[nodiscard]] std::size_t grants(std::size_t rows) const noexcept {
        return (offset(columns_.size(), rows) + sizeof(grant) - 1) / sizeof(grant);
    }

    /// Why the values of an answer cannot be used, as a sentence about the plugin; empty if they can. No value is
    /// infinite or below 0. A NaN is an unknown value.
    [[nodiscard]] text<159> fault(std::span<std::byte const> answer, std::size_t rows) const noexcept {
        for (std::size_t k = 0; k < columns_.size(); ++k) {
            column_type const type = columns_[k].type;
            for (std::size_t row = 0, at = offset(k, rows); row < rows; ++row, at += size_of(type)) {
                double const value = number_at(answer, at, type);
                if (value < 0 || std::isinf(value))
                    return text<159>("computes a value for ")
                        .append(columns_[k].name)
                        .append(value < 0 ? " that is below 0" : " that is infinite");
            }
        }
        return {};
    }

    /// The value at an offset.
    template <class T>
    [[nodiscard]] static T value_at(std::span<std::byte const> answer, std::size_t at) noexcept {
        T value;
        std::memcpy(&value, answer.data() + at, sizeof value);
        return value;
    }

private:
    [[nodiscard]] static double number_at(std::span<std::byte const> answer, std::size_t at,
                                          column_type type) noexcept {
        switch (type) {
            case column_type::u32: return static_cast<double>(value_at<std::uint32_t>(answer, at));
            case column_type::i64: return static_cast<double>(value_at<std::int64_t>(answer, at));
            case column_type::u64: return static_cast<double>(value_at<std::uint64_t>(answer, at));
            case column_type::f32: return static_cast<double>(value_at<float>(answer, at));
            case column_type::f64: return value_at<double>(answer, at);
        }
        return 0;
    }
};

}  // namespace ration::plugin
