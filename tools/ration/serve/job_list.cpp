// SPDX-License-Identifier: BSL-1.0
#include "serve/job_list.hpp"

#include <string_view>
#include <utility>

#include "serve/job_rows.hpp"
#include "serve/schema.hpp"

namespace ration::program {
namespace {

[[nodiscard]] error unknown_stage(std::int64_t job) {
    return {.code = errc::unverified,
            .operation = "read job",
            .subject = std::string_view(std::to_string(job)),
            .remedy = "its stage is unknown: use the version of ration that has written it"};
}

}  // namespace

result<job_list> job_list::open(std::string const& path) {
    auto file = database::open(path, database::access::read);
    if (!file) return file.failure();
    if (auto known = check_schema(*file); !known) return known.failure();
    return job_list(std::move(file).value());
}

result<std::vector<unreadable_job>> job_list::unreadable() { return select_unreadable(file_); }

result<std::optional<std::string>> job_list::setting(std::string const& name) {
    auto rows = file_.query("SELECT value FROM settings WHERE name = ?", {name});
    if (!rows) return rows.failure();
    return rows->empty() ? std::optional<std::string>() : text_in(std::move(rows->front().front()));
}

result<std::optional<stored_job>> job_list::find(std::int64_t job) {
    auto found = select_jobs(file_, "WHERE id = ?", {job});
    if (!found) return found.failure();
    if (!found->empty()) return std::optional(std::move(found->front()));
    auto const row = file_.query("SELECT 1 FROM submissions WHERE id = ?", {job});
    if (!row) return row.failure();
    return row->empty() ? result<std::optional<stored_job>>(std::optional<stored_job>()) : unknown_stage(job);
}

result<std::vector<stored_job>> job_list::all() { return select_jobs(file_, "", {}); }

result<job_page> job_list::page(std::int64_t after, std::optional<std::int64_t> uid) {
    constexpr std::int64_t rows_at_once = 8;  // each may have the size of a request
    std::string const wanted = uid ? "WHERE id > ? AND uid = ?" : "WHERE id > ?";
    job_page page{.jobs = {}, .next = after};
    for (std::size_t bytes = 0; page.jobs.size() < most_of_page && bytes < most_bytes_of_page;) {
        std::vector<sql_value> values{*page.next};
        if (uid) values.emplace_back(*uid);
        auto const last = file_.query("SELECT max(id) FROM (SELECT id FROM submissions " + wanted +
                                          " ORDER BY id LIMIT " + std::to_string(rows_at_once) + ")",
                                      values);
        if (!last) return last.failure();
        page.next = is_null(last->front().front()) ? std::nullopt : std::optional(number_in(last->front().front()));
        if (!page.next) return page;
        values.emplace_back(*page.next);
        auto some = select_jobs(file_, wanted + " AND id <= ?", values);
        if (!some) return some.failure();
        for (auto& job : *some) {
            bytes += job.what.definition.size();
            for (auto const& entry : job.what.environment) bytes += entry.size();
            page.jobs.push_back(std::move(job));
        }
    }
    return page;
}

result<std::vector<stored_job>> job_list::in_stages(std::span<stage const> wanted) {
    std::string condition = "WHERE stage IN (''";
    std::vector<sql_value> values;
    for (auto const s : wanted) {
        condition += ", ?";
        values.emplace_back(std::string(name_of(s)));
    }
    return select_jobs(file_, condition + ")", values);
}

result<std::vector<brief_job>> job_list::brief(std::optional<std::int64_t> job) {
    std::string const select =
        "SELECT id, stage, tenant, priority, not_before_ms, rest_ms, paused, after FROM submissions ";
    auto rows = job ? file_.query(select + "WHERE id = ?", {*job})
                    : file_.query(select + "WHERE stage = ? ORDER BY id", {std::string(name_of(stage::queued))});
    if (!rows) return rows.failure();
    std::vector<brief_job> out;
    for (auto& row : *rows) {
        // A job in an unknown stage has not completed
        auto const now = stage_named(text_in(row[1])).value_or(stage::pending);
        out.push_back({number_in(row[0]), now, text_in(std::move(row[2])), number_in(row[3]), number_in(row[4]),
                       number_in(row[5]), number_in(row[6]) != 0, numbers_in(text_in(std::move(row[7])))});
    }
    return out;
}

result<std::vector<past_stage>> job_list::history(std::int64_t job) {
    auto rows = file_.query("SELECT incarnation, stage, step, at_ms, why FROM stages WHERE job = ? ORDER BY id", {job});
    if (!rows) return rows.failure();
    std::vector<past_stage> out;
    for (auto& row : *rows) {
        auto const what = stage_named(text_in(row[1]));
        if (!what) continue;
        out.push_back({number_in(row[0]), *what, number_in(row[2]), number_in(row[3]), text_in(std::move(row[4]))});
    }
    return out;
}

result<std::string> job_list::boot_of(stored_job const& job) {
    auto rows = file_.query("SELECT boot FROM incarnations WHERE job = ? AND number = ?", {job.id, job.incarnation});
    if (!rows) return rows.failure();
    return rows->empty() ? std::string() : text_in(std::move(rows->front().front()));
}

}  // namespace ration::program
