// SPDX-License-Identifier: BSL-1.0
#include "serve/schema.hpp"

#include <array>
#include <string>

namespace ration::program {
namespace {

/// Step i leads from version i to version i + 1. A step that was released is never changed.
constexpr std::array steps{
    R"(CREATE TABLE submissions (
         id INTEGER PRIMARY KEY AUTOINCREMENT,  -- a number is never used twice
         uid INTEGER NOT NULL,
         tenant TEXT NOT NULL,
         key TEXT NOT NULL,
         name TEXT NOT NULL,
         definition TEXT NOT NULL,
         directory TEXT NOT NULL,
         environment BLOB NOT NULL,
         priority INTEGER NOT NULL,
         submitted_ms INTEGER NOT NULL,
         stage TEXT NOT NULL,
         stage_ms INTEGER NOT NULL,
         incarnation INTEGER NOT NULL,
         step INTEGER NOT NULL,
         why TEXT NOT NULL,
         exit_code INTEGER,
         signal INTEGER,
         UNIQUE (uid, key)) STRICT;
       CREATE INDEX submissions_by_stage ON submissions (stage, id);
       CREATE TABLE stages (
         id INTEGER PRIMARY KEY,
         job INTEGER NOT NULL REFERENCES submissions (id),
         incarnation INTEGER NOT NULL,
         stage TEXT NOT NULL,
         step INTEGER NOT NULL,
         at_ms INTEGER NOT NULL,
         why TEXT NOT NULL) STRICT;
       CREATE INDEX stages_by_job ON stages (job, id);
       CREATE TABLE incarnations (
         job INTEGER NOT NULL REFERENCES submissions (id),
         number INTEGER NOT NULL,
         boot TEXT NOT NULL,
         started_ms INTEGER NOT NULL,
         ended_ms INTEGER,
         exit_code INTEGER,
         signal INTEGER,
         PRIMARY KEY (job, number)) STRICT, WITHOUT ROWID;)",
    R"(ALTER TABLE submissions ADD COLUMN cancelled INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE submissions ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE submissions ADD COLUMN not_before_ms INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE submissions ADD COLUMN time_limit_ms INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE submissions ADD COLUMN after TEXT NOT NULL DEFAULT '';)",
    R"(ALTER TABLE submissions ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE submissions ADD COLUMN uncounted INTEGER NOT NULL DEFAULT 0;
       CREATE TABLE settings (
         name TEXT PRIMARY KEY,
         value TEXT NOT NULL) STRICT, WITHOUT ROWID;)",
    R"(CREATE TABLE unhandled_ends (
         job INTEGER PRIMARY KEY REFERENCES submissions (id)) STRICT;)",
    R"(ALTER TABLE submissions ADD COLUMN rest_ms INTEGER NOT NULL DEFAULT 300000;
       ALTER TABLE submissions ADD COLUMN umask INTEGER;
       ALTER TABLE submissions ADD COLUMN command BLOB NOT NULL DEFAULT x'';)"};

[[nodiscard]] error unknown_version(char const* remedy) {
    return {.code = errc::not_supported,
            .operation = "read the tables of",
            .subject = "the service's database",
            .remedy = remedy};
}

constexpr char const* newer = "a newer ration has written it: use that one";

[[nodiscard]] result<void> take_steps(database& file, std::int64_t from, std::int64_t now_ms) {
    if (auto made = file.execute("CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, at_ms INTEGER "
                                 "NOT NULL) STRICT");
        !made)
        return made;
    for (auto version = from; version < newest_schema(); ++version) {
        if (auto done = file.execute(steps[static_cast<std::size_t>(version)]); !done) return done;
        if (auto noted = file.query("INSERT INTO migrations VALUES (?, ?)", {version + 1, now_ms}); !noted)
            return noted.failure();
    }
    return file.execute("PRAGMA user_version = " + std::to_string(newest_schema()));
}

}  // namespace

std::int64_t newest_schema() noexcept { return static_cast<std::int64_t>(steps.size()); }

result<void> migrate(database& file, std::int64_t now_ms) {
    auto const version = file.number("PRAGMA user_version");
    if (!version) return version.failure();
    if (*version == newest_schema()) return {};
    if (*version < 0 || *version > newest_schema()) return unknown_version(newer);
    if (auto begun = file.execute("BEGIN IMMEDIATE"); !begun) return begun;
    auto done = take_steps(file, *version, now_ms);
    if (done) return file.execute("COMMIT");
    static_cast<void>(file.execute("ROLLBACK"));  // the first failure is the one to report
    return done;
}

result<void> check_schema(database& file) {
    auto const version = file.number("PRAGMA user_version");
    if (!version) return version.failure();
    if (*version == newest_schema()) return {};
    return unknown_version(*version > newest_schema() ? newer : "start ration serve once, which brings it up to date");
}

}  // namespace ration::program
