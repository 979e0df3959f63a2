// SPDX-License-Identifier: BSL-1.0
#include "decide/request.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/printable.hpp"
#include "common/suggestion.hpp"
#include "decide/row_key.hpp"

namespace ration::program {
namespace {

using nlohmann::json;
using read = result<void, request_fault>;

constexpr std::array<std::string_view, 5> known_in_request{"jobs", "nodes", "held", "t", "seed"};
constexpr std::array<std::string_view, 3> known_in_change{"added", "changed", "removed"};
/// The last two are those of grants, so that a client can send applied grants back as they came.
constexpr std::array<std::string_view, 6> known_in_holding{"job", "node", "resource", "amount", "group", "reason"};
constexpr std::int64_t most_request_time = std::int64_t{1} << 62;
constexpr std::uint64_t most_id = std::uint64_t{1} << 53;

/// A value as a message shows it.
[[nodiscard]] std::string shown(json const& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "an array";
    return value.is_string() ? "the text " + quoted(value.get_ref<std::string const&>()) : value.dump();
}

/// "jobs[3].loss" for the pointer "/jobs/3/loss".
[[nodiscard]] std::string object_at(std::string_view pointer) {
    std::string out;
    while (!pointer.empty()) {
        pointer.remove_prefix(1);
        auto const token = pointer.substr(0, pointer.find('/'));
        bool const is_index = !token.empty() && token.find_first_not_of("0123456789") == std::string_view::npos;
        out += is_index ? fmt::format("[{}]", token) : fmt::format("{}{}", out.empty() ? "" : ".", token);
        pointer.remove_prefix(token.size());
    }
    return out.empty() ? "the request" : printable(out);
}

[[nodiscard]] request_fault fault_at(std::string pointer, std::string cause, std::string fix) {
    return {object_at(pointer), std::move(cause), std::move(fix), std::move(pointer)};
}

[[nodiscard]] request_fault not_a(std::string pointer, json const& value, std::string fix) {
    return fault_at(std::move(pointer), "is " + shown(value), std::move(fix));
}

/// A misspelt key must not be passed over.
[[nodiscard]] request_fault unknown_key(std::string const& name, std::string const& pointer,
                                        std::vector<std::string_view> const& known) {
    auto const meant = nearest(name, known);
    return {object_at(pointer), fmt::format("has an unknown key {}", quoted(name)),
            meant.empty() ? "leave it out" + suggestion(name, known) : fmt::format("write \"{}\"", meant),
            pointer + '/' + name};
}

template <class Known>
[[nodiscard]] read check_keys(json const& object, std::string const& pointer, Known const& known) {
    for (auto const& member : object.items())
        if (std::ranges::find(known, member.key()) == std::ranges::end(known))
            return unknown_key(member.key(), pointer, {known.begin(), known.end()});
    return {};
}

[[nodiscard]] result<client_id, request_fault> read_id(json const& value, std::string const& pointer) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() <= most_id)
        return client_id(value.get<std::uint64_t>());
    if (value.is_string() && !value.get_ref<std::string const&>().empty() &&
        value.get_ref<std::string const&>().size() <= longest_id)
        return client_id(value.get<std::string>());
    return not_a(pointer, value,
                 fmt::format("write a whole number from 0 to 2^53, or a text of 1 to {} bytes", longest_id));
}

/// The member of a row that names a job or a node.
[[nodiscard]] result<client_id, request_fault> id_in(json const& row, std::string const& pointer, char const* key) {
    auto const found = row.find(key);
    if (found == row.end())
        return fault_at(pointer, fmt::format("has no \"{}\"", key), fmt::format("add \"{}\", a number or a text", key));
    return read_id(*found, fmt::format("{}/{}", pointer, key));
}

/// Appends rows of a table to a request.
class row_reader {
    client_request& into_;
    table_id table_;

public:
    row_reader(client_request& into, table_id table) : into_(into), table_(table) {}

    [[nodiscard]] read append(json const& row, std::string pointer, std::vector<client_row>& rows) {
        if (!row.is_object()) return not_a(std::move(pointer), row, "write a row as an object");
        auto id = id_in(row, pointer, "id");
        if (!id) return id.failure();
        std::size_t const first = into_.cells.size();
        for (auto const& [name, value] : row.items()) {
            if (name == "id") continue;
            if (auto const done = append_cell(name, value, pointer); !done) return done;
        }
        rows.push_back({std::move(*id), std::move(pointer), first, into_.cells.size() - first});
        return {};
    }

private:
    [[nodiscard]] read append_cell(std::string const& name, json const& value, std::string const& pointer) {
        auto const keys = keys_of(table_);
        std::size_t const index = find_key(table_, name);
        if (index == keys.size()) return refuse_key(name, pointer);
        row_key const& key = keys[index];
        std::size_t const first = into_.values.size();
        if (key.shape == column_shape::scalar) {
            auto const bits = read_value(key, value);
            if (!bits) return not_a(pointer + '/' + name, value, "write " + range_of(key));
            into_.values.push_back(*bits);
        } else if (auto const done = append_values(key, value, pointer); !done) {
            return done;
        }
        into_.cells.push_back({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(first),
                               static_cast<std::uint32_t>(into_.values.size() - first)});
        return {};
    }
    [[nodiscard]] read append_values(row_key const& key, json const& value, std::string const& pointer) {
        if (!value.is_array() || value.empty() || value.size() > most_row_values)
            return not_a(pointer + '/' + key.name, value,
                         fmt::format("write an array of 1 to {} numbers", most_row_values));
        for (std::size_t i = 0; i < value.size(); ++i) {
            auto const bits = read_value(key, value[i]);
            if (!bits) return not_a(fmt::format("{}/{}/{}", pointer, key.name, i), value[i], "write " + range_of(key));
            into_.values.push_back(*bits);
        }
        return {};
    }
    [[nodiscard]] request_fault refuse_key(std::string const& name, std::string const& pointer) const {
        if (name.starts_with("held.") || name.starts_with("free."))
            return fault_at(pointer, fmt::format("has {}, which ration computes", quoted(name)),
                            "leave it out, and list in \"held\" which job holds what");
        if (name == "capacity.batch")
            return fault_at(pointer, fmt::format("has {}, and no node limits the batch", quoted(name)),
                            "leave it out, and send \"max.batch\" of each job whose batch the policy may choose");
        std::vector<std::string_view> names{"id"};
        for (auto const& key : keys_of(table_)) names.push_back(key.name);
        return unknown_key(name, pointer, names);
    }
};

[[nodiscard]] read append_rows(json const& rows, std::string const& pointer, std::size_t most, row_reader& reader,
                               std::vector<client_row>& into) {
    if (!rows.is_array()) return not_a(pointer, rows, "write an array of rows");
    if (rows.size() > most)
        return fault_at(pointer, fmt::format("has {} rows", rows.size()), fmt::format("send at most {}", most));
    into.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (auto const done = reader.append(rows[i], fmt::format("{}/{}", pointer, i), into); !done) return done;
    return {};
}

[[nodiscard]] read append_removed(json const& ids, std::string const& pointer, std::vector<removed_row>& into) {
    if (!ids.is_array()) return not_a(pointer, ids, "write an array of ids");
    for (std::size_t i = 0; i < ids.size(); ++i) {
        auto at = fmt::format("{}/{}", pointer, i);
        auto id = read_id(ids[i], at);
        if (!id) return id.failure();
        into.push_back({std::move(*id), std::move(at)});
    }
    return {};
}

[[nodiscard]] read read_table(json const& table, std::string const& pointer, std::size_t most, row_reader reader,
                              table_change& into) {
    into.replaces = table.is_array();
    if (into.replaces) return append_rows(table, pointer, most, reader, into.added);
    if (!table.is_object())
        return not_a(pointer, table,
                     "write an array of all rows, or an object with \"added\", \"changed\" or \"removed\"");
    if (auto const done = check_keys(table, pointer, known_in_change); !done) return done;
    for (auto const& [name, rows] : table.items()) {
        auto const at = pointer + '/' + name;
        auto const done = name == "removed"
                              ? append_removed(rows, at, into.removed)
                              : append_rows(rows, at, most, reader, name == "added" ? into.added : into.changed);
        if (!done) return done;
    }
    return {};
}

[[nodiscard]] read read_resource(json const& row, std::string const& pointer, resource_id& into) {
    auto const found = row.find("resource");
    std::vector<std::string_view> names;
    for (std::size_t r = 0; r < std::size(standard_resources); ++r) {
        names.push_back(standard_resources[r].name);
        if (found == row.end() || *found != names.back()) continue;
        into = static_cast<resource_id>(r);
        return {};
    }
    std::string fix = fmt::format("write one of {}", fmt::join(names, ", "));
    if (found == row.end()) return fault_at(pointer, "has no \"resource\"", std::move(fix));
    return not_a(pointer + "/resource", *found, std::move(fix));
}

[[nodiscard]] read read_amount(json const& row, std::string const& pointer, resource_id resource, std::int64_t& into) {
    auto const found = row.find("amount");
    if (found == row.end()) return fault_at(pointer, "has no \"amount\"", "add \"amount\"; 0 holds nothing");
    bool const can_be_unlimited =
        standard_resources[static_cast<std::size_t>(resource)].granularity != divisibility::atomic;
    into = unlimited;
    if (can_be_unlimited && *found == "unlimited") return {};
    bool const fits = found->is_number_unsigned() && found->get<std::uint64_t>() <= most_request_amount;
    if (fits) into = found->get<std::int64_t>();
    if (fits) return {};
    return not_a(pointer + "/amount", *found,
                 fmt::format("write a whole number from 0 to {}{}", most_request_amount,
                             can_be_unlimited ? ", or \"unlimited\"" : ""));
}

[[nodiscard]] read append_holding(json const& row, std::string pointer, std::vector<client_holding>& into) {
    if (!row.is_object()) return not_a(std::move(pointer), row, "write a row as an object");
    if (auto const done = check_keys(row, pointer, known_in_holding); !done) return done;
    auto job = id_in(row, pointer, "job");
    if (!job) return job.failure();
    auto node = id_in(row, pointer, "node");
    if (!node) return node.failure();
    client_holding one{.job = std::move(*job), .node = std::move(*node), .pointer = {}};
    if (auto const done = read_resource(row, pointer, one.resource); !done) return done;
    if (auto const done = read_amount(row, pointer, one.resource, one.amount); !done) return done;
    one.pointer = std::move(pointer);
    into.push_back(std::move(one));
    return {};
}

[[nodiscard]] read read_held(json const& table, holding_change& into) {
    into.replaces = table.is_array();
    if (!into.replaces) {
        if (!table.is_object()) return not_a("/held", table, "write an array of rows, or {\"changed\": [...]}");
        if (auto const done = check_keys(table, "/held", std::span(known_in_change).subspan(1, 1)); !done) return done;
        if (table.empty()) return {};
    }
    std::string const pointer = into.replaces ? "/held" : "/held/changed";
    json const& rows = into.replaces ? table : table.at("changed");
    if (!rows.is_array()) return not_a(pointer, rows, "write an array of rows");
    if (rows.size() > most_holdings)
        return fault_at(pointer, fmt::format("has {} rows", rows.size()),
                        fmt::format("send at most {}", most_holdings));
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (auto const done = append_holding(rows[i], fmt::format("{}/{}", pointer, i), into.rows); !done) return done;
    return {};
}

[[nodiscard]] read read_clock(json const& line, client_request& into) {
    if (auto const t = line.find("t"); t != line.end()) {
        if (!t->is_number_unsigned() || t->get<std::uint64_t>() > most_request_time)
            return not_a("/t", *t, "write a time in nanoseconds, a whole number from 0 to 2^62");
        into.t = t->get<std::int64_t>();
    }
    if (auto const seed = line.find("seed"); seed != line.end()) {
        if (!seed->is_number_unsigned()) return not_a("/seed", *seed, "write a whole number from 0 to 2^64 - 1");
        into.seed = seed->get<std::uint64_t>();
    }
    return {};
}

}  // namespace

result<client_request, request_fault> read_request(json const& line) {
    if (!line.is_object()) return not_a({}, line, "send one object a line, as in {\"jobs\": [...], \"nodes\": [...]}");
    if (auto const done = check_keys(line, {}, known_in_request); !done) return done.failure();
    client_request out;
    if (auto const done = read_clock(line, out); !done) return done.failure();
    if (auto const nodes = line.find("nodes"); nodes != line.end())
        if (auto const done = read_table(*nodes, "/nodes", most_client_nodes, {out, table_id::nodes}, out.nodes); !done)
            return done.failure();
    if (auto const jobs = line.find("jobs"); jobs != line.end())
        if (auto const done = read_table(*jobs, "/jobs", most_client_jobs, {out, table_id::jobs}, out.jobs); !done)
            return done.failure();
    if (auto const held = line.find("held"); held != line.end())
        if (auto const done = read_held(*held, out.held); !done) return done.failure();
    return out;
}

}  // namespace ration::program
