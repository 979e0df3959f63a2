// SPDX-License-Identifier: BSL-1.0
#include "decide/client_tables.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include <ration/assert.hpp>
#include <ration/host/holdings.hpp>

#include "common/column_type.hpp"
#include "decide/row_key.hpp"

namespace ration::program {
namespace {

template <ColumnValue T>
[[nodiscard]] column<T> handle_of(column_info const& info) noexcept {
    return {info.table, info.slot, info.width};
}

/// The value with these low bytes.
template <ColumnValue T>
[[nodiscard]] T value_of(std::uint64_t bits) noexcept {
    T value;
    if constexpr (sizeof(T) == sizeof bits) {
        std::memcpy(&value, &bits, sizeof value);
    } else {
        auto const low = static_cast<std::uint32_t>(bits);
        std::memcpy(&value, &low, sizeof value);
    }
    return value;
}

/// Sizes are bounded by `check_request`, so a failure means that the machine has no memory at all.
void require(bool done) { RATION_ASSERT(done, "no memory for the tables of a request"); }

}  // namespace

client_tables::client_tables() : widths_(keys_of(table_id::jobs).size(), 0) {
    for (std::size_t k = 0; k < widths_.size(); ++k)
        if (keys_of(table_id::jobs)[k].shape == column_shape::scalar) widths_[k] = 1;
    declare();
}

/// A store with the columns of `widths_`, and the present nodes. Pre: the jobs table is empty.
void client_tables::declare() {
    store_ = snapshot_store();
    auto declared = standard_columns::declare(store_, standard_resources);
    require(static_cast<bool>(declared));
    columns_ = std::move(*declared);
    for (auto const& key : keys_of(table_id::nodes))
        require(static_cast<bool>(store_.declare(key.column, key.type, 1)));
    job_columns_.clear();
    auto const keys = keys_of(table_id::jobs);
    for (std::size_t k = 0; k < keys.size(); ++k) {
        job_columns_.emplace_back();
        if (widths_[k] == 0) continue;
        auto const column = store_.declare(keys[k].column, keys[k].type, widths_[k]);
        require(static_cast<bool>(column));
        job_columns_[k] = *column;
    }
    require(static_cast<bool>(store_.resize(table_id::nodes, nodes_.size())));
    show_nodes();
    ++schema_;
    rows_moved_ = true;
}

void client_tables::apply(client_request const& request, vector_widths const& widths) {
    if (!request.nodes.is_empty()) apply_nodes(request);
    if (!request.jobs.is_empty() || widths != widths_) apply_jobs(request, widths);
    apply_holdings(request.held);
    if (rows_moved_) {
        show_holdings(held_, store_, columns_);
        held_.forget_changes();
    } else {
        show_changes(held_, store_, columns_);
    }
    rows_moved_ = false;
}

bounds client_tables::bounds_of(client_id const& id, std::size_t resource) const {
    std::size_t const row = row_of(store_, columns_, {job_numbers_.at(id)});
    auto const& its = columns_.resources[resource];
    return {store_.at(its.minimum, row), store_.at(its.maximum, row)};
}

void client_tables::apply_nodes(client_request const& request) {
    std::vector<client_id> former;
    former.reserve(nodes_.size());
    for (auto const& node : nodes_) former.push_back(node.id);
    edit_nodes(request);
    require(static_cast<bool>(store_.resize(table_id::nodes, nodes_.size())));
    show_nodes();
    rows_moved_ = true;
    bool const same = std::ranges::equal(nodes_, former, {}, &client_node::id);
    if (same) return;
    node_rows_.clear();
    for (std::size_t row = 0; row < nodes_.size(); ++row)
        node_rows_.emplace(nodes_[row].id, static_cast<std::uint32_t>(row));
    keep_holdings(former);
}

void client_tables::edit_nodes(client_request const& request) {
    auto const keys = keys_of(table_id::nodes);
    auto const set = [&](client_node& node, client_row const& from) {
        for (auto const& cell : request.cells_of(from)) node.values[cell.key] = request.values[cell.first];
    };
    if (request.nodes.replaces) nodes_.clear();
    for (auto const& row : request.nodes.changed) set(nodes_[node_rows_.at(row.id)], row);
    for (auto const& gone : request.nodes.removed)
        std::erase_if(nodes_, [&](auto const& n) { return n.id == gone.id; });
    for (auto const& row : request.nodes.added) {
        auto& node = nodes_.emplace_back(client_node{row.id, {}});
        for (auto const& key : keys) node.values.push_back(key.otherwise.value_or(0));
        set(node, row);
    }
}

/// Copies the nodes into their columns.
void client_tables::show_nodes() {
    auto const keys = keys_of(table_id::nodes);
    for (std::size_t k = 0; k < keys.size(); ++k) {
        auto const* const column = find_column(store_.schema(), keys[k].column);
        for (std::size_t row = 0; row < nodes_.size(); ++row)
            write(*column, row, std::span(nodes_[row].values).subspan(k, 1));
    }
}

/// Rows of nodes have changed: the holdings on those that are left get the new rows.
void client_tables::keep_holdings(std::span<client_id const> former_nodes) {
    std::vector<setting> kept;
    for (auto const& holding : held_.all()) {
        auto const row = node_rows_.find(former_nodes[holding.what.node]);
        if (row == node_rows_.end()) continue;
        kept.push_back(holding.what);
        kept.back().node = row->second;
    }
    ration::detail::reset(held_, columns_, nodes_.size(), kept.size());
    for (auto const& s : kept) held_.set(s, {});
}

void client_tables::apply_jobs(client_request const& request, vector_widths const& widths) {
    for (auto const& row : request.jobs.changed) {
        std::size_t const at = row_of(store_, columns_, {job_numbers_.at(row.id)});
        write_job(at, request, row);
    }
    std::map<client_id, std::uint64_t> former;
    if (request.jobs.replaces) {
        former.swap(job_numbers_);
        job_ids_.clear();
        require(static_cast<bool>(store_.resize(table_id::jobs, 0)));
    } else if (!request.jobs.removed.empty()) {
        remove_jobs(request.jobs);
    }
    if (widths != widths_) {
        widths_ = widths;
        declare();
    }
    add_jobs(request, former);
    for (auto const& [id, number] : former)
        if (!job_numbers_.contains(id)) held_.release({number});
}

void client_tables::remove_jobs(table_change const& change) {
    std::size_t const rows = job_ids_.size();
    auto const gone = std::make_unique<bool[]>(rows);
    for (auto const& removed : change.removed) {
        auto const job = job_numbers_.find(removed.id);
        gone[row_of(store_, columns_, {job->second})] = true;
        held_.release({job->second});
        job_numbers_.erase(job);
    }
    std::size_t kept = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        if (gone[row]) continue;
        if (kept != row) job_ids_[kept] = std::move(job_ids_[row]);
        ++kept;
    }
    job_ids_.resize(kept);
    store_.erase_rows(table_id::jobs, gone.get());
    rows_moved_ = true;
}

/// A job of `former` keeps its number.
void client_tables::add_jobs(client_request const& request, std::map<client_id, std::uint64_t> const& former) {
    auto const& added = request.jobs.added;
    if (added.empty()) return;
    rows_moved_ = true;
    std::size_t const first = job_ids_.size();
    require(static_cast<bool>(store_.resize(table_id::jobs, first + added.size())));
    for (std::size_t i = 0; i < added.size(); ++i) {
        client_id const& id = added[i].id;
        auto const known = former.find(id);
        auto const* const number = std::get_if<std::uint64_t>(&id);
        std::uint64_t const its = number != nullptr ? *number : known != former.end() ? known->second : ++last_number_;
        job_ids_.push_back(id);
        job_numbers_.emplace(id, its);
        store_.at(columns_.id, first + i) = its;
        write_defaults(first + i);
        write_job(first + i, request, added[i]);
    }
    if (!std::ranges::is_sorted(std::as_const(store_)[columns_.id])) sort_jobs();
}

/// Into the order of jobs/id.
void client_tables::sort_jobs() {
    auto const ids = std::as_const(store_)[columns_.id];
    std::vector<std::size_t> order(ids.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t row) { return ids[row]; });
    for (auto const& info : store_.schema()) {
        if (info.table != table_id::jobs) continue;
        with_type(info.type, [&]<class T>() {
            auto const cells = store_[handle_of<T>(info)];
            std::vector<T> const before(cells.begin(), cells.end());
            for (std::size_t row = 0; row < order.size(); ++row)
                std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(order[row] * info.width), info.width,
                            cells.begin() + static_cast<std::ptrdiff_t>(row * info.width));
        });
    }
    std::vector<client_id> sorted;
    sorted.reserve(order.size());
    for (std::size_t const row : order) sorted.push_back(std::move(job_ids_[row]));
    job_ids_ = std::move(sorted);
}

void client_tables::write_job(std::size_t row, client_request const& request, client_row const& from) {
    for (auto const& cell : request.cells_of(from))
        if (widths_[cell.key] > 0) write(job_columns_[cell.key], row, request.values_of(cell));
}

void client_tables::write_defaults(std::size_t row) {
    auto const keys = keys_of(table_id::jobs);
    for (std::size_t k = 0; k < keys.size(); ++k) {
        auto const& otherwise = keys[k].otherwise;
        if (otherwise && widths_[k] == 1) write(job_columns_[k], row, std::span(&*otherwise, 1));
    }
}

void client_tables::write(column_info const& column, std::size_t row, std::span<std::uint64_t const> values) {
    with_type(column.type, [&]<class T>() {
        auto* const cells = &store_.at(handle_of<T>(column), row);
        for (std::size_t i = 0; i < values.size(); ++i) cells[i] = value_of<T>(values[i]);
    });
}

void client_tables::apply_holdings(holding_change const& change) {
    if (change.replaces) {
        ration::detail::reset(held_, columns_, nodes_.size(), change.rows.size());
        rows_moved_ = true;
    }
    for (auto const& row : change.rows)
        held_.set({{job_numbers_.at(row.job)}, node_rows_.at(row.node), row.resource, row.amount}, {});
}

}  // namespace ration::program
