// SPDX-License-Identifier: BSL-1.0
#include "serve/job_store.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fcntl.h>
#include <iterator>
#include <unistd.h>
#include <utility>

#include <ration/process/descriptor.hpp>

#include "serve/schema.hpp"

namespace ration::program {
namespace {

constexpr auto columns =
    "id, uid, tenant, key, name, definition, directory, environment, priority, submitted_ms, stage, stage_ms, "
    "incarnation, step, why, exit_code, signal, cancelled, not_before_ms, retries, time_limit_ms, after, paused, "
    "uncounted";

/// Each entry with a zero byte at its end.
[[nodiscard]] sql_bytes packed(std::vector<std::string> const& entries) {
    sql_bytes out;
    for (auto const& entry : entries) out.content.append(entry).push_back('\0');
    return out;
}

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

[[nodiscard]] sql_value value_of(std::optional<std::int64_t> number) {
    return number ? sql_value(*number) : sql_value();
}

[[nodiscard]] std::string text_of(std::vector<std::int64_t> const& numbers) {
    std::string out;
    for (auto const number : numbers) out += (out.empty() ? "" : ",") + std::to_string(number);
    return out;
}

/// Of what `text_of` wrote.
[[nodiscard]] std::vector<std::int64_t> numbers_in(std::string const& text) {
    std::vector<std::int64_t> out;
    for (char const *at = text.data(), *const end = at + text.size(); at < end; ++at)
        at = std::from_chars(at, end, out.emplace_back()).ptr;
    return out;
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
                .after = numbers_in(text_in(std::move(row[21])))};
    return job;
}

[[nodiscard]] error refusal(errc code, char const* operation, std::string_view subject, char const* remedy) {
    return {.code = code, .operation = operation, .subject = subject, .remedy = remedy};
}

[[nodiscard]] error unknown_job(std::int64_t job) {
    return refusal(errc::not_found, "find job", std::to_string(job), "list the jobs: ration status");
}

[[nodiscard]] error unknown_stage() {
    return refusal(errc::unverified, "read a job of", "the service's database",
                   "a stage in it is unknown: replace the file by its backup");
}

[[nodiscard]] result<void> note_stage(database& file, std::int64_t incarnation, stage_change const& change) {
    auto added =
        file.query("INSERT INTO stages (job, incarnation, stage, step, at_ms, why) VALUES (?, ?, ?, ?, ?, ?)",
                   {change.job, incarnation, std::string(name_of(change.to)), change.step, change.at_ms, change.why});
    if (!added) return added.failure();
    return {};
}

/// If the present incarnation has ended.
[[nodiscard]] result<void> note_end(database& file, stored_job const& job, stage_change const& change) {
    if (!change.end) return {};
    auto noted = file.query(
        "UPDATE incarnations SET ended_ms = ?, exit_code = ?, signal = ? WHERE job = ? AND number "
        "= ?",
        {change.at_ms, value_of(change.end->exit_code), value_of(change.end->signal), job.id, job.incarnation});
    if (!noted) return noted.failure();
    return {};
}

}  // namespace

result<job_store> job_store::open(std::string const& path, std::int64_t now_ms) {
    auto file = database::open(path, database::access::write);
    if (!file) return file.failure();
    if (auto sound = file->check(); !sound) return sound.failure();
    job_store store(std::move(file).value(), path);
    if (auto kept = store.back_up(); !kept) return kept.failure();
    if (auto current = migrate(store.file_, now_ms); !current) return current.failure();
    return store;
}

result<job_store> job_store::open_to_read(std::string const& path) {
    auto file = database::open(path, database::access::read);
    if (!file) return file.failure();
    if (auto known = check_schema(*file); !known) return known.failure();
    return job_store(std::move(file).value(), path);
}

/// Before the tables are brought up to date, so that an older ration can use the backup.
result<void> job_store::back_up() {
    auto const kept = path_ + ".backup", made = kept + ".new";
    static_cast<void>(::unlink(made.c_str()));  // of a start that was killed
    process::descriptor const empty(::open(made.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
    if (auto copied = file_.query("VACUUM INTO ?", {made}); !copied) return copied.failure();
    if (::rename(made.c_str(), kept.c_str()) != 0)
        return process::system_error("replace", kept, errno, "let this user write to the folder");
    return {};
}

result<void> job_store::begin() {
    if (open_) return {};
    auto begun = file_.execute("BEGIN IMMEDIATE");
    open_ = static_cast<bool>(begun);
    return begun;
}

/// Either all statements of a change count or none, and earlier changes of the transaction stay.
template <class Change>
auto job_store::whole(Change change) -> decltype(change()) {
    if (auto begun = begin(); !begun) return begun.failure();
    if (auto marked = file_.execute("SAVEPOINT one_change"); !marked) return marked.failure();
    auto done = change();
    if (!done) static_cast<void>(file_.execute("ROLLBACK TO one_change"));  // the first failure is reported
    if (auto left = file_.execute("RELEASE one_change"); !left && done) return left.failure();
    return done;
}

result<void> job_store::commit() {
    if (!std::exchange(open_, false)) return {};
    auto done = file_.execute("COMMIT");
    if (!done) static_cast<void>(file_.execute("ROLLBACK"));
    return done;
}

void job_store::roll_back() {
    if (std::exchange(open_, false)) static_cast<void>(file_.execute("ROLLBACK"));
}

result<submitted> job_store::submit(submission const& what, std::int64_t now_ms) {
    return whole([&]() -> result<submitted> {
        auto known = find_key(what);
        if (!known) return known.failure();
        return *known ? result<submitted>(**known) : insert(what, now_ms);
    });
}

result<std::optional<submitted>> job_store::find_key(submission const& what) {
    auto const found = select("WHERE uid = ? AND key = ?", {what.uid, what.key});
    if (!found) return found.failure();
    if (found->empty()) return std::optional<submitted>();
    if (is_same_job(found->front().what, what))
        return std::optional(submitted{.job = found->front().id, .is_new = false});
    return refusal(errc::conflict, "submit a job with the key", what.key,
                   "another job has it: give each job a unique key");
}

result<submitted> job_store::insert(submission const& what, std::int64_t now_ms) {
    auto const added = file_.query(
        "INSERT INTO submissions (uid, tenant, key, name, definition, directory, "
        "environment, priority, submitted_ms, stage, stage_ms, incarnation, step, why, retries, time_limit_ms, after) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?9, ?, ?9, 0, 0, '', ?, ?, ?)",
        {what.uid, what.tenant, what.key, what.name, what.definition, what.directory, packed(what.environment),
         what.priority, now_ms, std::string(name_of(stage::queued)), what.retries, what.time_limit_ms,
         text_of(what.after)});
    if (!added) return added.failure();
    submitted const out{.job = file_.last_key()};
    changed_.insert(out.job);
    auto noted =
        note_stage(file_, 0, {.job = out.job, .to = stage::queued, .at_ms = now_ms, .why = {}, .end = {}, .boot = {}});
    if (!noted) return noted.failure();
    return out;
}

result<void> job_store::advance(stage_change const& change) {
    changed_.insert(change.job);
    return whole([&]() -> result<void> {
        auto const job = find(change.job);
        if (!job) return job.failure();
        if (!*job) return unknown_job(change.job);
        if (!may_follow((*job)->now, change.to))
            return refusal(errc::invalid_value, "move a job to the stage", name_of(change.to),
                           "its stage does not lead there");
        return apply(**job, change);
    });
}

result<void> job_store::note(std::int64_t job, wish what, bool wanted) {
    changed_.insert(job);
    std::string const column = what == wish::cancelled ? "cancelled" : "paused";
    return whole([&]() -> result<void> {
        auto changed = file_.query("UPDATE submissions SET " + column + " = ? WHERE id = ? RETURNING id",
                                   {std::int64_t{wanted}, job});
        if (!changed) return changed.failure();
        return changed->empty() ? result<void>(unknown_job(job)) : result<void>();
    });
}

result<std::optional<std::string>> job_store::setting(std::string const& name) {
    auto rows = file_.query("SELECT value FROM settings WHERE name = ?", {name});
    if (!rows) return rows.failure();
    return rows->empty() ? std::optional<std::string>() : text_in(std::move(rows->front().front()));
}

result<void> job_store::keep(std::string const& name, std::string const& value) {
    return whole([&]() -> result<void> {
        auto done = value.empty() ? file_.query("DELETE FROM settings WHERE name = ?", {name})
                                  : file_.query("INSERT OR REPLACE INTO settings VALUES (?, ?)", {name, value});
        if (!done) return done.failure();
        return {};
    });
}

result<void> job_store::apply(stored_job const& job, stage_change const& change) {
    bool const launches = change.to == stage::deploying;
    auto const incarnation = job.incarnation + (launches ? 1 : 0);
    auto const end = change.end.value_or(process_end{});
    auto moved = file_.query(
        "UPDATE submissions SET stage = ?, stage_ms = ?, incarnation = ?, step = ?, why = ?, "
        "exit_code = ?, signal = ?, not_before_ms = ?, uncounted = uncounted + ? WHERE id = ?",
        {std::string(name_of(change.to)), change.at_ms, incarnation, change.step, change.why, value_of(end.exit_code),
         value_of(end.signal), change.not_before_ms, std::int64_t{change.uncounted}, change.job});
    if (!moved) return moved.failure();
    if (launches) {
        auto added = file_.query("INSERT INTO incarnations (job, number, boot, started_ms) VALUES (?, ?, ?, ?)",
                                 {change.job, incarnation, change.boot, change.at_ms});
        if (!added) return added.failure();
    }
    if (auto noted = note_end(file_, job, change); !noted) return noted;
    if (is_final(change.to))
        if (auto added = file_.query("INSERT INTO unhandled_ends VALUES (?)", {change.job}); !added)
            return added.failure();
    return note_stage(file_, incarnation, change);
}

result<std::vector<stored_job>> job_store::select(std::string const& condition, std::vector<sql_value> const& values) {
    auto rows =
        file_.query(std::string("SELECT ") + columns + " FROM submissions " + condition + " ORDER BY id", values);
    if (!rows) return rows.failure();
    std::vector<stored_job> out;
    for (auto& row : *rows) {
        auto job = job_in(row);
        if (!job) return unknown_stage();
        out.push_back(std::move(*job));
    }
    return out;
}

result<std::optional<stored_job>> job_store::find(std::int64_t job) {
    auto found = select("WHERE id = ?", {job});
    if (!found) return found.failure();
    if (found->empty()) return std::optional<stored_job>();
    return std::optional(std::move(found->front()));
}

result<std::vector<stored_job>> job_store::all(std::optional<std::int64_t> uid) {
    return uid ? select("WHERE uid = ?", {*uid}) : select("", {});
}

result<std::vector<stored_job>> job_store::in_stages(std::span<stage const> wanted) {
    std::string condition = "WHERE stage IN (''";
    std::vector<sql_value> values;
    for (auto const s : wanted) {
        condition += ", ?";
        values.emplace_back(std::string(name_of(s)));
    }
    return select(condition + ")", values);
}

result<std::vector<brief_job>> job_store::brief(std::optional<std::int64_t> job) {
    std::string const select = "SELECT id, stage, tenant, priority, not_before_ms, paused, after FROM submissions ";
    auto rows = job ? file_.query(select + "WHERE id = ?", {*job})
                    : file_.query(select + "WHERE stage = ? ORDER BY id", {std::string(name_of(stage::queued))});
    if (!rows) return rows.failure();
    std::vector<brief_job> out;
    for (auto& row : *rows) {
        auto const now = stage_named(text_in(row[1]));
        if (!now) return unknown_stage();
        out.push_back({number_in(row[0]), *now, text_in(std::move(row[2])), number_in(row[3]), number_in(row[4]),
                       number_in(row[5]) != 0, numbers_in(text_in(std::move(row[6])))});
    }
    return out;
}

result<std::vector<stored_job>> job_store::take_ended(std::int64_t most) {
    auto ended = select("WHERE id IN (SELECT job FROM unhandled_ends ORDER BY job LIMIT ?)", {most});
    if (!ended || ended->empty()) return ended;
    return whole([&]() -> result<std::vector<stored_job>> {
        auto const last = ended->back().id;
        if (auto removed = file_.query("DELETE FROM unhandled_ends WHERE job <= ?", {last}); !removed)
            return removed.failure();
        return std::move(ended).value();
    });
}

result<std::vector<past_stage>> job_store::history(std::int64_t job) {
    auto rows = file_.query("SELECT incarnation, stage, step, at_ms, why FROM stages WHERE job = ? ORDER BY id", {job});
    if (!rows) return rows.failure();
    std::vector<past_stage> out;
    for (auto& row : *rows) {
        auto const what = stage_named(text_in(row[1]));
        if (!what) return unknown_stage();
        out.push_back({number_in(row[0]), *what, number_in(row[2]), number_in(row[3]), text_in(std::move(row[4]))});
    }
    return out;
}

result<std::string> job_store::boot_of(stored_job const& job) {
    auto rows = file_.query("SELECT boot FROM incarnations WHERE job = ? AND number = ?", {job.id, job.incarnation});
    if (!rows) return rows.failure();
    return rows->empty() ? std::string() : text_in(std::move(rows->front().front()));
}

}  // namespace ration::program
