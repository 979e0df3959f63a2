// SPDX-License-Identifier: BSL-1.0
#include "serve/job_store.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "serve/job_rows.hpp"
#include "serve/list_backup.hpp"
#include "serve/schema.hpp"

namespace ration::program {
namespace {

[[nodiscard]] sql_value value_of(std::optional<std::int64_t> number) {
    return number ? sql_value(*number) : sql_value();
}

[[nodiscard]] error refusal(errc code, char const* operation, std::string_view subject, char const* remedy) {
    return {.code = code, .operation = operation, .subject = subject, .remedy = remedy};
}

[[nodiscard]] error unknown_job(std::int64_t job) {
    return refusal(errc::not_found, "find job", std::to_string(job), "list the jobs: ration status");
}

[[nodiscard]] result<list_extent> extent_of(database& file) {
    auto const job = file.number("SELECT coalesce(max(id), 0) FROM submissions");
    if (!job) return job.failure();
    auto const change = file.number("SELECT coalesce(max(id), 0) FROM stages");
    if (!change) return change.failure();
    return list_extent{*job, *change};
}

[[nodiscard]] result<void> note_stage(database& file, std::int64_t incarnation, stage_change const& change) {
    auto added =
        file.query("INSERT INTO stages (job, incarnation, stage, step, at_ms, why) VALUES (?, ?, ?, ?, ?, ?)",
                   {change.job, incarnation, std::string(name_of(change.to)), change.step, change.at_ms, change.why});
    if (!added) return added.failure();
    return {};
}

/// Later jobs get numbers above this one.
[[nodiscard]] result<void> number_after(database& file, std::int64_t last) {
    auto const present = file.number("SELECT coalesce(max(seq), 0) FROM sqlite_sequence");
    if (!present) return present.failure();
    if (*present >= last) return {};
    return file.execute(
        "BEGIN IMMEDIATE; DELETE FROM sqlite_sequence WHERE name = 'submissions'; INSERT INTO "
        "sqlite_sequence VALUES ('submissions', " +
        std::to_string(last) + "); COMMIT");
}

/// The job that a user has submitted with this key before.
[[nodiscard]] result<std::optional<submitted>> find_key(database& file, submission const& what) {
    auto const found = select_jobs(file, "WHERE uid = ? AND key = ?", {what.uid, what.key});
    if (!found) return found.failure();
    if (found->empty()) return std::optional<submitted>();
    if (is_same_job(found->front().what, what))
        return std::optional(submitted{.job = found->front().id, .is_new = false});
    return refusal(errc::conflict, "submit a job with the key", what.key,
                   "another job has it: give each job a unique key");
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

[[nodiscard]] result<std::optional<stored_job>> take_end(database& file, std::int64_t job) {
    if (auto removed = file.query("DELETE FROM unhandled_ends WHERE job = ?", {job}); !removed)
        return removed.failure();
    auto found = select_jobs(file, "WHERE id = ?", {job});
    if (!found) return found.failure();
    return found->empty() ? std::optional<stored_job>() : std::optional(std::move(found->front()));
}

}  // namespace

result<job_store> job_store::open(std::string const& path, std::int64_t now_ms, std::int64_t last_number) {
    auto file = database::open(path, database::access::write);
    if (!file) return file.failure();
    if (auto sound = file->check(); !sound) return sound.failure();
    auto confirmed = confirmed_list::open(path + ".confirmed");
    if (!confirmed) return confirmed.failure();
    auto const version = file->number("PRAGMA user_version");
    if (!version) return version.failure();
    // Before the tables are brought up to date, so that an older ration can use the backup
    auto const backup = back_up(*file, path);
    if (!backup) return backup.failure();
    if (auto current = migrate(*file, now_ms); !current) return current.failure();
    auto const present = extent_of(*file);
    if (!present) return present.failure();
    auto disk = disk_thread::start();
    if (!disk) return disk.failure();
    auto const earlier = confirmed->last();
    job_store store(std::move(file).value(), std::move(disk).value(), std::move(confirmed).value());
    store.lost_ = {.is_new = *version == 0,
                   .of_backup = backup->missing,
                   .changes = std::max<std::int64_t>(0, earlier.change - present->change)};
    auto const last = std::max({last_number, earlier.job, backup->highest, present->job});
    store.durable_ = store.now_ = {last, present->change};
    if (auto raised = number_after(store.file_, last); !raised) return raised.failure();
    store.file_.never_wait();
    return store;
}

result<void> job_store::repair(std::int64_t job, stage now) {
    changed_.insert(job);
    return whole([&]() -> result<void> {
        auto done = file_.query("UPDATE submissions SET stage = ? WHERE id = ?", {std::string(name_of(now)), job});
        return done ? result<void>() : done.failure();
    });
}

void job_store::finish() {
    if (commits()) static_cast<void>(disk_->wait());
    roll_back();
    static_cast<void>(file_.query("PRAGMA wal_checkpoint(TRUNCATE)"));  // after a failure the log has the rest
}

result<void> job_store::begin() {
    if (open_) return {};
    if (commits()) return refusal(errc::busy, "change", "the list of jobs", "wait for its disk");
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
    if (!open_) return {};
    start_commit();
    auto done = disk_->wait();
    end_commit(static_cast<bool>(done));
    return done;
}

void job_store::start_commit() {
    if (!std::exchange(open_, false)) return;
    disk_->perform(
        [this, extent = now_, weighty = std::exchange(weighty_, false)] { return write_down(extent, weighty); });
}

std::optional<result<void>> job_store::take_committed() {
    auto done = disk_->take();
    if (done) end_commit(static_cast<bool>(*done));
    return done;
}

/// In the thread of the disk, with the file and `confirmed_` alone. SQLite lets other calls on the file wait meanwhile.
result<void> job_store::write_down(list_extent const& extent, bool weighty) {
    auto done = file_.execute("COMMIT");
    if (!done) {
        static_cast<void>(file_.execute("ROLLBACK"));
        return done;
    }
    // A lost log must not take jobs, or their ends, with it. A failure leaves them in the log
    if (weighty) static_cast<void>(file_.execute("PRAGMA wal_checkpoint(PASSIVE)"));
    confirmed_.write(extent, weighty);
    return done;
}

void job_store::roll_back() {
    if (std::exchange(open_, false)) static_cast<void>(file_.execute("ROLLBACK"));
    weighty_ = false;
    now_ = durable_;
}

result<submitted> job_store::submit(submission const& what, std::int64_t now_ms) {
    return whole([&]() -> result<submitted> {
        auto known = find_key(file_, what);
        if (!known) return known.failure();
        return *known ? result<submitted>(**known) : insert(what, now_ms);
    });
}

result<submitted> job_store::insert(submission const& what, std::int64_t now_ms) {
    auto const added = file_.query(
        "INSERT INTO submissions (uid, tenant, key, name, definition, directory, "
        "environment, priority, submitted_ms, stage, stage_ms, incarnation, step, why, retries, time_limit_ms, after, "
        "umask, command) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?9, ?, ?9, 0, 0, '', ?, ?, ?, ?, ?)",
        {what.uid, what.tenant, what.key, what.name, what.definition, what.directory, packed(what.environment),
         what.priority, now_ms, std::string(name_of(stage::queued)), what.retries, what.time_limit_ms,
         text_of(what.after), value_of(what.umask), packed(what.command)});
    if (!added) return added.failure();
    submitted const out{.job = file_.last_key()};
    changed_.insert(out.job);
    auto noted =
        note_stage(file_, 0, {.job = out.job, .to = stage::queued, .at_ms = now_ms, .why = {}, .end = {}, .boot = {}});
    if (!noted) return noted.failure();
    now_ = {out.job, file_.last_key()};
    weighty_ = true;
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
        "exit_code = ?, signal = ?, not_before_ms = ?, rest_ms = ?, uncounted = uncounted + ? WHERE id = ?",
        {std::string(name_of(change.to)), change.at_ms, incarnation, change.step, change.why, value_of(end.exit_code),
         value_of(end.signal), change.rest_ms == 0 ? 0 : change.at_ms + change.rest_ms, change.rest_ms,
         std::int64_t{change.uncounted}, change.job});
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
    auto noted = note_stage(file_, incarnation, change);
    if (!noted) return noted;
    now_.change = file_.last_key();
    weighty_ = weighty_ || change.end || is_final(change.to);
    return {};
}

result<std::vector<stored_job>> job_store::take_ended(std::function<bool(std::int64_t uid)> const& wanted) {
    auto const ended = file_.query(
        "SELECT e.job, s.uid FROM unhandled_ends e JOIN submissions s ON s.id = e.job WHERE e.job > ? ORDER BY e.job "
        "LIMIT ?",
        {ends_after_, most_ends});
    if (!ended) return ended.failure();
    ends_after_ = std::ssize(*ended) < most_ends ? 0 : number_in(ended->back().front());
    std::vector<stored_job> out;
    for (auto const& row : *ended) {
        if (!wanted(number_in(row[1]))) continue;
        auto taken = whole([&] { return take_end(file_, number_in(row[0])); });
        if (!taken) return taken.failure();
        if (*taken) out.push_back(std::move(**taken));
    }
    return out;
}

}  // namespace ration::program
