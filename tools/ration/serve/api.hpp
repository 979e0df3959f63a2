// SPDX-License-Identifier: BSL-1.0
/// The operations of the service's API on the list of jobs. docs/service-api.json describes them.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "events/json_writer.hpp"
#include "serve/definition.hpp"
#include "serve/job_store.hpp"
#include "serve/wait_reason.hpp"
#include "serve/waiting_jobs.hpp"

namespace ration::program {

struct api_request {
    std::string method, path, body;
    std::int64_t uid = 0;   ///< of the client, by the kernel
    bool is_admin = false;  ///< sees and controls all jobs
};

struct api_reply {
    int status = 200;
    std::string json;
    bool holds = false;  ///< also if its changes cannot be committed
};

inline constexpr std::string_view running_path = "/v1/running";  // `job_queue` answers it

[[nodiscard]] std::int64_t wall_clock_ms();
/// The wall clock, and one that runs on through a suspension and is never set.
[[nodiscard]] clock_reading read_clocks();
/// The change of a job to a stage now, which keeps its step.
[[nodiscard]] stage_change change_to(stored_job const& job, stage what);

/// Writes the members of a job as the API shows it.
void write_job(json_writer& json, stored_job const& job, service_folder const& folder);
/// Writes the members of an entry of a history.
void write_stage(json_writer& json, past_stage const& past);
/// A job as a whole object, with its history.
[[nodiscard]] std::string job_json(stored_job const& job, service_folder const& folder,
                                   std::vector<past_stage> const& history, job_wait const& wait = {});
/// `{"jobs": [...]}`.
[[nodiscard]] std::string jobs_json(std::vector<stored_job> const& jobs, service_folder const& folder);
[[nodiscard]] std::string error_json(std::string_view sentence);
[[nodiscard]] api_reply refusal(int status, std::string_view sentence);
/// The reply to a request that the list of jobs could not serve.
[[nodiscard]] api_reply failed(error const& why);

class service_control;

/// A user sees, cancels and pauses their own jobs; root and the admin group, all jobs. In a service of root each job
/// runs as the user who submitted it. In another one only its user and root may submit, since jobs run as this user.
/// Requests that only read see what is durable.
class service_api {
    job_store& store_;
    job_list& list_;
    service_folder folder_;
    service_control& control_;
    std::function<result<job_wait>(job_list&, stored_job const&)> wait_of_;
    std::set<std::int64_t> cancelled_;  // not durable yet
    bool changed_ = true;

public:
    /// `list`: that of `store`, for requests that only read.
    service_api(job_store& store, job_list& list, service_folder folder, service_control& control)
        : store_(store), list_(list), folder_(std::move(folder)), control_(control) {}

    /// The reason why a job waits, until the next call. To be called in each turn before `answer`.
    void attach(std::function<result<job_wait>(job_list&, stored_job const&)> wait_of) {
        wait_of_ = std::move(wait_of);
    }
    /// The reply to a request other than GET must not leave before the changes of the store are committed. Without a
    /// commit it is void.
    [[nodiscard]] api_reply answer(api_request const& request);
    /// A job is cancelled from the answer on, also while that cannot be written, as on a full disk.
    [[nodiscard]] bool is_cancelled(std::int64_t job) const { return cancelled_.contains(job); }
    /// Writes what is not durable yet, for the next commit. Errors: those of `job_store`.
    [[nodiscard]] result<void> write_cancelled();
    /// After the commit.
    void forget_cancelled() noexcept { cancelled_.clear(); }
    /// Whether a user has changed something of a job since the last call.
    [[nodiscard]] bool take_changed() noexcept { return std::exchange(changed_, false); }

private:
    [[nodiscard]] api_reply read(api_request const& request);
    [[nodiscard]] api_reply change(api_request const& request);
    [[nodiscard]] api_reply submit(api_request const& request);
    [[nodiscard]] std::optional<api_reply> refusal_of_user(api_request const& request, submission const& what,
                                                           run_config const& definition) const;
    [[nodiscard]] api_reply store(submission const& what);
    [[nodiscard]] api_reply show(job_list& list, stored_job const& job, int status, job_wait const& wait = {});
    [[nodiscard]] api_reply show(std::int64_t id, int status);
    [[nodiscard]] result<void> write_cancelled(stored_job const& job);
    [[nodiscard]] api_reply cancel(stored_job job);
    [[nodiscard]] api_reply pause(stored_job const& job, bool wanted);
    [[nodiscard]] api_reply change_job(api_request const& request, stored_job const& job, std::string_view action);
};

}  // namespace ration::program
