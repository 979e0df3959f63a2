// SPDX-License-Identifier: BSL-1.0
/// The host of the fuzz targets `policies` and `estimators`: tables with every standard column, which operations change
/// between ticks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include <ration/detail/tenant_sums.hpp>
#include <ration/host/holdings.hpp>
#include <ration/host/tenants.hpp>
#include <ration/setting.hpp>

#include "support.hpp"

namespace fuzz {

using ration::column_info;
using ration::column_type;
using ration::job_state;
using ration::resource_id;
using ration::table_id;
using ration::unlimited;

inline constexpr std::size_t most_jobs = 7, tenants = 3;
inline constexpr std::int64_t most_amount = std::int64_t{1} << 46;
inline constexpr auto resources = [] {
    std::array<ration::resource_info, std::size(ration::standard_resources) + 1> all{};
    for (std::size_t r = 0; r < std::size(ration::standard_resources); ++r) all[r] = ration::standard_resources[r];
    all.back() = ration::info_of<ration::save_interval>();
    return all;
}();

/// Values at which sums, divisions and conversions go wrong, and usual ones.
[[nodiscard]] inline double odd_number(std::uint8_t code) noexcept {
    constexpr double odd[] = {0,
                              -0.0,
                              -1,
                              1e300,
                              -1e300,
                              1e9,
                              1e-9,
                              0x1p63,
                              0x1p53,
                              std::numeric_limits<double>::denorm_min(),
                              std::numeric_limits<double>::min(),
                              std::numeric_limits<double>::max(),
                              std::numeric_limits<double>::lowest(),
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN(),
                              1};
    return code < 128 ? code / 8.0 : odd[code % std::size(odd)];
}
[[nodiscard]] inline std::int64_t odd_integer(std::uint8_t code) noexcept {
    constexpr std::int64_t odd[] = {std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min() + 1,
                                    -1,
                                    0,
                                    most_amount,
                                    ration::max_amount,
                                    std::int64_t{1} << 62};
    return code < 192 ? code : odd[code % std::size(odd)];
}
/// An amount that a host may show: up to 2^46.
[[nodiscard]] inline std::int64_t amount_of(std::uint8_t code) noexcept {
    if (code < 24) return code;
    if (code < 240) return (code - 20) * 40;
    constexpr std::int64_t large[] = {most_amount, 1 << 30, std::int64_t{1} << 40, 100'000};
    return large[code % std::size(large)];
}

struct host_shape {
    std::uint32_t width;  // of vector columns
    std::size_t nodes;
};
inline constexpr host_shape shapes[] = {{1, 1}, {2, 3}, {12, 4}};

/// The tables of a host, with every standard column.
class host {
    ration::snapshot_store store_;
    ration::standard_columns columns_;
    ration::ledger held_;
    ration::detail::tenant_sums tenants_;
    std::vector<column_info> pokable_;
    std::uint64_t last_id_ = 0;
    std::int64_t now_ = 0;

public:
    host(host const&) = delete;
    host& operator=(host const&) = delete;
    /// `more`: columns that are not standard ones.
    explicit host(host_shape const& shape, std::span<ration::column_description const> more = {})
        : columns_(declared(store_, shape.width, more)) {
        store_.changes().follow();
        std::array<ration::tenant_description, tenants> tree;
        for (std::size_t t = 0; t < tenants; ++t)
            tree[t] = {.id = t + 1, .parent = t == 0 ? ration::no_tenant : 0, .weight = static_cast<double>(t + 1)};
        tree[1].quota[static_cast<std::size_t>(resource_id::gpu)] = 4;
        bool const sized = store_.resize(table_id::jobs, most_jobs) && store_.resize(table_id::nodes, shape.nodes) &&
                           ration::fill_tenants(store_, columns_, tree);
        require(sized, "no memory for the tables");
        tenants_.prepare(store_, columns_, {.jobs = most_jobs, .tenants = tenants}, ration::seconds(100), true);
        for (auto const& c : store_.schema())
            if (is_pokable(c)) pokable_.push_back(c);
    }

    void reset() {
        require(static_cast<bool>(store_.resize(table_id::jobs, 0)), "no memory");
        ration::detail::reset(held_, columns_, store_.rows(table_id::nodes), 64);
        for (std::size_t node = 0; node < store_.rows(table_id::nodes); ++node)
            for (std::size_t r = 0; r < resources.size(); ++r)
                store_.at(columns_.resources[r].capacity, node) =
                    r == static_cast<std::size_t>(resource_id::gpu) ? 4 : 4000;
        last_id_ = 0;
        now_ = 0;
        store_.changes().mark_everything();
        show();
    }
    /// Brings the columns of holdings up to date. As by a host that shows `jobs/attained` as of now, jobs with devices
    /// are listed at each tick.
    void show() {
        ration::show_holdings(held_, store_, columns_);
        for (std::size_t row = 0; row < jobs(); ++row)
            if (store_.at(columns_.resources[2].held, row) != 0)
                store_.changes().mark(table_id::jobs, row, ration::progress_columns);
        tenants_.begin(store_, columns_, {now_});
    }

    void arrive(input& in) {
        std::size_t const row = store_.rows(table_id::jobs);
        if (row == most_jobs) return;
        require(static_cast<bool>(store_.resize(table_id::jobs, row + 1)), "no memory");
        auto const kind = in.take<std::uint8_t>();
        store_.at(columns_.id, row) = last_id_ += 1 + kind % 3;
        store_.at(columns_.tenant, row) = kind / 4 % tenants;
        store_.at(columns_.get<"jobs/weight">(), row) = 1;
        store_.at(columns_.get<"jobs/submitted">(), row) = now_;
        store_.at(columns_.get<"jobs/deadline">(), row) = -1;
        store_.at(columns_.state, row) = kind / 16 % 3;
        for (auto const& c : store_.schema()) fill_usual(c, row, kind / 64 + 1);
        for (std::size_t r = 0; r < resources.size(); ++r) {
            bool const counts_devices = r == static_cast<std::size_t>(resource_id::gpu);
            store_.at(columns_.resources[r].minimum, row) = 0;
            store_.at(columns_.resources[r].maximum, row) = counts_devices && kind % 2 == 0 ? 3 : unlimited;
        }
    }
    void set_state(std::size_t row, std::uint8_t code) {
        auto const state = static_cast<job_state>(code % 5);
        if (!ration::is_active(state) && code >= 128) held_.release({store_.at(columns_.id, row)});
        store_.at(columns_.state, row) = static_cast<std::uint32_t>(state);
        mark_job(row);
    }
    void erase(std::uint8_t mask) {
        std::array<bool, most_jobs> gone{};
        for (std::size_t row = 0; row < jobs(); ++row) {
            gone[row] = (mask >> row & 1) != 0;
            if (gone[row]) held_.release({store_.at(columns_.id, row)});
        }
        store_.erase_rows(table_id::jobs, gone.data());
    }
    void set_bounds(std::size_t row, std::size_t r, std::int64_t least, std::int64_t more) {
        store_.at(columns_.resources[r].minimum, row) = least;
        store_.at(columns_.resources[r].maximum, row) = more > most_amount - least ? unlimited : least + more;
        mark_job(row);
    }
    void set_requested(std::size_t row, std::size_t r, std::int64_t amount) {
        store_.at(columns_.resources[r].requested, row) = amount;
        mark_job(row);
    }
    /// A node has at most 4096 devices, as in `ration decide`: some policies give them one by one.
    void set_capacity(std::size_t node, std::size_t r, std::int64_t amount) {
        bool const counts_devices = r == static_cast<std::size_t>(resource_id::gpu);
        store_.at(columns_.resources[r].capacity, node) = counts_devices && amount > 4096 ? 4096 : amount;
        store_.changes().mark(table_id::nodes, node, ration::capacity_columns);
    }
    void hold(std::size_t row, std::size_t node, std::size_t r, std::int64_t amount) {
        auto const is_atomic = resources[r].granularity == ration::divisibility::atomic;
        held_.set({{store_.at(columns_.id, row)},
                   static_cast<std::uint32_t>(node),
                   static_cast<resource_id>(r),
                   amount == most_amount && !is_atomic ? unlimited : amount},
                  {now_});
    }
    void poke(std::uint8_t which, std::size_t row, input& in) {
        auto const& c = pokable_[which % pokable_.size()];
        std::size_t const rows = store_.rows(c.table);
        if (rows == 0) return;
        row %= rows;
        auto* const first = bytes_of(c);
        auto const spread = in.take<std::uint8_t>();  // how many values get one code
        auto code = in.take<std::uint8_t>();
        for (std::size_t i = 0; i < c.width; ++i) {
            if (i > 0 && spread < 128) code = in.take<std::uint8_t>();
            auto* const place = first + (row * c.width + i) * size_of(c.type);
            write(place, c, code);
        }
        store_.changes().mark(c.table, row, ration::all_columns);
    }

    [[nodiscard]] std::size_t jobs() const { return store_.rows(table_id::jobs); }
    [[nodiscard]] std::size_t nodes() const { return store_.rows(table_id::nodes); }
    /// The values of a column, which has a slot.
    [[nodiscard]] std::byte* bytes_of(column_info const& c) {
        return static_cast<std::byte*>(const_cast<void*>(store_.view()[c.table].slot[c.slot]));
    }
    [[nodiscard]] ration::snapshot_store& store() { return store_; }
    [[nodiscard]] ration::standard_columns const& columns() const { return columns_; }
    [[nodiscard]] ration::ledger& held() { return held_; }
    [[nodiscard]] ration::detail::tenant_sums const* limits_of_tenants() const { return tenants_.limits_of(); }
    void pass(std::int64_t time) { now_ += time; }
    [[nodiscard]] ration::nanoseconds now() const { return {now_}; }

private:
    void mark_job(std::size_t row) { store_.changes().mark(table_id::jobs, row, ration::all_columns); }

    [[nodiscard]] static ration::standard_columns declared(ration::snapshot_store& store, std::uint32_t width,
                                                           std::span<ration::column_description const> more) {
        auto made = ration::standard_columns::declare(store, resources);
        require(static_cast<bool>(made), "no memory for the columns");
        for (auto const& c : ration::catalogue) {
            if (c.offer == ration::column_offer::by_every_host || ration::is_family(c.name)) continue;
            bool const is_vector = c.shape == ration::column_shape::vector;
            require(static_cast<bool>(made->add(store, c.name, is_vector ? width : 1)), "no memory for a column");
        }
        for (auto const& r : resources)
            require(static_cast<bool>(store.declare<std::int64_t>(
                        ration::text<ration::longest_column_name>("jobs/request.").append(r.name).view())),
                    "no memory for a column");
        for (auto const& c : more) {
            bool const is_vector = c.shape == ration::column_shape::vector;
            require(static_cast<bool>(store.declare(c.name, c.type, is_vector ? width : 1)), "no memory for a column");
        }
        return *made;
    }

    /// Columns whose values the host answers for: the others stay consistent.
    [[nodiscard]] static bool is_pokable(column_info const& c) {
        auto const name = c.name.view();
        for (std::string_view const own : {"jobs/id", "jobs/state", "jobs/tenant", "jobs/held.", "jobs/min.",
                                           "jobs/max.", "nodes/free.", "nodes/capacity.", "held/", "tenants/"})
            if (name.starts_with(own)) return false;
        return true;
    }
    static void write(std::byte* place, column_info const& c, std::uint8_t code) {
        auto const put = [&](auto value) { std::memcpy(place, &value, sizeof value); };
        if (c.type == column_type::f64) put(odd_number(code));
        if (c.type == column_type::i64) put(odd_integer(code));
        if (c.type == column_type::u64) put(static_cast<std::uint64_t>(odd_integer(code)));
        if (c.type == column_type::u32)
            put(c.name == "nodes/type" ? std::uint32_t{code}
                : code < 192           ? std::uint32_t{code}
                                       : ~std::uint32_t{code % 3U});
    }
    void fill_usual(column_info const& c, std::size_t row, std::uint32_t scale) {
        if (c.table != table_id::jobs || !is_pokable(c)) return;
        auto* const first = bytes_of(c);
        for (std::size_t i = 0; i < c.width; ++i)
            if (bool const is_one = c.width == 1; !is_one || c.name.view().starts_with("jobs/request."))
                write(first + (row * c.width + i) * size_of(c.type), c,
                      static_cast<std::uint8_t>(is_one ? scale : i * scale));
    }
};

/// A saved state that someone has changed: some bytes of it have other values, or it has another length.
[[nodiscard]] inline std::vector<std::byte> changed_state(std::vector<std::byte> state, input& in) {
    auto const kind = in.take<std::uint8_t>();
    if (kind >= 224)
        state.resize(kind % 2 == 0 ? state.size() + kind % 16 : in.take<std::uint16_t>() % (state.size() + 1));
    for (int writes = kind % 8; writes > 0 && !state.empty(); --writes) {
        std::size_t const at = in.take<std::uint16_t>() % state.size();
        auto const type = in.take<std::uint8_t>(), code = in.take<std::uint8_t>();
        auto const put = [&](auto value) {
            std::memcpy(state.data() + at, &value, std::min(sizeof value, state.size() - at));
        };
        if (type % 4 == 0) put(odd_number(code));
        if (type % 4 == 1) put(odd_integer(code));
        if (type % 4 == 2) put(code);
        if (type % 4 == 3) put(~std::uint32_t{code});
    }
    return state;
}

/// One change of the tables: `operation` is from 4 to 15. `first_only`: jobs hold nothing on other nodes.
inline void change(host& on, std::uint8_t operation, fuzz::input& in, bool first_only = false) {
    auto const where = in.take<std::uint8_t>();
    std::size_t const jobs = on.jobs(), node = where / 8 % on.nodes(), r = where / 32 % resources.size();
    if (operation == 4) return on.arrive(in);
    if (operation == 5) return on.set_capacity(node, r, amount_of(in.take<std::uint8_t>()));
    if (operation == 6) return on.set_capacity(node, 2, where / 32);
    if (jobs == 0) return;
    std::size_t const row = where % 8 % jobs;
    if (operation == 7) on.set_state(row, in.take<std::uint8_t>());
    if (operation == 8) on.erase(in.take<std::uint8_t>());
    if (operation == 9 || operation == 10) {
        auto const least = amount_of(in.take<std::uint8_t>()), more = amount_of(in.take<std::uint8_t>());
        on.set_bounds(row, operation == 9 ? r : 2, least, more);
    }
    if (operation == 11) on.set_requested(row, r, odd_integer(in.take<std::uint8_t>()));
    if (operation == 12) on.hold(row, first_only ? 0 : node, r, amount_of(in.take<std::uint8_t>()));
    if (operation == 13) on.hold(row, first_only ? 0 : node, 2, where / 32);
    if (operation >= 14) on.poke(in.take<std::uint8_t>(), row, in);
}

}  // namespace fuzz
