// SPDX-License-Identifier: BSL-1.0
#include "config/tenants.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include <ration/process/input_file.hpp>

#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "common/suggestion.hpp"
#include "config/config.hpp"
#include "config/document.hpp"
#include "config/job.hpp"

namespace ration::program {
namespace {

constexpr std::string_view tenant_example = "[[tenant]] with name, and quota = { gpu = 4 }";
constexpr std::size_t longest_tenant_name = 128;
constexpr double most_tenant_weight = 1e6, most_tenant_cores = 1e6;
constexpr std::int64_t most_tenant_devices = 1'000'000;

[[nodiscard]] std::size_t index_of(resource_id r) noexcept { return static_cast<std::size_t>(r); }

class tenant_reader {
    table_reader keys_;
    diagnostics& problems_;
    tenant_config tenant_;

    void refuse(position at, std::string sentence) const { problems_.add(at, std::move(sentence)); }
    [[nodiscard]] std::string title() const {
        return tenant_.name.empty() ? "this tenant" : "tenant " + quoted(tenant_.name);
    }

public:
    tenant_reader(table const& from, position at, diagnostics& problems)
        : keys_(from, "[[tenant]]", problems), problems_(problems) {
        tenant_.where = at;
    }

    [[nodiscard]] tenant_config read() {
        if (keys_.take("name") == nullptr) refuse(tenant_.where, "this tenant has no name; add name = \"...\"");
        read_name("name", tenant_.name, tenant_.name_at);
        read_name("parent", tenant_.parent, tenant_.parent_at);
        read_weight();
        read_amounts("quota", tenant_.quota);
        read_amounts("limit", tenant_.limit);
        read_amounts("lend", tenant_.lend);
        keys_.report_all_unknown();
        return std::move(tenant_);
    }

private:
    void read_name(std::string_view key, std::string& into, position& at) {
        auto const* const text = keys_.take<std::string>(key, "text");
        if (text == nullptr) return;
        at = keys_.place_of(key);
        if (text->empty() || text->size() > longest_tenant_name || text->find('\0') != std::string::npos)
            return refuse(at, fmt::format("'{}' is not the name of a tenant; write 1 to {} characters", key,
                                          longest_tenant_name));
        into = *text;
    }

    void read_weight() {
        auto const weight = keys_.take_number("weight", "a number above 0");
        if (!weight) return;
        if (*weight > 0 && *weight <= most_tenant_weight)
            tenant_.weight = *weight;
        else
            refuse(keys_.place_of("weight"), fmt::format("{}: its weight is {}; write a number above 0 and at most {}",
                                                         title(), *weight, most_tenant_weight));
    }

    void read_amounts(std::string_view key, tenant_amounts& into) {
        auto const* const from = keys_.take<table>(key, "a table, such as { gpu = 4, cpu = 8, memory = \"16GiB\" }");
        if (from == nullptr) return;
        table_reader keys(*from, fmt::format("'{}'", key), problems_);
        if (auto const* const devices = keys.take<std::int64_t>("gpu", "a whole number of devices")) {
            if (*devices >= 0 && *devices <= most_tenant_devices)
                into[index_of(resource_id::gpu)] = *devices;
            else
                refuse(keys.place_of("gpu"), fmt::format("{}: its {} is {} devices; write a number from 0 to {}",
                                                         title(), key, *devices, most_tenant_devices));
        }
        if (auto const cores = keys.take_number("cpu", "a number of cores")) {
            if (*cores >= 0 && *cores <= most_tenant_cores)
                into[index_of(resource_id::cpu)] = std::llround(*cores * 1000);
            else
                refuse(keys.place_of("cpu"), fmt::format("{}: its {} is {} cores; write a number from 0 to {}", title(),
                                                         key, *cores, most_tenant_cores));
        }
        if (auto const* const text = keys.take<std::string>("memory", "a size in quotes, such as \"2GiB\"")) {
            if (auto const size = parse_size(*text))
                into[index_of(resource_id::memory)] = size->count;
            else
                refuse(keys.place_of("memory"),
                       fmt::format("{}: its {} is {} of memory; write a size such as \"16GiB\"", title(), key,
                                   quoted(*text)));
        }
        keys.report_all_unknown();
    }
};

[[nodiscard]] tenant_config const* find(std::span<tenant_config const> all, std::string_view name) noexcept {
    auto const found = std::ranges::find(all, name, &tenant_config::name);
    return found == all.end() ? nullptr : &*found;
}

void find_namesakes(std::vector<tenant_config> const& all, diagnostics& problems) {
    for (auto second = all.begin(); second != all.end(); ++second) {
        auto const first = std::ranges::find(all.begin(), second, second->name, &tenant_config::name);
        if (first != second && !second->name.empty())
            problems.add(second->name_at,
                         fmt::format("tenant {}: the one in line {} has the same name; give each a unique name",
                                     quoted(second->name), first->name_at.line));
    }
}

void find_unknown_parents(std::vector<tenant_config> const& all, diagnostics& problems) {
    std::vector<std::string_view> names;
    names.reserve(all.size());
    for (auto const& tenant : all) names.push_back(tenant.name);
    for (auto const& tenant : all)
        if (!tenant.parent.empty() && find(all, tenant.parent) == nullptr)
            problems.add(tenant.parent_at,
                         fmt::format("tenant {}: its parent {} is not a tenant; add a [[tenant]] of that name{}",
                                     quoted(tenant.name), quoted(tenant.parent), suggestion(tenant.parent, names)));
}

/// Moves parents before their children. The tenants that are left are on a cycle, or below one.
[[nodiscard]] std::vector<tenant_config> in_order(std::vector<tenant_config> all, diagnostics& problems) {
    std::vector<tenant_config> ordered;
    ordered.reserve(all.size());
    for (std::size_t before = all.size() + 1; all.size() < before;) {
        before = all.size();
        std::erase_if(all, [&](tenant_config& tenant) {
            if (!tenant.parent.empty() && find(ordered, tenant.parent) == nullptr) return false;
            ordered.push_back(tenant);
            return true;
        });
    }
    for (auto const& tenant : all)
        problems.add(
            tenant.parent_at,
            fmt::format("tenant {}: its parents form a cycle; remove 'parent' from one of them", quoted(tenant.name)));
    return ordered;
}

void read_list(table_reader& root, std::vector<tenant_config>& into, diagnostics& problems) {
    value const* const v = root.take("tenant");
    if (v == nullptr) return;
    auto const* const list = std::get_if<array>(&v->data);
    if (list == nullptr) return problems.add(v->at, fmt::format("'tenant' must be a list; write a {}", tenant_example));
    if (list->size() > max_tenants)
        return problems.add(v->at, fmt::format("there are {} tenants; write at most {}", list->size(), max_tenants));
    for (auto const& tenant : *list)
        if (auto const* const from = std::get_if<table>(&tenant.data))
            into.push_back(tenant_reader(*from, tenant.at, problems).read());
        else
            problems.add(tenant.at,
                         fmt::format("a tenant must be a table, not {}; write a {}", kind_of(tenant), tenant_example));
}

/// The quotas of the tenants below `above` together; those without a parent if it is empty. At most 2^53 for each
/// of `max_tenants`, cut off before it could overflow.
[[nodiscard]] std::int64_t quota_below(tenant_tree const& tree, std::string_view above, std::size_t r) {
    std::int64_t sum = 0;
    for (auto const& tenant : tree.tenants)
        if (tenant.parent == above)
            sum = std::min(sum + (tenant.quota[r] > 0 ? tenant.quota[r] : quota_below(tree, tenant.name, r)),
                           2 * max_amount);
    return sum;
}

[[nodiscard]] std::string amount_text(std::int64_t amount, std::size_t r) {
    if (r == index_of(resource_id::cpu)) return fmt::format("{:g} cores", static_cast<double>(amount) / 1000);
    return std::to_string(amount);
}

void check_sum(tenant_tree const& tree, std::string_view above, std::string_view whose, std::int64_t most,
               std::size_t r, position at, diagnostics& problems) {
    std::int64_t const sum = quota_below(tree, above, r);
    if (sum > most)
        problems.add(at, fmt::format("the quotas of {}: they are {} together, and {} {}; lower a quota",
                                     standard_resources[r].name, amount_text(sum, r), whose, amount_text(most, r)));
}

}  // namespace

tenant_tree read_tenants(table_reader& root, diagnostics& problems) {
    tenant_tree tree;
    if (auto const* const text = root.take<std::string>("half_life", "a duration in quotes, such as \"24h\""))
        if (auto const half = read_duration("half_life", *text, root.place_of("half_life"), problems)) {
            tree.half_life = *half;
            if (half->count == 0)
                problems.add(root.place_of("half_life"), "'half_life' is 0; write a longer time, or leave it out");
        }
    std::vector<tenant_config> all;
    read_list(root, all, problems);
    find_namesakes(all, problems);
    std::size_t const before = problems.size();
    find_unknown_parents(all, problems);
    if (problems.size() > before) return tree;
    tree.tenants = in_order(std::move(all), problems);
    for (std::size_t r = 0; r < std::size(standard_resources); ++r)
        for (auto const& tenant : tree.tenants)
            if (tenant.quota[r] > 0)
                check_sum(tree, tenant.name, fmt::format("their parent {} has", quoted(tenant.name)), tenant.quota[r],
                          r, tenant.where, problems);
    return tree;
}

tenant_tree load_tenants(std::string const& file, diagnostics& problems) {
    static constexpr process::input_rules rules{.remedy = "give the path of a file with [[tenant]]",
                                                .most_bytes = max_config_bytes,
                                                .too_large = "is larger than 1 MiB"};
    auto const text = process::read_input(file, rules);
    if (!text) {
        problems.add({.file = file, .text = process::input_sentence(text.failure())});
        return {};
    }
    auto const document = parse_document(*text);
    if (!document) {
        problems.add(in_file(file, document.failure()));
        return {};
    }
    diagnostics found(file);
    table_reader root(*document, "the file", found);
    auto tree = read_tenants(root, found);
    root.report_all_unknown();
    if (found.empty() && tree.tenants.empty())
        found.add(position{}, fmt::format("the file has no tenant; add a {}", tenant_example));
    found.sort();
    for (auto const& problem : found) problems.add(problem);
    return tree;
}

void check_quotas(tenant_tree const& tree, millicores cpu, std::int64_t devices, diagnostics& problems) {
    if (tree.tenants.empty()) return;
    position const at = tree.tenants.front().where;
    check_sum(tree, "", "the capacity is", cpu.count, index_of(resource_id::cpu), at, problems);
    check_sum(tree, "", "the capacity is", devices, index_of(resource_id::gpu), at, problems);
}

std::uint32_t tenant_rows::row_of(std::string_view name) const noexcept {
    auto const found = numbers.find(name);
    return found == numbers.end() ? static_cast<std::uint32_t>(names.size()) : found->second;
}

bool tenant_rows::add(std::string const& name) {
    bool const is_new = numbers.emplace(name, static_cast<std::uint32_t>(names.size())).second;
    if (is_new) names.push_back(name);
    return is_new;
}

tenant_rows rows_of(tenant_tree const& tree, std::span<std::string const> names) {
    tenant_rows all;
    for (auto const& tenant : tree.tenants) {
        tenant_description row{.id = all.rows.size() + 1,
                               .weight = tenant.weight,
                               .quota = tenant.quota,
                               .limit = tenant.limit,
                               .lend = tenant.lend};
        if (!tenant.parent.empty()) row.parent = all.row_of(tenant.parent);
        all.rows.push_back(row);
        all.add(tenant.name);
    }
    for (auto const& name : names)
        if (all.add(name)) all.rows.push_back({.id = all.rows.size() + 1});
    return all;
}

}  // namespace ration::program
