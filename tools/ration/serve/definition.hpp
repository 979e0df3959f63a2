// SPDX-License-Identifier: BSL-1.0
/// A submitted job as a job of a run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ration/process/account.hpp>
#include <ration/process/child.hpp>

#include "config/config.hpp"
#include "run/run_record.hpp"
#include "serve/job_list.hpp"

namespace ration::program {

/// Where the files of the service are.
struct service_folder {
    std::string path;      ///< absolute
    bool of_root = false;  ///< a service of root runs there: each other user has a folder for their jobs

    [[nodiscard]] std::string database() const { return path + std::string(job_list_of_service); }
    [[nodiscard]] std::string socket() const { return path + "/socket"; }
    /// The output and the checkpoints of the jobs of the service's user.
    [[nodiscard]] std::string output() const { return path + "/jobs"; }
    /// The folders of the other users of a service of root. Each belongs to its user, and no other user can enter it.
    [[nodiscard]] std::string users() const { return path + "/users"; }
    [[nodiscard]] bool is_other_user(std::int64_t uid) const noexcept { return of_root && uid != 0; }
    [[nodiscard]] std::string output_of(std::int64_t uid) const {
        return is_other_user(uid) ? users() + '/' + std::to_string(uid) : output();
    }
    /// Whose rights count for the files of a user's jobs; none: those of this process.
    [[nodiscard]] std::optional<process::account> rights_of(std::int64_t uid) const {
        if (!is_other_user(uid)) return std::nullopt;
        return process::account{.uid = static_cast<uid_t>(uid), .gid = no_group};
    }
    [[nodiscard]] std::string log_of(std::int64_t uid, std::string const& label) const {
        return output_of(uid) + '/' + label + ".log";
    }
    [[nodiscard]] std::string checkpoint_of(std::int64_t uid, std::string const& label) const {
        return output_of(uid) + '/' + label + ".checkpoint";
    }
    /// Where the jobs of root report. The sockets of other users are beside it.
    [[nodiscard]] std::string progress_socket() const { return path + "/progress/socket"; }
    [[nodiscard]] std::string events() const { return path + "/events.jsonl"; }
    /// How the jobs ended, for `record_exit`.
    [[nodiscard]] std::string ends() const { return path + "/ends"; }
    [[nodiscard]] std::string end_of(std::int64_t uid, std::string const& label, std::int64_t incarnation) const {
        auto const name = label + '.' + std::to_string(incarnation);
        return is_other_user(uid) ? output_of(uid) + '/' + name + ".end" : ends() + '/' + name;
    }

private:
    static constexpr gid_t no_group = 65534;  // the folder is open to its owner alone
};

/// The entry of a submission's environment that has the number of the job in its array. Jobs get no other variable of
/// ration from their submitter.
inline constexpr std::string_view array_index = "RATION_ARRAY_INDEX=";

/// The number of the job in its array; none: it is in no array.
[[nodiscard]] std::optional<std::int64_t> array_index_of(submission const& what);

inline constexpr std::size_t longest_submitted_name = 36;  // a label has the id behind it

/// "vae-17": the name of a submitted job in its run. No other job of the service has it.
[[nodiscard]] inline std::string label_of(std::string const& name, std::int64_t id) {
    return name + '-' + std::to_string(id);
}

/// Reads a jobs file with one job. The problems name `submission`, or say that the service cannot run such a job.
[[nodiscard]] parsed_config read_definition(std::string const& text);

/// The keys of a jobs file beside the job, which a service does not use.
[[nodiscard]] std::vector<std::string> unused_keys(std::string_view text);

/// The job as it was submitted, with its label as its name. Null if the definition cannot be read, since another
/// version of ration accepted it.
[[nodiscard]] std::shared_ptr<job_config> described_job(stored_job const& stored);

/// How its launch has ended, if that was recorded. A job can replace its own record.
[[nodiscard]] std::optional<process::exit_report> recorded_end_of(stored_job const& job, service_folder const& folder);

/// Removes that record.
void remove_end_of(stored_job const& job, service_folder const& folder);

/// The folder for checkpoints that the job names, or that of the service.
[[nodiscard]] std::string checkpoint_of(job_config const& job, std::int64_t uid, service_folder const& folder);

/// Whether the job has written something into its folder for checkpoints.
[[nodiscard]] bool has_checkpoint(stored_job const& job, service_folder const& folder);

/// The job of a run for launch `incarnation`, which arrives at `at` on the clock of the run, without the
/// hooks of its end. Null as `described_job`, or if its user has no account any more.
[[nodiscard]] std::shared_ptr<job_config> job_of(stored_job const& stored, service_folder const& folder,
                                                 std::int64_t incarnation, nanoseconds at);

}  // namespace ration::program
