// SPDX-License-Identifier: BSL-1.0
#include "serve/job_rows.hpp"

#include <charconv>
#include <utility>

namespace ration::program {
namespace {

constexpr auto columns =
    "id, uid, tenant, key, name, definition, directory, environment, priority, submitted_ms, stage, stage_ms, "
    "incarnation, step, why, exit_code, signal, cancelled, not_before_ms, retries, time_limit_ms, after, paused, "
    "uncounted, rest_ms, umask, command";

[[nodiscard]] std::vector<std::string> unpacked(std::string const& bytes) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < bytes.size();) {
        auto const end = bytes.find('\0', at);
        out.push_back(bytes.substr(at, end - at));
        at = end == bytes.npos ? end : end + 1;
    }
    return out;
}

[[nodiscard]] std::optional<std::int64_t> optional_in(sql_value const& value) {
    return is_null(value) ? std::nullopt : std::optional(number_in(value));
}

/// None: the row names no known stage.
[[nodiscard]] std::optional<stored_job> job_in(sql_row& row) {
    auto const now = stage_named(text_in(row[10]));
    if (!now) return std::nullopt;
    stored_job job{.id = number_in(row[0]),
                   .what = {},
                   .submitted_ms = number_in(row[9]),
                   .now = *now,
                   .stage_ms = number_in(row[11]),
                   .incarnation = number_in(row[12]),
                   .step = number_in(row[13]),
                   .why = text_in(std::move(row[14])),
                   .cancelled = number_in(row[17]) != 0,
                   .paused = number_in(row[22]) != 0,
                   .uncounted = number_in(row[23]),
                   .not_before_ms = number_in(row[18]),
                   .rest_ms = number_in(row[24]),
                   .end = {optional_in(row[15]), optional_in(row[16])}};
    job.what = {.uid = number_in(row[1]),
                .tenant = text_in(std::move(row[2])),
                .key = text_in(std::move(row[3])),
                .name = text_in(std::move(row[4])),
                .definition = text_in(std::move(row[5])),
                .directory = text_in(std::move(row[6])),
                .environment = unpacked(text_in(std::move(row[7]))),
                .priority = number_in(row[8]),
                .retries = number_in(row[19]),
                .time_limit_ms = number_in(row[20]),
                .after = numbers_in(text_in(std::move(row[21]))),
                .umask = optional_in(row[25]),
                .command = unpacked(text_in(std::move(row[26])))};
    return job;
}

}  // namespace

sql_bytes packed(std::vector<std::string> const& entries) {
    sql_bytes out;
    for (auto const& entry : entries) out.content.append(entry).push_back('\0');
    return out;
}

std::string text_of(std::vector<std::int64_t> const& numbers) {
    std::string out;
    for (auto const number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
    return out;
}

std::vector<std::int64_t> numbers_in(std::string const& text) {
    std::vector<std::int64_t> out;
    for (char const *at = text.data(), *const end = at + text.size(); at < end; ++at)
        at = std::from_chars(at, end, out.emplace_back()).ptr;
    return out;
}

result<std::vector<stored_job>> select_jobs(database& file, std::string const& condition,
                                            std::vector<sql_value> const& values) {
    auto rows =
        file.query(std::string("SELECT ") + columns + " FROM submissions " + condition + " ORDER BY id", values);
    if (!rows) return rows.failure();
    std::vector<stored_job> out;
    for (auto& row : *rows)
        if (auto job = job_in(row)) out.push_back(std::move(*job));
    return out;
}

result<std::vector<unreadable_job>> select_unreadable(database& file) {
    std::string sql = "SELECT id, name, stage FROM submissions WHERE stage NOT IN (''";
    std::vector<sql_value> known;
    for (auto const name : stage_names) {
        sql += ", ?";
        known.emplace_back(std::string(name));
    }
    auto rows = file.query(sql + ") ORDER BY id", known);
    if (!rows) return rows.failure();
    std::vector<unreadable_job> out;
    for (auto& row : *rows) out.push_back({number_in(row[0]), text_in(std::move(row[1])), text_in(std::move(row[2]))});
    return out;
}

}  // namespace ration::program
