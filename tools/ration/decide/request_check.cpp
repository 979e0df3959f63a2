// SPDX-License-Identifier: BSL-1.0
#include "decide/request_check.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "decide/row_key.hpp"

namespace ration::program {
namespace {

using checked = result<void, request_fault>;
using id_set = std::set<client_id>;

/// A table of the client, as the rules of both tables need it.
struct known_table {
    std::string_view name, row;  ///< "jobs", "job"
    table_id table;
    std::size_t rows, most;
    bool (*knows)(client_tables const&, client_id const&);
};

[[nodiscard]] request_fault fault_of(std::string_view row, client_id const& id, std::string cause, std::string fix,
                                     std::string pointer) {
    return {fmt::format("{} {}", row, text_of(id)), std::move(cause), std::move(fix), std::move(pointer)};
}

[[nodiscard]] bool is_text(client_id const& id) noexcept { return std::holds_alternative<std::string>(id); }

/// Checks one request; keeps the ids of each table after it.
class request_check {
    client_request const& request_;
    client_tables const& tables_;
    any_policy const& policy_;
    id_set added_jobs_, removed_jobs_, added_nodes_, removed_nodes_;
    std::vector<std::size_t> required_;  // keys of jobs

public:
    request_check(client_request const& request, client_tables const& tables, any_policy const& policy)
        : request_(request), tables_(tables), policy_(policy) {
        auto const keys = keys_of(table_id::jobs);
        for (std::size_t k = 0; k < keys.size(); ++k)
            if (!keys[k].otherwise && policy.reads(keys[k].column)) required_.push_back(k);
    }

    [[nodiscard]] checked check_ids() {
        known_table const nodes{
            "nodes",           "node",
            table_id::nodes,   tables_.nodes(),
            most_client_nodes, [](client_tables const& all, client_id const& id) { return all.knows_node(id); }};
        known_table const jobs{
            "jobs",           "job",
            table_id::jobs,   tables_.jobs().size(),
            most_client_jobs, [](client_tables const& all, client_id const& id) { return all.knows_job(id); }};
        if (auto const done = check_table(nodes, request_.nodes, added_nodes_, removed_nodes_); !done) return done;
        if (auto const done = check_table(jobs, request_.jobs, added_jobs_, removed_jobs_); !done) return done;
        if (rows_after(nodes, request_.nodes) == 0)
            return request_fault{"nodes", "is an empty table", "send at least one node in \"nodes\"",
                                 request_.nodes.is_empty() ? "" : "/nodes"};
        return check_kind_of_ids();
    }

    /// Columns that the policy reads and a new row lacks.
    [[nodiscard]] checked check_columns() const {
        for (auto const& row : request_.jobs.added)
            if (auto const done = check_columns_of(row); !done) return done;
        if (!request_.nodes.replaces) return {};
        auto const keys = keys_of(table_id::nodes);
        for (std::size_t k = 0; k < keys.size(); ++k) {
            if (!keys[k].name.starts_with("capacity.") || !policy_.reads(keys[k].column)) continue;
            bool const is_there =
                std::ranges::any_of(request_.nodes.added, [&](auto const& row) { return has(row, k); });
            if (!is_there)
                return request_fault{
                    "nodes", fmt::format("have no \"{}\", which {} reads", keys[k].name, policy_.about().id),
                    fmt::format("add \"{}\" to at least one node: {}", keys[k].name, range_of(keys[k])), "/nodes"};
        }
        return {};
    }

    /// The bounds of each job after the request. Pre: `check_ids` has succeeded.
    [[nodiscard]] checked check_bounds() const {
        for (auto const* const rows : {&request_.jobs.added, &request_.jobs.changed})
            for (auto const& row : *rows)
                for (std::size_t r = 0; r < std::size(standard_resources); ++r)
                    if (auto const done = check_bounds_of(row, r, rows == &request_.jobs.added); !done) return done;
        return {};
    }

    [[nodiscard]] result<vector_widths, request_fault> check_widths() const {
        auto const keys = keys_of(table_id::jobs);
        vector_widths widths = tables_.widths();
        bool const is_open = request_.jobs.replaces || tables_.jobs().empty();
        std::size_t values = 0;
        for (std::size_t k = 0; k < keys.size(); ++k) {
            if (keys[k].shape == column_shape::scalar) continue;
            if (is_open) widths[k] = width_of_added(k);
            for (auto const* const rows : {&request_.jobs.added, &request_.jobs.changed})
                for (auto const& row : *rows)
                    if (auto const done = check_width(row, k, widths[k], rows == &request_.jobs.added); !done)
                        return done.failure();
            values += widths[k];
        }
        std::size_t const rows = request_.jobs.added.size() + (request_.jobs.replaces ? 0 : tables_.jobs().size());
        if (values * rows > most_vector_values)
            return request_fault{"jobs", fmt::format("would have {} numbers in arrays", values * rows),
                                 fmt::format("send shorter arrays: at most {} together", most_vector_values), "/jobs"};
        return widths;
    }

    /// Pre: `check_ids` has succeeded.
    [[nodiscard]] checked check_holdings() const {
        std::set<std::tuple<client_id, client_id, resource_id>> seen;
        for (auto const& row : request_.held.rows) {
            if (!has_after(request_.jobs, added_jobs_, removed_jobs_, tables_.knows_job(row.job), row.job))
                return fault_of("job", row.job, "is not in the table jobs", "list it there, or leave out this row",
                                row.pointer + "/job");
            if (!has_after(request_.nodes, added_nodes_, removed_nodes_, tables_.knows_node(row.node), row.node))
                return fault_of("node", row.node, "is not in the table nodes", "list it there, or leave out this row",
                                row.pointer + "/node");
            if (!seen.emplace(row.job, row.node, row.resource).second)
                return fault_of("job", row.job, "is listed twice with one node and resource",
                                "send one row with the sum", row.pointer);
        }
        if (!request_.held.replaces && tables_.held().all().size() + request_.held.rows.size() > most_holdings)
            return request_fault{"held", "would have too many rows", fmt::format("send at most {}", most_holdings),
                                 "/held"};
        return {};
    }

private:
    [[nodiscard]] checked check_table(known_table const& table, table_change const& change, id_set& added,
                                      id_set& removed) const {
        id_set changed;
        auto const knows = [&](client_id const& id) { return !change.replaces && table.knows(tables_, id); };
        auto const unknown = [&](client_id const& id, std::string const& pointer) {
            return fault_of(table.row, id, fmt::format("is not in the table {}", table.name),
                            "send a row of a new one in \"added\"", pointer);
        };
        for (auto const& row : change.removed) {
            if (!knows(row.id)) return unknown(row.id, row.pointer);
            if (!removed.insert(row.id).second)
                return fault_of(table.row, row.id, "is removed twice", "name each one once", row.pointer);
        }
        for (auto const& row : change.changed) {
            if (!knows(row.id)) return unknown(row.id, row.pointer + "/id");
            if (removed.contains(row.id) || !changed.insert(row.id).second)
                return fault_of(table.row, row.id, "is in two rows of the request", "send one row for each",
                                row.pointer + "/id");
        }
        for (auto const& row : change.added)
            if (knows(row.id) || !added.insert(row.id).second)
                return fault_of(table.row, row.id,
                                knows(row.id) ? "is in the table already" : "is in two rows of the request",
                                "send one row for each, and those of known ones in \"changed\"", row.pointer + "/id");
        if (rows_after(table, change) > table.most)
            return request_fault{std::string(table.name), "would have too many rows",
                                 fmt::format("send at most {}", table.most), fmt::format("/{}", table.name)};
        return {};
    }

    /// Pre: the ids of the change are checked.
    [[nodiscard]] static std::size_t rows_after(known_table const& table, table_change const& change) noexcept {
        return change.replaces ? change.added.size() : table.rows + change.added.size() - change.removed.size();
    }

    /// Numbers of texts are counted from 1, so they could be those of other jobs.
    [[nodiscard]] checked check_kind_of_ids() const {
        auto const& added = request_.jobs.added;
        if (added.empty()) return {};
        bool const has_others = !request_.jobs.replaces && !tables_.jobs().empty();
        client_id const& first = has_others ? tables_.jobs().front() : added.front().id;
        for (auto const& row : added)
            if (is_text(row.id) != is_text(first))
                return fault_of("job", row.id, fmt::format("has another kind of id than job {}", text_of(first)),
                                "use numbers for all jobs, or texts for all", row.pointer + "/id");
        return {};
    }

    [[nodiscard]] static bool has_after(table_change const& change, id_set const& added, id_set const& removed,
                                        bool is_known, client_id const& id) {
        return added.contains(id) || (!change.replaces && is_known && !removed.contains(id));
    }

    [[nodiscard]] bool has(client_row const& row, std::size_t key) const {
        auto const cells = request_.cells_of(row);
        return std::ranges::find(cells, key, &row_cell::key) != cells.end();
    }
    /// Names all that is missing, so that a client need not find out one by one.
    [[nodiscard]] checked check_columns_of(client_row const& row) const {
        auto const keys = keys_of(table_id::jobs);
        std::string names, ranges;
        for (std::size_t const k : required_) {
            if (has(row, k)) continue;
            bool const is_vector = keys[k].shape == column_shape::vector;
            names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", keys[k].name);
            ranges += fmt::format("{}\"{}\" is {}{}", ranges.empty() ? "" : "; ", keys[k].name,
                                  is_vector ? "an array, each value " : "", range_of(keys[k]));
        }
        if (names.empty()) return {};
        return fault_of("job", row.id, fmt::format("has no {}, which {} reads", names, policy_.about().id),
                        "add to each job: " + ranges, row.pointer);
    }

    [[nodiscard]] checked check_bounds_of(client_row const& row, std::size_t resource, bool is_new) const {
        auto const name = standard_resources[resource].name;
        std::size_t const keys[] = {find_key(table_id::jobs, fmt::format("min.{}", name)),
                                    find_key(table_id::jobs, fmt::format("max.{}", name))};
        if (!has(row, keys[0]) && !has(row, keys[1])) return {};  // as before, or the defaults
        bounds its = is_new ? bounds{} : tables_.bounds_of(row.id, resource);
        for (std::size_t const k : {0, 1}) {
            std::int64_t& bound = k == 0 ? its.minimum : its.maximum;
            if (is_new) bound = static_cast<std::int64_t>(keys_of(table_id::jobs)[keys[k]].otherwise.value_or(0));
            for (auto const& cell : request_.cells_of(row))
                if (cell.key == keys[k]) bound = static_cast<std::int64_t>(request_.values[cell.first]);
        }
        bool const chooses_itself = its.maximum == 0 && name == "batch";
        if (its.minimum <= its.maximum || chooses_itself) return {};
        return fault_of("job", row.id,
                        fmt::format("would have min.{0} {1} above max.{0} {2}", name, its.minimum, its.maximum),
                        "send both keys, the minimum at most the maximum", row.pointer);
    }

    /// That of the first row with the column; 1 for one that the policy reads while there are no jobs.
    [[nodiscard]] std::uint32_t width_of_added(std::size_t key) const {
        for (auto const& row : request_.jobs.added)
            for (auto const& cell : request_.cells_of(row))
                if (cell.key == key) return cell.count;
        return policy_.reads(keys_of(table_id::jobs)[key].column) ? 1 : 0;
    }
    [[nodiscard]] checked check_width(client_row const& row, std::size_t key, std::uint32_t width,
                                      bool is_whole) const {
        auto const& name = keys_of(table_id::jobs)[key].name;
        for (auto const& cell : request_.cells_of(row)) {
            if (cell.key != key) continue;
            if (cell.count == width) return {};
            return fault_of(
                "job", row.id, fmt::format("has {} values of \"{}\", and other jobs have {}", cell.count, name, width),
                fmt::format("send all jobs with arrays \"{}\" of one length", name), row.pointer + '/' + name);
        }
        if (!is_whole || width == 0) return {};
        return fault_of("job", row.id, fmt::format("has no \"{}\", and other jobs have it", name),
                        "add it to each job, or leave it out of all", row.pointer);
    }
};

}  // namespace

result<vector_widths, request_fault> check_request(client_request const& request, client_tables const& tables,
                                                   any_policy const& policy) {
    request_check check(request, tables, policy);
    if (auto const done = check.check_ids(); !done) return done.failure();
    if (auto const done = check.check_columns(); !done) return done.failure();
    if (auto const done = check.check_holdings(); !done) return done.failure();
    if (auto const done = check.check_bounds(); !done) return done.failure();
    return check.check_widths();
}

}  // namespace ration::program
