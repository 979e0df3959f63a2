// SPDX-License-Identifier: BSL-1.0
#include "serve/stage_log.hpp"

#include <utility>

namespace ration::program {
namespace {

[[nodiscard]] std::optional<std::int64_t> end_in(sql_value const& value) {
    return is_null(value) ? std::nullopt : std::optional(number_in(value));
}

}  // namespace

result<stage_log> stage_log::open(std::string const& path) {
    auto file = database::open(path, database::access::read);
    if (!file) return file.failure();
    file->never_wait();
    return stage_log(std::move(file).value());
}

result<bool> stage_log::take_changed() {
    auto const version = file_.number("PRAGMA data_version");
    if (!version) return version.failure();
    return std::exchange(version_, *version) != *version;
}

result<std::int64_t> stage_log::newest() { return file_.number("SELECT coalesce(max(id), 0) FROM stages"); }

result<std::vector<logged_stage>> stage_log::read(std::int64_t after, std::int64_t uid, std::int64_t most) {
    auto rows = file_.query(
        "SELECT s.id, s.job, j.name, s.incarnation, s.stage, s.step, s.at_ms, s.why, j.exit_code, j.signal FROM stages "
        "s JOIN submissions j ON j.id = s.job WHERE s.id > ?1 AND (?2 = 0 OR j.uid = ?2) ORDER BY s.id LIMIT ?3",
        {after, uid, most});
    if (!rows) return rows.failure();
    std::vector<logged_stage> out;
    for (auto& row : *rows) {
        auto const what = stage_named(text_in(row[4]));
        if (!what) continue;  // the list of jobs reports it
        logged_stage one{
            .id = number_in(row[0]),
            .job = number_in(row[1]),
            .name = text_in(std::move(row[2])),
            .what = {number_in(row[3]), *what, number_in(row[5]), number_in(row[6]), text_in(std::move(row[7]))},
            .end = {}};
        if (is_final(*what)) one.end = {end_in(row[8]), end_in(row[9])};
        out.push_back(std::move(one));
    }
    return out;
}

}  // namespace ration::program
