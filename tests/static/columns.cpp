// SPDX-License-Identifier: BSL-1.0
// The catalogue of standard columns, and declarations against it.
#include <ration/column.hpp>

namespace columns_near_misses {

using ration::catalogue_size;
using ration::column_shape;
using ration::column_type;
using ration::in;
using ration::in_rows;
using ration::index_in_catalogue;

constexpr bool is(std::string_view name, column_type type, column_shape shape = column_shape::scalar) {
    std::size_t const i = index_in_catalogue(name);
    return i < catalogue_size && ration::catalogue[i].type == type && ration::catalogue[i].shape == shape;
}

// Every column of design and documentation, with its type.
static_assert(is("jobs/id", column_type::u64) && is("jobs/tenant", column_type::u32) &&
              is("jobs/weight", column_type::f64));
static_assert(is("jobs/submitted", column_type::i64) && is("jobs/started", column_type::i64) &&
              is("jobs/state", column_type::u32));
static_assert(is("jobs/step", column_type::u64) && is("jobs/loss", column_type::f64) &&
              is("jobs/loss.best", column_type::f64));
static_assert(is("jobs/loss.window", column_type::f64, column_shape::vector));
static_assert(is("jobs/tier", column_type::u32) && is("jobs/tiers", column_type::u32));
static_assert(is("jobs/slo.met", column_type::f64) && is("jobs/slo.slack", column_type::f64));
static_assert(is("jobs/speedup", column_type::f64, column_shape::vector) &&
              is("jobs/batch", column_type::i64, column_shape::vector));
static_assert(is("jobs/remaining", column_type::f64) && is("jobs/restart_cost", column_type::f64));
static_assert(is("jobs/class", column_type::u32) && is("jobs/phase", column_type::u32) &&
              is("jobs/expected.cpu", column_type::f64) && is("jobs/expected.memory", column_type::f64));
static_assert(index_in_catalogue("jobs/expected.gpu") == catalogue_size);
static_assert(index_in_catalogue("jobs/throttled.memory") == catalogue_size);
static_assert(is("held/job", column_type::u64) && is("held/node", column_type::u32) &&
              is("held/resource", column_type::u32) && is("held/amount", column_type::i64));

// Families: one column for each resource, the host's own resources too.
static_assert(is("jobs/used.cpu", column_type::f64) && is("jobs/used.gpu.sm", column_type::f64) &&
              is("jobs/used.x", column_type::f64));
static_assert(is("jobs/held.cpu", column_type::i64) && is("jobs/min.memory", column_type::i64) &&
              is("jobs/max.memory", column_type::i64));
static_assert(is("nodes/capacity.gpu", column_type::i64) && is("nodes/free.cache", column_type::i64));
static_assert(index_in_catalogue("jobs/used.cpu") == index_in_catalogue("jobs/used.memory"));

// Near misses.
static_assert(index_in_catalogue("") == catalogue_size);
static_assert(index_in_catalogue("jobs/") == catalogue_size);
static_assert(index_in_catalogue("jobs/used.") == catalogue_size);
static_assert(index_in_catalogue("jobs/used") == catalogue_size);
static_assert(index_in_catalogue("jobs/usedcpu") == catalogue_size);
static_assert(index_in_catalogue("nodes/used.cpu") == catalogue_size);
static_assert(index_in_catalogue("jobs/ids") == catalogue_size);
static_assert(index_in_catalogue("jobs/i") == catalogue_size);
static_assert(index_in_catalogue("jobs/loss.bes") == catalogue_size);
static_assert(index_in_catalogue("jobs/loss.best.") == catalogue_size);
static_assert(index_in_catalogue("Jobs/id") == catalogue_size);
static_assert(index_in_catalogue(" jobs/id") == catalogue_size);
static_assert(index_in_catalogue("jobs/speedup.cpu") == catalogue_size);

// Which table a name belongs to.
using ration::table_count;
using ration::table_index_of;
static_assert(table_index_of("jobs/x") == 0 && table_index_of("nodes/x") == 1 && table_index_of("held/x") == 2 &&
              table_index_of("resources/x") == table_count);
static_assert(table_index_of("") == table_count && table_index_of("jobs/") == table_count &&
              table_index_of("jobs") == table_count);
static_assert(table_index_of("job/x") == table_count && table_index_of("/x") == table_count &&
              table_index_of("x/jobs/") == table_count);

// What a column may hold.
static_assert(ration::ColumnValue<std::uint32_t> && ration::ColumnValue<std::int64_t> &&
              ration::ColumnValue<std::uint64_t> && ration::ColumnValue<float> && ration::ColumnValue<double>);
static_assert(!ration::ColumnValue<std::int32_t> && !ration::ColumnValue<bool> && !ration::ColumnValue<char> &&
              !ration::ColumnValue<long double> && !ration::ColumnValue<double const> && !ration::ColumnValue<double*>);
static_assert(ration::type_of<std::uint32_t> == column_type::u32 && ration::type_of<std::int64_t> == column_type::i64 &&
              ration::type_of<std::uint64_t> == column_type::u64 && ration::type_of<float> == column_type::f32 &&
              ration::type_of<double> == column_type::f64);
static_assert(ration::size_of(column_type::u32) == 4 && ration::size_of(column_type::f32) == 4 &&
              ration::size_of(column_type::i64) == 8 && ration::size_of(column_type::u64) == 8 &&
              ration::size_of(column_type::f64) == 8);

// Declarations, in order and by name.
using some = ration::columns<in<std::uint64_t, "jobs/id">, in_rows<double, "jobs/speedup">, in<float, "jobs/mine">>;
static_assert(some::count == 3);
static_assert(some::index_of("jobs/id") == 0 && some::index_of("jobs/speedup") == 1 &&
              some::index_of("jobs/mine") == 2);
static_assert(some::index_of("jobs/step") == some::count && some::index_of("") == some::count);
static_assert(some::descriptions[1].shape == column_shape::vector && some::descriptions[2].type == column_type::f32);
static_assert(ration::columns<>::count == 0 && ration::columns<>::index_of("jobs/id") == 0);

// A column of the host's own may be of any type and either shape; the longest name is 47 characters.
static_assert(in<float, "jobs/own">::description.type == column_type::f32);
static_assert(in_rows<std::uint32_t, "jobs/own">::description.shape == column_shape::vector);
static_assert(in<double, "jobs/345678901234567890123456789012345678901234">::description.name.size() == 47);

}  // namespace columns_near_misses
