// SPDX-License-Identifier: BSL-1.0
// A checker of answers that is slow and shares no code with the fast one: what that one has to come to.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "answer.hpp"

namespace unit {

using ration::check_rule;
using ration::grant;
using ration::unlimited;

using place = std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>;  // job row, node, resource

/// The rules of one row, in the words of the documentation.
[[nodiscard]] inline check_rule rule_of(host const& h, grant const& g, std::set<place> const& earlier) {
    if (g.job >= h.store.rows(table_id::jobs)) return check_rule::unknown_job;
    if (g.node >= h.store.rows(table_id::nodes)) return check_rule::unknown_node;
    if (g.resource >= 6) return check_rule::unknown_resource;
    if (g.amount < 0) return check_rule::negative_amount;
    if (g.amount != unlimited && g.amount > (std::int64_t{1} << 53)) return check_rule::amount_too_large;
    if (g.resource == 0 && g.amount > 0 && g.amount < 10) return check_rule::amount_too_small;
    if (g.amount == unlimited && g.resource == 2) return check_rule::unlimited_atomic;
    auto const state = h.store[h.columns.state][g.job];
    if (g.amount != 0 && (state == 3 || state == 4)) return check_rule::job_not_active;
    return earlier.contains({g.job, g.node, g.resource}) ? check_rule::duplicate : check_rule::passed;
}

struct slow_checker {
    host const& h;
    std::vector<grant> const& rows;
    std::vector<check_rule> rules;
    std::map<std::pair<bool, std::uint32_t>, std::vector<std::uint32_t>> groups;

    slow_checker(host const& on, std::vector<grant> const& answer) : h(on), rows(answer) {
        std::set<place> earlier;
        for (std::uint32_t i = 0; i < rows.size(); ++i) {
            rules.push_back(rule_of(h, rows[i], earlier));
            if (rules.back() == check_rule::passed) earlier.insert({rows[i].job, rows[i].node, rows[i].resource});
            groups[group_of(rows[i])].push_back(i);
        }
        classify_jobs();
    }

    [[nodiscard]] static std::pair<bool, std::uint32_t> group_of(grant const& g) {
        return {g.group != 0, g.group != 0 ? g.group : g.job};
    }

    /// What each job would hold of each resource, place by place.
    void classify_jobs() {
        std::map<std::uint64_t, std::vector<ration::setting>> holdings;
        for (auto const& held : h.held.all()) holdings[held.what.job.value].push_back(held.what);
        std::map<std::pair<std::uint32_t, std::uint16_t>, std::vector<std::uint32_t>> by_job;
        for (std::uint32_t i = 0; i < rows.size(); ++i)
            if (rules[i] == check_rule::passed) by_job[{rows[i].job, rows[i].resource}].push_back(i);
        for (auto const& [which, its] : by_job) {
            std::map<std::uint32_t, std::int64_t> amounts;
            auto const r = static_cast<resource_id>(which.second);
            for (auto const& its_held : holdings[h.id(which.first).value])
                if (its_held.resource == r) amounts[its_held.node] = its_held.amount;
            std::set<std::pair<bool, std::uint32_t>> in;
            for (auto const i : its) {
                amounts[rows[i].node] = rows[i].amount;
                in.insert(group_of(rows[i]));
            }
            std::int64_t sum = 0;
            for (auto const& [node, amount] : amounts)
                sum = amount == unlimited || sum == unlimited ? unlimited : sum + amount;
            auto const rule = in.size() > 1                                 ? check_rule::divided
                              : sum == 0 || sum == unlimited                ? check_rule::passed
                              : sum < h.store[h.of(r).minimum][which.first] ? check_rule::below_minimum
                              : sum > h.store[h.of(r).maximum][which.first] ? check_rule::above_maximum
                                                                            : check_rule::passed;
            for (auto const i : its) rules[i] = rule;
        }
    }

    [[nodiscard]] std::int64_t held(grant const& g) const {
        return h.held.amount(h.id(g.job), g.node, static_cast<resource_id>(g.resource));
    }
    static std::int64_t counted(std::int64_t amount) { return amount == unlimited ? 0 : amount; }
    static std::int64_t promised(std::int64_t amount, std::uint16_t resource) {
        return resource == 0 && amount <= 10 ? 0 : counted(amount);
    }
    [[nodiscard]] std::int64_t growth(grant const& g) const {
        return promised(g.amount, g.resource) - promised(held(g), g.resource);
    }

    using sums = std::map<std::pair<std::uint32_t, std::uint16_t>, std::int64_t>;
    [[nodiscard]] sums promised() const {
        sums s;
        for (auto const& holding : h.held.all())
            s[{holding.what.node, static_cast<std::uint16_t>(holding.what.resource)}] +=
                promised(holding.what.amount, static_cast<std::uint16_t>(holding.what.resource));
        return s;
    }
    void add(sums& s, std::vector<std::uint32_t> const& group) const {
        for (auto const i : group) s[{rows[i].node, rows[i].resource}] += growth(rows[i]);
    }
    /// True when the group takes something of a node that then promises more than it has.
    [[nodiscard]] bool over(sums& s, std::vector<std::uint32_t> const& group) const {
        for (auto const i : group) {
            auto const& g = rows[i];
            if (growth(g) > 0 && s[{g.node, g.resource}] > h.capacity(g.node, static_cast<resource_id>(g.resource)))
                return true;
        }
        return false;
    }
    [[nodiscard]] bool gives_back(std::vector<std::uint32_t> const& group) const {
        for (auto const i : group)
            if (growth(rows[i]) < 0) return true;
        return false;
    }

    /// What is wrong with the fast checker's verdict; empty when nothing is.
    [[nodiscard]] std::string_view fault(answer const& a) const {
        if (a.accepted.size() + a.rejected.size() != rows.size()) return "rows lost or invented";
        std::set<std::uint32_t> accepted;
        for (auto const& g : a.accepted) accepted.insert(static_cast<std::uint32_t>(a.row_of(g)));
        for (auto const& r : a.rejected)
            if (accepted.contains(r.row)) return "both accepted and rejected";
        sums after = promised();
        for (auto const& [key, group] : groups) {
            std::size_t in = 0;
            for (auto const i : group) in += accepted.contains(i);
            if (in != 0 && in != group.size()) return "half a group";
            if (in != 0) add(after, group);
        }
        for (auto const& [key, group] : groups)
            if (auto const reply = fault_of(a, group, accepted.contains(group[0]), after); !reply.empty()) return reply;
        return {};
    }

    [[nodiscard]] std::string_view fault_of(answer const& a, std::vector<std::uint32_t> const& group, bool in,
                                            sums after) const {
        bool clean = true;
        for (auto const i : group) clean &= rules[i] == check_rule::passed;
        if (in) return !clean ? "accepted a bad row" : over(after, group) ? "promised more than there is" : "";
        for (auto const i : group) {
            auto const expected = clean                            ? check_rule::over_capacity
                                  : rules[i] == check_rule::passed ? check_rule::broken_group
                                                                   : rules[i];
            if (a.rule_of(i) != expected) return "refused for a wrong reason";
        }
        if (!clean || gives_back(group)) return {};
        add(after, group);
        return over(after, group) ? "" : "refused what would have fitted";
    }
};

}  // namespace unit
