// SPDX-License-Identifier: BSL-1.0
/// The tables of a synthetic cluster as requests of `ration decide`: whole, or what has changed since the last one.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>

#include <ration/host/any_policy.hpp>
#include <ration/testing/synthetic_cluster.hpp>

#include "decide/row_key.hpp"

namespace ration::program::testing {

class cluster_requests {
    using json = nlohmann::json;
    using places = std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>, json>;

    ration::testing::synthetic_cluster const& cluster_;
    any_policy const* reader_;
    std::map<std::uint64_t, json> jobs_, nodes_;  // as the last request sent them, by id
    places held_;

public:
    /// `reader`: only the columns that this policy reads, besides bounds; all if it is null.
    explicit cluster_requests(ration::testing::synthetic_cluster const& cluster, any_policy const* reader = nullptr)
        : cluster_(cluster), reader_(reader) {}

    [[nodiscard]] std::string whole(std::uint64_t seed) {
        json line = frame(seed);
        remember();
        line["jobs"] = json::array();
        line["nodes"] = json::array();
        line["held"] = json::array();
        for (auto const& [id, row] : jobs_) line["jobs"].push_back(row);
        for (auto const& [id, row] : nodes_) line["nodes"].push_back(row);
        for (auto const& [place, row] : held_) line["held"].push_back(row);
        return line.dump();
    }

    /// Pre: `whole` was called before.
    [[nodiscard]] std::string changed(std::uint64_t seed) {
        auto const jobs = std::move(jobs_), nodes = std::move(nodes_);
        auto const held = std::move(held_);
        remember();
        json line = frame(seed);
        line["jobs"] = difference(jobs, jobs_);
        line["nodes"] = difference(nodes, nodes_);
        auto& rows = line["held"]["changed"] = json::array();
        for (auto const& [place, row] : held_)
            if (auto const found = held.find(place); found == held.end() || found->second != row) rows.push_back(row);
        for (auto const& [place, row] : held)
            if (!held_.contains(place) && jobs_.contains(std::get<0>(place))) {
                rows.push_back(row);
                rows.back()["amount"] = 0;
            }
        return line.dump();
    }

private:
    [[nodiscard]] json frame(std::uint64_t seed) const { return {{"t", cluster_.now().count}, {"seed", seed}}; }

    void remember() {
        jobs_ = rows_of(table_id::jobs);
        nodes_ = rows_of(table_id::nodes);
        held_.clear();
        for (auto const& holding : cluster_.held().all()) {
            auto const& s = holding.what;
            auto const resource = static_cast<std::uint32_t>(s.resource);
            held_[{s.job.value, s.node, resource}] = {
                {"job", s.job.value},
                {"node", s.node},
                {"resource", standard_resources[resource].name},
                {"amount", s.amount == unlimited ? json("unlimited") : json(s.amount)}};
        }
    }

    /// Rows with the same id: the keys that differ.
    [[nodiscard]] static json difference(std::map<std::uint64_t, json> const& before,
                                         std::map<std::uint64_t, json> const& after) {
        json out{{"added", json::array()}, {"changed", json::array()}, {"removed", json::array()}};
        for (auto const& [id, row] : before)
            if (!after.contains(id)) out["removed"].push_back(id);
        for (auto const& [id, row] : after) {
            auto const former = before.find(id);
            if (former == before.end()) {
                out["added"].push_back(row);
                continue;
            }
            json changed{{"id", id}};
            for (auto const& [key, value] : row.items())
                if (former->second.at(key) != value) changed[key] = value;
            if (changed.size() > 1) out["changed"].push_back(changed);
        }
        return out;
    }

    [[nodiscard]] std::map<std::uint64_t, json> rows_of(table_id table) const {
        std::map<std::uint64_t, json> rows;
        auto const ids = cluster_.store()[cluster_.columns().id];
        for (std::size_t row = 0; row < cluster_.store().rows(table); ++row) {
            std::uint64_t const id = table == table_id::jobs ? ids[row] : row;
            json& one = rows[id] = {{"id", id}};
            for (auto const& key : keys_of(table))
                if (is_sent(key, row)) one[key.name] = values_of(key, row);
        }
        return rows;
    }

    /// Grants are checked against bounds that the policy does not read; those that bind nothing are left out.
    [[nodiscard]] bool is_sent(row_key const& key, std::size_t row) const {
        if (reader_ == nullptr || reader_->reads(key.column)) return true;
        bool const is_bound = key.name.starts_with("min.") || key.name.starts_with("max.");
        return is_bound && values_of(key, row) != json::parse(key.otherwise_text);
    }

    [[nodiscard]] json values_of(row_key const& key, std::size_t row) const {
        switch (key.type) {
            case column_type::u32: return values_as<std::uint32_t>(key, row);
            case column_type::i64: return values_as<std::int64_t>(key, row);
            case column_type::u64: return values_as<std::uint64_t>(key, row);
            case column_type::f32: return values_as<float>(key, row);
            default: return values_as<double>(key, row);
        }
    }
    template <class T>
    [[nodiscard]] json values_as(row_key const& key, std::size_t row) const {
        auto const column = *cluster_.store().find<T>(key.column);
        T const* const first = &cluster_.store().at(column, row);
        if (key.shape == column_shape::scalar) return value_of(key, *first);
        json all = json::array();
        for (std::uint32_t i = 0; i < column.width; ++i) all.push_back(value_of(key, first[i]));
        return all;
    }
    template <class T>
    [[nodiscard]] static json value_of(row_key const& key, T value) {
        if (key.form == value_form::state) return name_of(static_cast<job_state>(value));
        if constexpr (std::is_floating_point_v<T>)
            if (std::isnan(value)) return "nan";
        if constexpr (std::is_same_v<T, std::int64_t>)
            if (value == unlimited) return "unlimited";
        return value;
    }
};

}  // namespace ration::program::testing
