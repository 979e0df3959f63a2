// SPDX-License-Identifier: BSL-1.0
/// The durable list of all submitted jobs: what was submitted, in which stage each is, and every launch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ration/result.hpp>

#include "serve/confirmed_list.hpp"
#include "serve/database.hpp"
#include "serve/stage.hpp"

namespace ration::program {

/// Times are milliseconds since 1970.
struct submission {
    std::int64_t uid = 0;  ///< of the user who submitted it
    std::string tenant;
    std::string key;         ///< chosen by the client; a second submission of a user with it is the same job
    std::string name;        ///< several jobs may have the same one
    std::string definition;  ///< a jobs file with this one job
    std::string directory;   ///< absolute: where it was submitted
    std::vector<std::string> environment;  ///< "NAME=VALUE", of the submitter
    std::int64_t priority = 0;
    std::int64_t retries = 0;             ///< further launches after failed ones
    std::int64_t time_limit_ms = 0;       ///< of one launch; 0: none
    std::vector<std::int64_t> after;      ///< jobs that have to complete before
    std::optional<std::int64_t> umask{};  ///< of the submitter; none: that of the service
    /// In place of the command in the definition, which is text, if a word is not UTF-8; else empty
    std::vector<std::string> command{};

    friend bool operator==(submission const&, submission const&) = default;
};

/// Whether a submission that is repeated with its key is the same job. Environment and umask of the first one count:
/// those of another shell differ in many variables that no job reads.
[[nodiscard]] inline bool is_same_job(submission const& one, submission other) {
    other.environment = one.environment;
    other.umask = one.umask;
    return one == other;
}

/// How a process ended. Both are empty: that is not known, or there was none.
struct process_end {
    std::optional<std::int64_t> exit_code, signal;
};

struct stored_job {
    std::int64_t id = 0;
    submission what;
    std::int64_t submitted_ms = 0;
    stage now = stage::queued;
    std::int64_t stage_ms = 0;       ///< when it entered that stage
    std::int64_t incarnation = 0;    ///< launches so far
    std::int64_t step = 0;           ///< of training, when it entered its stage
    std::string why;                 ///< of its stage; may be empty
    bool cancelled = false;          ///< its user wants it stopped
    bool paused = false;             ///< its user wants it to wait
    std::int64_t uncounted = 0;      ///< launches that its retries do not count, since they ended by a pause
    std::int64_t not_before_ms = 0;  ///< the earliest time of its next launch, by the clock at the failed one
    std::int64_t rest_ms = 0;        ///< from the failed launch until then
    process_end end;                 ///< of its last incarnation that has ended

    /// The launches that its retries count.
    [[nodiscard]] std::int64_t attempts() const noexcept { return incarnation - uncounted; }
};

/// The columns that decide whether and when a job can start, without those for its launch.
struct brief_job {
    std::int64_t id = 0;
    stage now = stage::queued;
    std::string tenant;
    std::int64_t priority = 0;
    std::int64_t not_before_ms = 0, rest_ms = 0;
    bool paused = false;
    std::vector<std::int64_t> after;
};

struct stage_change {
    std::int64_t job = 0;
    stage to = stage::queued;
    std::int64_t at_ms = 0;
    std::int64_t step = 0;
    std::string why;
    std::optional<process_end> end;  ///< given: its present incarnation has ended, in this way
    std::string boot;                ///< of a launch: the kernel's number of this boot
    std::int64_t rest_ms = 0;        ///< of `queued`: until its next launch
    bool uncounted = false;          ///< of `queued`: the launch that has ended is none of the failed ones
};

/// A wish of a user for a job.
enum class wish : std::uint8_t { cancelled, paused };

/// One entry of the history of a job.
struct past_stage {
    std::int64_t incarnation = 0;
    stage what = stage::queued;
    std::int64_t step = 0, at_ms = 0;
    std::string why;
};

/// A job in a stage that is unknown, as of a later version, or after damage.
struct unreadable_job {
    std::int64_t id = 0;
    std::string name, stage;
};

/// The content of the list that `job_store::open` did not find.
struct lost_content {
    bool is_new = false;         ///< there was no list, or an empty file
    std::int64_t of_backup = 0;  ///< jobs of the backup that the list lacks, so that the backup was kept
    std::int64_t changes = 0;    ///< of stages, which were confirmed
};

struct submitted {
    std::int64_t job = 0;
    bool is_new = true;  ///< false: the key was known, with the same content
};

/// Writers call `commit` after one or more changes. Until it has returned without an error nothing of them is durable,
/// and no submission may be acknowledged. All changes of a failed commit are lost together. For one thread.
///
/// Errors of every call: those of `database`.
class job_store {
    database file_;
    std::optional<confirmed_list> confirmed_;  // of a writer
    list_extent durable_, now_;                // `now_`: with the changes of the transaction
    lost_content lost_;
    bool open_ = false;               // a transaction
    bool weighty_ = false;            // it has a submission or an end
    std::set<std::int64_t> changed_;  // jobs
    std::int64_t ends_after_ = 0;     // where `take_ended` continues

    explicit job_store(database file) noexcept : file_(std::move(file)) {}

public:
    static constexpr std::int64_t most_ends = 500;

    /// Opens or creates the file, checks all of it, replaces the backup beside it (`path` with ".backup"), and brings
    /// older tables up to date. A backup of a damaged file, or with jobs that the file lacks, is kept. Jobs get numbers
    /// above `last_number`, those of the backup and those that were confirmed (`path` with ".confirmed"). Errors:
    /// `not_supported` (a newer version).
    [[nodiscard]] static result<job_store> open(std::string const& path, std::int64_t now_ms,
                                                std::int64_t last_number = 0);
    /// What `open` has not found.
    [[nodiscard]] lost_content const& lost() const noexcept { return lost_; }
    /// The jobs that no other call returns, since their stages are unknown. O(jobs).
    [[nodiscard]] result<std::vector<unreadable_job>> unreadable();
    /// Gives such a job a stage that is known.
    [[nodiscard]] result<void> repair(std::int64_t job, stage now);
    /// Writes everything into the file itself, which is complete without its log then.
    void finish();
    /// For reading alone, also while another process writes. Errors: `not_found`, `not_supported` (another version).
    [[nodiscard]] static result<job_store> open_to_read(std::string const& path);

    /// Makes changes possible until the next commit. Each change does so if it was not called. Error: `busy`, at once
    /// while another program writes to the file; then nothing has changed since the last commit.
    [[nodiscard]] result<void> begin();

    /// Adds a job in the stage `queued`. Errors: `conflict` (the user has used the key for another job).
    [[nodiscard]] result<submitted> submit(submission const& what, std::int64_t now_ms);
    /// Moves a job to another stage. `deploying` begins its next incarnation. Errors: `not_found`; `invalid_value` if
    /// `may_follow` refuses.
    [[nodiscard]] result<void> advance(stage_change const& change);
    /// Notes whether its user has this wish. Errors: `not_found`.
    [[nodiscard]] result<void> note(std::int64_t job, wish what, bool wanted = true);
    /// The value that `keep` has stored under this name; none without one.
    [[nodiscard]] result<std::optional<std::string>> setting(std::string const& name);
    /// Keeps a value of the service; an empty one is none.
    [[nodiscard]] result<void> keep(std::string const& name, std::string const& value);
    /// Makes all changes since the last commit durable, with one write to the disk.
    [[nodiscard]] result<void> commit();

    /// Gives up all changes since the last commit.
    void roll_back();

    /// Errors: `unverified` (its stage is unknown).
    [[nodiscard]] result<std::optional<stored_job>> find(std::int64_t job);
    /// In ascending order of their ids. `uid`: only jobs of this user. O(jobs).
    [[nodiscard]] result<std::vector<stored_job>> all(std::optional<std::int64_t> uid = {});
    /// Those in one of these stages.
    [[nodiscard]] result<std::vector<stored_job>> in_stages(std::span<stage const> wanted);
    /// Those that have entered a final stage, each once, also over restarts of the service. `wanted` gets their users
    /// in the order of their ids, and returns whether to take the job; the others stay for a later call. A call looks
    /// at `most_ends`, and the next one at those after them.
    [[nodiscard]] result<std::vector<stored_job>> take_ended(std::function<bool(std::int64_t uid)> const& wanted);
    /// Of a queued job or one in another stage; empty if there is none of this id. Without an id, all queued jobs.
    [[nodiscard]] result<std::vector<brief_job>> brief(std::optional<std::int64_t> job = {});
    /// The jobs that were submitted or changed since the last call, also by changes that were lost.
    [[nodiscard]] std::set<std::int64_t> take_changed() noexcept { return std::exchange(changed_, {}); }
    /// The stages of a job, from the first one.
    [[nodiscard]] result<std::vector<past_stage>> history(std::int64_t job);
    /// The boot in which the present incarnation of a job was launched; empty before its first launch.
    [[nodiscard]] result<std::string> boot_of(stored_job const& job);

private:
    template <class Change>
    [[nodiscard]] auto whole(Change change) -> decltype(change());
    [[nodiscard]] result<submitted> insert(submission const& what, std::int64_t now_ms);
    [[nodiscard]] result<void> apply(stored_job const& job, stage_change const& change);
};

}  // namespace ration::program
