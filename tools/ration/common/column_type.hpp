// SPDX-License-Identifier: BSL-1.0
/// From the type of a column at run time to a type of C++, for readers of JSON.
#pragma once

#include <cstdint>

#include <ration/column.hpp>

namespace ration::program {

/// Calls `what` with the type of a column, and returns its result.
template <class What>
auto with_type(column_type type, What what) {
    switch (type) {
        case column_type::u32: return what.template operator()<std::uint32_t>();
        case column_type::i64: return what.template operator()<std::int64_t>();
        case column_type::u64: return what.template operator()<std::uint64_t>();
        case column_type::f32: return what.template operator()<float>();
        case column_type::f64: break;
    }
    return what.template operator()<double>();
}

}  // namespace ration::program
