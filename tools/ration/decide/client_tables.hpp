// SPDX-License-Identifier: BSL-1.0
/// The tables of a client: what its requests so far have sent, as the snapshot that a policy reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <ration/host/any_policy.hpp>
#include <ration/host/ledger.hpp>
#include <ration/host/snapshot_store.hpp>
#include <ration/host/standard_columns.hpp>
#include <ration/job.hpp>

#include "decide/client_id.hpp"
#include "decide/request.hpp"

namespace ration::program {

/// The values of a row of each vector column; 0 for a column that is not declared. By the index in `keys_of(jobs)`.
using vector_widths = std::vector<std::uint32_t>;

/// Tables with the standard columns, and the ledger of what jobs hold. A request changes them as a whole: `check` of
/// `request_check` comes first. Jobs with texts as ids have numbers in the order of their arrival as jobs/id.
class client_tables {
    struct client_node {
        client_id id;
        std::vector<std::uint64_t> values;  // by key
    };

    snapshot_store store_;
    standard_columns columns_;
    vector_widths widths_;
    std::vector<column_info> job_columns_;  // by key; width 0: not declared
    std::vector<client_id> job_ids_;        // by row
    std::map<client_id, std::uint64_t> job_numbers_;
    std::uint64_t last_number_ = 0;  // of a job with a text as id
    std::vector<client_node> nodes_;
    std::map<client_id, std::uint32_t> node_rows_;
    ledger held_;
    std::uint64_t schema_ = 0;
    bool rows_moved_ = true;

public:
    client_tables();
    client_tables(client_tables const&) = delete;
    client_tables& operator=(client_tables const&) = delete;
    ~client_tables() = default;

    /// Applies a request. Pre: `check_request` has accepted it for these tables and returned `widths`. O(changed rows),
    /// and O(rows) if rows come, go or move.
    void apply(client_request const& request, vector_widths const& widths);

    [[nodiscard]] snapshot_store const& store() const noexcept { return store_; }
    [[nodiscard]] standard_columns const& columns() const noexcept { return columns_; }
    [[nodiscard]] ledger const& held() const noexcept { return held_; }
    /// Changes when columns are declared again.
    [[nodiscard]] std::uint64_t schema() const noexcept { return schema_; }
    [[nodiscard]] vector_widths const& widths() const noexcept { return widths_; }

    /// By row.
    [[nodiscard]] std::span<client_id const> jobs() const noexcept { return job_ids_; }
    [[nodiscard]] std::size_t nodes() const noexcept { return nodes_.size(); }
    [[nodiscard]] client_id const& node(std::size_t row) const noexcept { return nodes_[row].id; }
    [[nodiscard]] bool knows_job(client_id const& id) const { return job_numbers_.contains(id); }
    /// Pre: `knows_job(id)`.
    [[nodiscard]] bounds bounds_of(client_id const& id, std::size_t resource) const;
    [[nodiscard]] bool knows_node(client_id const& id) const { return node_rows_.contains(id); }

private:
    void declare();
    void apply_nodes(client_request const& request);
    void edit_nodes(client_request const& request);
    void show_nodes();
    void keep_holdings(std::span<client_id const> former_nodes);
    void apply_jobs(client_request const& request, vector_widths const& widths);
    void remove_jobs(table_change const& change);
    void add_jobs(client_request const& request, std::map<client_id, std::uint64_t> const& former);
    void sort_jobs();
    void write_job(std::size_t row, client_request const& request, client_row const& from);
    void write_defaults(std::size_t row);
    void write(column_info const& column, std::size_t row, std::span<std::uint64_t const> values);
    void apply_holdings(holding_change const& change);
};

}  // namespace ration::program
