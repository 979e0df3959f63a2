// SPDX-License-Identifier: BSL-1.0
/// The durable list of all submitted jobs: what was submitted, in which stage each is, and every launch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ration/result.hpp>

#include "serve/confirmed_list.hpp"
#include "serve/disk_thread.hpp"
#include "serve/job_list.hpp"

namespace ration::program {

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

/// Writers call `commit`, or `start_commit`, after one or more changes. Until it has ended without an error nothing of
/// them is durable, and no submission may be acknowledged. All changes of a failed commit are lost together. For one
/// thread, which waits for the disk only in `open`, `commit` and `finish`. During a commit of `start_commit` a call
/// that reads this list waits, too; a `job_list` does not.
///
/// Errors of every call: those of `database`.
class job_store : public job_list {
    std::unique_ptr<disk_thread> disk_;  // performs the commits
    confirmed_list confirmed_;
    list_extent durable_, now_;  // `now_`: with the changes of the transaction
    lost_content lost_;
    bool open_ = false;               // a transaction
    bool weighty_ = false;            // it has a submission or an end
    std::set<std::int64_t> changed_;  // jobs
    std::int64_t ends_after_ = 0;     // where `take_ended` continues

    job_store(database file, std::unique_ptr<disk_thread> disk, confirmed_list confirmed) noexcept
        : job_list(std::move(file)), disk_(std::move(disk)), confirmed_(std::move(confirmed)) {}

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
    /// Gives an unreadable job a stage that is known.
    [[nodiscard]] result<void> repair(std::int64_t job, stage now);
    /// Writes everything into the file itself, which is complete without its log then.
    void finish();

    /// Makes changes possible until the next commit. Each change does so if it was not called. Error: `busy`, at once
    /// during a commit and while another program writes to the file; then nothing has changed since the last commit.
    [[nodiscard]] result<void> begin();
    /// Whether changes were begun that no commit has.
    [[nodiscard]] bool has_begun() const noexcept { return open_; }

    /// Adds a job in the stage `queued`. Errors: `conflict` (the user has used the key for another job).
    [[nodiscard]] result<submitted> submit(submission const& what, std::int64_t now_ms);
    /// Moves a job to another stage. `deploying` begins its next incarnation. Errors: `not_found`; `invalid_value` if
    /// `may_follow` refuses.
    [[nodiscard]] result<void> advance(stage_change const& change);
    /// Notes whether its user has this wish. Errors: `not_found`.
    [[nodiscard]] result<void> note(std::int64_t job, wish what, bool wanted = true);
    /// Keeps a value of the service; an empty one is none.
    [[nodiscard]] result<void> keep(std::string const& name, std::string const& value);
    /// Makes all changes since the last commit durable, with one write to the disk.
    [[nodiscard]] result<void> commit();
    /// The same in another thread. Returns at once, and does nothing without changes. This object must not move until
    /// the commit has ended.
    void start_commit();
    /// Whether `take_committed` will have an outcome.
    [[nodiscard]] bool commits() const noexcept { return disk_->works(); }
    /// Readable once a commit has ended.
    [[nodiscard]] int commit_fd() const noexcept { return disk_->fd(); }
    /// The outcome of the commit that was started, once; none: it has not ended, or there is none. Does not wait.
    [[nodiscard]] std::optional<result<void>> take_committed();

    /// Gives up all changes since the last commit.
    void roll_back();

    /// Those that have entered a final stage, each once, also over restarts of the service. `wanted` gets their users
    /// in the order of their ids, and returns whether to take the job; the others stay for a later call. A call looks
    /// at `most_ends`, and the next one at those after them.
    [[nodiscard]] result<std::vector<stored_job>> take_ended(std::function<bool(std::int64_t uid)> const& wanted);
    /// The jobs that were submitted or changed since the last call, also by changes that were lost.
    [[nodiscard]] std::set<std::int64_t> take_changed() noexcept { return std::exchange(changed_, {}); }

private:
    template <class Change>
    [[nodiscard]] auto whole(Change change) -> decltype(change());
    [[nodiscard]] result<submitted> insert(submission const& what, std::int64_t now_ms);
    [[nodiscard]] result<void> apply(stored_job const& job, stage_change const& change);
    [[nodiscard]] result<void> write_down(list_extent const& extent, bool weighty);
    void end_commit(bool done) noexcept { (done ? durable_ : now_) = done ? now_ : durable_; }
};

}  // namespace ration::program
