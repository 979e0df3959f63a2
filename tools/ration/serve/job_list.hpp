// SPDX-License-Identifier: BSL-1.0
/// The list of all submitted jobs, to be read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ration/result.hpp>

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

/// A part of the list, so small that the loop of the service can read it between two turns.
struct job_page {
    std::vector<stored_job> jobs;      ///< in ascending order of their ids
    std::optional<std::int64_t> next;  ///< behind which the next page begins; none: this is the last one
};

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

/// For one thread. Sees what is committed, also while a `job_store` of this or another process writes.
///
/// Errors of every call: those of `database`.
class job_list {
protected:
    database file_;

    explicit job_list(database file) noexcept : file_(std::move(file)) {}

public:
    /// For reading alone. Errors: `not_found`, `not_supported` (another version).
    [[nodiscard]] static result<job_list> open(std::string const& path);

    /// Calls return `busy` at once instead of waiting for another program.
    void never_wait() noexcept { file_.never_wait(); }
    /// What `read` returns, where all of its calls see the list at one time. Pre: no change was begun.
    template <class Read>
    [[nodiscard]] auto at_one_time(Read read) -> decltype(read()) {
        auto const begun = file_.execute("BEGIN");
        auto out = read();
        if (begun) static_cast<void>(file_.execute("COMMIT"));  // nothing was changed
        return out;
    }

    /// The jobs that no other call returns, since their stages are unknown. O(jobs).
    [[nodiscard]] result<std::vector<unreadable_job>> unreadable();
    /// The value that `job_store::keep` has stored under this name; none without one.
    [[nodiscard]] result<std::optional<std::string>> setting(std::string const& name);
    /// Errors: `unverified` (its stage is unknown).
    [[nodiscard]] result<std::optional<stored_job>> find(std::int64_t job);
    /// In ascending order of their ids. O(jobs).
    [[nodiscard]] result<std::vector<stored_job>> all();
    static constexpr std::size_t most_of_page = 96, most_bytes_of_page = std::size_t{1} << 20;
    /// The jobs whose ids are above `after`: at most `most_of_page`, and fewer if their definitions and environments
    /// have more than `most_bytes_of_page`. `uid`: only jobs of this user.
    [[nodiscard]] result<job_page> page(std::int64_t after, std::optional<std::int64_t> uid = {});
    /// Those in one of these stages.
    [[nodiscard]] result<std::vector<stored_job>> in_stages(std::span<stage const> wanted);
    /// Of a queued job or one in another stage; empty if there is none of this id. Without an id, all queued jobs.
    [[nodiscard]] result<std::vector<brief_job>> brief(std::optional<std::int64_t> job = {});
    /// The stages of a job, from the first one.
    [[nodiscard]] result<std::vector<past_stage>> history(std::int64_t job);
    /// The boot in which the present incarnation of a job was launched; empty before its first launch.
    [[nodiscard]] result<std::string> boot_of(stored_job const& job);
};

}  // namespace ration::program
