// SPDX-License-Identifier: BSL-1.0
#include "serve/list_backup.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <iterator>
#include <unistd.h>
#include <vector>

#include <ration/process/descriptor.hpp>

namespace ration::program {
namespace {

/// Ascending; none in a database without tables.
[[nodiscard]] result<std::vector<std::int64_t>> jobs_in(database& file) {
    std::vector<std::int64_t> out;
    auto const tables = file.query("SELECT 1 FROM sqlite_schema WHERE name = 'submissions'");
    if (!tables) return tables.failure();
    if (tables->empty()) return out;
    auto const rows = file.query("SELECT id FROM submissions ORDER BY id");
    if (!rows) return rows.failure();
    out.reserve(rows->size());
    for (auto const& row : *rows) out.push_back(number_in(row.front()));
    return out;
}

/// None for a backup that is damaged or not there.
[[nodiscard]] std::vector<std::int64_t> jobs_of_backup(std::string const& path) {
    auto file = database::open(path, database::access::read);
    if (!file) return {};
    auto jobs = jobs_in(*file);
    return jobs ? std::move(jobs).value() : std::vector<std::int64_t>();
}

[[nodiscard]] result<void> replace(database& file, std::string const& kept) {
    auto const made = kept + ".new";
    static_cast<void>(::unlink(made.c_str()));  // of a start that was killed
    process::descriptor const empty(::open(made.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
    if (auto copied = file.query("VACUUM INTO ?", {made}); !copied) return copied.failure();
    if (::rename(made.c_str(), kept.c_str()) != 0)
        return process::path_error("replace", kept, errno, "let this user write to the folder");
    return {};
}

}  // namespace

result<backup_jobs> back_up(database& file, std::string const& path) {
    auto const kept = path + ".backup";
    auto const present = jobs_in(file);
    if (!present) return present.failure();
    auto const earlier = jobs_of_backup(kept);
    std::vector<std::int64_t> missing;
    std::ranges::set_difference(earlier, *present, std::back_inserter(missing));
    backup_jobs const out{std::ssize(missing), earlier.empty() ? 0 : earlier.back()};
    if (!missing.empty()) return out;
    if (auto made = replace(file, kept); !made) return made.failure();
    return out;
}

}  // namespace ration::program
