// SPDX-License-Identifier: BSL-1.0
#include "decide/row_key.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include <ration/job.hpp>
#include <ration/resource.hpp>

namespace ration::program {
namespace {

constexpr double most_exact = 0x1p53;      // every whole number up to it is a double
constexpr double most_time = 0x1p62;       // ns, so that a difference of two times fits
constexpr double most_measurement = 1e15;  // steps, seconds, losses
constexpr double least_weight = 1e-6, most_weight = 1e6;
constexpr std::uint32_t unknown_phase = 0xFFFF'FFFF;
constexpr double most_count = 1'000'000;    // tiers, restarts, tenants
constexpr double most_node_devices = 4096;  // some policies give devices one by one
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::string_view computed[] = {"jobs/id", "jobs/held.", "nodes/free."};
constexpr std::array states{job_state::queued, job_state::running, job_state::restarting, job_state::done,
                            job_state::failed};

/// Columns that differ from the usual range of a type. A new column of the catalogue needs no entry. One of a single
/// resource comes before those of its family.
struct exception {
    std::string_view column;
    double least, most;
    std::optional<std::int64_t> otherwise{};
    value_form form = value_form::plain;
};
constexpr exception exceptions[] = {
    {"jobs/tenant", 0, most_count, 0},
    {"jobs/weight", least_weight, most_weight, 1},
    {"jobs/priority", -most_exact, most_exact, 0},
    {"jobs/submitted", -most_time, most_time},
    {"jobs/deadline", -1, most_time, -1},
    {"jobs/started", -most_time, most_time},
    {"jobs/state", 0, 0, {}, value_form::state},
    {"jobs/step", 0, most_exact},
    {"jobs/loss", -most_measurement, most_measurement},
    {"jobs/loss.best", -most_measurement, most_measurement},
    {"jobs/loss.target", -most_measurement, most_measurement, {}, value_form::maybe_unknown},
    {"jobs/loss.window", -most_measurement, most_measurement},
    {"jobs/tier", 0, most_count, 0},
    {"jobs/tiers", 0, most_count, 0},
    {"jobs/slo.met", 0, 1, 0},
    {"jobs/slo.slack", -most_measurement, most_measurement, 0, value_form::maybe_unknown},
    {"jobs/throttled.cpu", 0, most_count, 0},
    {"jobs/class", 0, most_count},
    {"jobs/phase", 0, unknown_phase, unknown_phase},
    {"jobs/expected.cpu", 0, most_measurement, {}, value_form::maybe_unknown},
    {"jobs/expected.memory", 0, most_measurement, {}, value_form::maybe_unknown},
    {"jobs/min.", 0, most_request_amount, 0},
    {"jobs/max.batch", 0, most_request_amount, 0, value_form::amount},
    {"jobs/max.", 0, most_request_amount, unlimited, value_form::amount},
    {"jobs/requested.", 0, most_request_amount, 0},
    {"jobs/total_steps", 0, most_measurement, {}, value_form::maybe_unknown},
    {"jobs/remaining", 0, most_measurement, {}, value_form::maybe_unknown},
    {"jobs/restarts", 0, most_count, 0},
    {"nodes/type", 0, 255, 0},
    {"nodes/capacity.gpu", 0, most_node_devices, 0},
    {"nodes/capacity.", 0, most_request_amount, 0},
};

[[nodiscard]] bool is_float(column_type type) noexcept { return type == column_type::f32 || type == column_type::f64; }

[[nodiscard]] std::uint64_t bits_of(column_type type, double value) noexcept {
    return type == column_type::f32 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                                    : std::bit_cast<std::uint64_t>(value);
}

[[nodiscard]] row_key key_of(column_description const& column, std::string name) {
    auto const* const special = std::ranges::find_if(
        exceptions, [&](exception const& e) { return e.column == column.name || e.column == name; });
    bool const is_special = special != std::end(exceptions);
    double const most = is_float(column.type) ? most_measurement : static_cast<double>(most_request_amount);
    row_key key{.name = name.substr(name.find('/') + 1),
                .column = std::move(name),
                .type = column.type,
                .shape = column.shape,
                .form = is_special ? special->form : value_form::plain,
                .least = is_special ? special->least : 0,
                .most = is_special ? special->most : most,
                .otherwise = {},
                .otherwise_text = {}};
    if (is_special && special->otherwise) {
        std::int64_t const value = *special->otherwise;
        key.otherwise =
            is_float(key.type) ? bits_of(key.type, static_cast<double>(value)) : static_cast<std::uint64_t>(value);
        key.otherwise_text = value == unlimited ? "\"unlimited\"" : fmt::format("{}", value);
    } else if (key.form == value_form::maybe_unknown) {
        key.otherwise = bits_of(key.type, unknown);
        key.otherwise_text = "\"nan\"";
    }
    return key;
}

[[nodiscard]] std::vector<row_key> list_keys(table_id table) {
    std::vector<row_key> keys;
    for (auto const& column : catalogue) {
        bool const is_ours = std::ranges::find(computed, column.name) != std::end(computed);
        if (table_index_of(column.name) != static_cast<std::size_t>(table) || is_ours) continue;
        if (!is_family(column.name)) {
            keys.push_back(key_of(column, std::string(column.name)));
            continue;
        }
        for (auto const& r : standard_resources)
            if (table == table_id::jobs || r.granularity != divisibility::setting)
                keys.push_back(key_of(column, std::string(column.name).append(r.name)));
    }
    return keys;
}

using key_index = std::unordered_map<std::string_view, std::size_t>;

[[nodiscard]] key_index index_of(table_id table) {
    key_index index;
    auto const keys = keys_of(table);
    for (std::size_t i = 0; i < keys.size(); ++i) index.emplace(keys[i].name, i);
    return index;
}

[[nodiscard]] error refusal(errc code, row_key const& key) noexcept {
    return {.code = code, .operation = "read value", .subject = std::string_view(key.name)};
}

[[nodiscard]] result<std::uint64_t> read_state(row_key const& key, nlohmann::json const& value) {
    for (auto const state : states)
        if (value == name_of(state)) return static_cast<std::uint64_t>(state);
    return refusal(errc::invalid_value, key);
}

/// Large bounds are powers of two or of ten.
[[nodiscard]] std::string bound_text(double bound) {
    constexpr double least_power = 1LL << 40;
    if (std::abs(bound) < least_power) return fmt::format("{}", bound);
    int exponent = 0;
    bool const is_power_of_two = std::frexp(std::abs(bound), &exponent) == 0.5;
    char const* const sign = bound < 0 ? "-" : "";
    return is_power_of_two ? fmt::format("{}2^{}", sign, exponent - 1)
                           : fmt::format("{}1e{:.0f}", sign, std::log10(std::abs(bound)));
}

}  // namespace

std::span<row_key const> keys_of(table_id table) {
    static std::vector<row_key> const jobs = list_keys(table_id::jobs), nodes = list_keys(table_id::nodes);
    return table == table_id::jobs ? jobs : nodes;
}

std::size_t find_key(table_id table, std::string_view name) {
    static key_index const jobs = index_of(table_id::jobs), nodes = index_of(table_id::nodes);
    auto const& index = table == table_id::jobs ? jobs : nodes;
    auto const found = index.find(name);
    return found == index.end() ? keys_of(table).size() : found->second;
}

std::string range_of(row_key const& key) {
    if (key.form == value_form::state) {
        std::string words;
        for (auto const state : states) words += fmt::format("{}{}", words.empty() ? "" : ", ", name_of(state));
        return "one of " + words;
    }
    return fmt::format("{} from {} to {}{}", is_float(key.type) ? "a number" : "a whole number", bound_text(key.least),
                       bound_text(key.most),
                       key.form == value_form::amount          ? ", or \"unlimited\""
                       : key.form == value_form::maybe_unknown ? ", or \"nan\" for unknown"
                                                               : "");
}

result<std::uint64_t> read_value(row_key const& key, nlohmann::json const& value) {
    if (key.form == value_form::state) return read_state(key, value);
    if (key.form == value_form::amount && value == "unlimited") return static_cast<std::uint64_t>(unlimited);
    if (key.form == value_form::maybe_unknown && (value == "nan" || value.is_null())) return bits_of(key.type, unknown);
    bool const fits = is_float(key.type) ? value.is_number() : value.is_number_integer();
    if (!fits) return refusal(errc::invalid_value, key);
    auto const number = value.get<double>();
    if (!(number >= key.least && number <= key.most)) return refusal(errc::out_of_range, key);
    if (is_float(key.type)) return bits_of(key.type, number);
    return static_cast<std::uint64_t>(value.get<std::int64_t>());
}

}  // namespace ration::program
