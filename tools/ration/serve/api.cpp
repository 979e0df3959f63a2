// SPDX-License-Identifier: BSL-1.0
#include "serve/api.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "serve/service_control.hpp"
#include "serve/submission_body.hpp"
#include "serve/users.hpp"

namespace ration::program {
namespace {

constexpr std::string_view jobs_path = "/v1/jobs";

struct job_path {
    std::int64_t id;
    std::string_view action;  // "pause" of "/v1/jobs/7/pause"
};

/// The number N of "/v1/jobs?after=N", 0 for "/v1/jobs", none for another path.
[[nodiscard]] std::optional<std::int64_t> page_in(std::string_view path) {
    constexpr std::string_view word = "?after=";
    if (!path.starts_with(jobs_path)) return std::nullopt;
    path.remove_prefix(jobs_path.size());
    if (path.empty()) return 0;
    if (!path.starts_with(word)) return std::nullopt;
    path.remove_prefix(word.size());
    std::int64_t after = 0;
    auto const [end, fault] = std::from_chars(path.data(), path.data() + path.size(), after);
    return fault == std::errc() && end == path.data() + path.size() && after >= 0 ? std::optional(after) : std::nullopt;
}

/// The part behind "/v1/jobs/"; none for another path.
[[nodiscard]] std::optional<job_path> job_in(std::string_view path) {
    if (!path.starts_with(jobs_path) || path.substr(jobs_path.size(), 1) != "/") return std::nullopt;
    path.remove_prefix(jobs_path.size() + 1);
    auto const digits = path.substr(0, path.find('/'));
    std::int64_t id = 0;
    auto const [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
    if (fault != std::errc() || end != digits.data() + digits.size() || id <= 0) return std::nullopt;
    return job_path{id, path.substr(std::min(path.size(), digits.size() + 1))};
}

constexpr std::string_view no_method = "the path has no such method: read docs/service-api.json",
                           unknown_path = "the path is unknown: read docs/service-api.json";

/// Of a request for a job that has no such action, or not with this method.
[[nodiscard]] api_reply refusal_of(std::string_view action) {
    bool const known = action.empty() || action == "pause" || action == "resume";
    return known ? refusal(405, no_method) : refusal(404, unknown_path);
}

[[nodiscard]] api_reply unknown_id(std::int64_t id) {
    return refusal(404, fmt::format("job {} is unknown: list the jobs with ration status", id));
}

/// The job, if there is one that the client may see.
[[nodiscard]] result<std::optional<stored_job>> visible(job_list& list, api_request const& request, std::int64_t id) {
    auto found = list.find(id);
    if (!found) return found;
    auto const& job = *found;
    if (job && !request.is_admin && request.uid != job->what.uid) return std::optional<stored_job>();
    return found;
}

}  // namespace

std::int64_t wall_clock_ms() {
    using namespace std::chrono;
    return duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch()).count();
}

clock_reading read_clocks() {
    timespec since_boot{};
    ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
    return {wall_clock_ms(), std::int64_t{since_boot.tv_sec} * 1000 + since_boot.tv_nsec / 1'000'000};
}

stage_change change_to(stored_job const& job, stage what) {
    return {.job = job.id, .to = what, .at_ms = wall_clock_ms(), .step = job.step, .why = {}, .end = {}, .boot = {}};
}

void write_job(json_writer& json, stored_job const& job, service_folder const& folder) {
    auto const label = label_of(job.what.name, job.id);
    json.member("id", job.id);
    json.member("name", job.what.name);
    json.member("label", label);
    json.member("array_index", array_index_of(job.what));
    json.member("stage", name_of(job.now));
    json.member("stage_ms", job.stage_ms);
    json.member("submitted_ms", job.submitted_ms);
    json.member("not_before_ms", job.not_before_ms);
    json.member("incarnation", job.incarnation);
    json.member("step", job.step);
    json.member("why", job.why);
    json.member("exit_code", job.end.exit_code);
    json.member("signal", job.end.signal);
    json.member("cancelled", job.cancelled);
    json.member("paused", job.paused);
    json.member("uid", job.what.uid);
    json.member("tenant", job.what.tenant);
    json.member("priority", job.what.priority);
    json.member("retries", job.what.retries);
    json.member("time_limit_ms", job.what.time_limit_ms);
    json.key("after").array([&] {
        for (auto const one : job.what.after) json.value(one);
    });
    json.member("directory", job.what.directory);
    json.member("log", folder.log_of(job.what.uid, label));
}

void write_stage(json_writer& json, past_stage const& past) {
    json.member("incarnation", past.incarnation);
    json.member("stage", name_of(past.what));
    json.member("at_ms", past.at_ms);
    json.member("step", past.step);
    json.member("why", past.why);
}

std::string job_json(stored_job const& job, service_folder const& folder, std::vector<past_stage> const& history,
                     job_wait const& wait) {
    std::string text;
    json_writer json(text);
    json.object([&] {
        write_job(json, job, folder);
        json.member("waits", wait.sentence);
        json.member("earliest_start_ms", wait.earliest_ms);
        json.member("definition", job.what.definition);
        json.key("history").array([&] {
            for (auto const& past : history) json.object([&] { write_stage(json, past); });
        });
    });
    return text;
}

namespace {

void write_jobs(json_writer& json, std::vector<stored_job> const& jobs, service_folder const& folder) {
    json.key("jobs").array([&] {
        for (auto const& job : jobs) json.object([&] { write_job(json, job, folder); });
    });
}

[[nodiscard]] std::string page_json(job_page const& page, service_folder const& folder) {
    std::string text;
    json_writer json(text);
    json.object([&] {
        write_jobs(json, page.jobs, folder);
        json.member("next", page.next);
    });
    return text;
}

}  // namespace

std::string jobs_json(std::vector<stored_job> const& jobs, service_folder const& folder) {
    std::string text;
    json_writer json(text);
    json.object([&] { write_jobs(json, jobs, folder); });
    return text;
}

std::string error_json(std::string_view sentence) {
    std::string text;
    json_writer json(text);
    json.object([&] { json.member("error", sentence); });
    return text;
}

api_reply refusal(int status, std::string_view sentence) { return {status, error_json(sentence)}; }

api_reply failed(error const& why) {
    int const status = why.code == errc::conflict     ? 409
                       : why.code == errc::not_found  ? 404
                       : why.code == errc::unverified ? 500
                                                      : 503;
    return refusal(status, to_text(why));
}

api_reply service_api::answer(api_request const& request) {
    if (request.method != "GET") return change(request);
    return list_.at_one_time([&] { return read(request); });
}

api_reply service_api::read(api_request const& request) {
    if (auto reply = control_.answer(request)) return std::move(*reply);
    if (auto const after = page_in(request.path)) {
        auto const page = list_.page(*after, request.is_admin ? std::nullopt : std::optional(request.uid));
        return page ? api_reply{200, page_json(*page, folder_)} : failed(page.failure());
    }
    auto const path = job_in(request.path);
    if (!path) return refusal(404, unknown_path);
    auto const found = visible(list_, request, path->id);
    if (!found) return failed(found.failure());
    auto const& job = *found;
    if (!job) return unknown_id(path->id);
    if (!path->action.empty()) return refusal_of(path->action);
    auto const wait = wait_of_(list_, *job);
    return wait ? show(list_, *job, 200, *wait) : failed(wait.failure());
}

api_reply service_api::change(api_request const& request) {
    if (auto reply = control_.answer(request)) return std::move(*reply);
    if (request.path == jobs_path) return request.method == "POST" ? submit(request) : refusal(405, no_method);
    auto const path = job_in(request.path);
    if (!path) return refusal(404, unknown_path);
    auto const found = visible(store_, request, path->id);
    if (!found) return failed(found.failure());
    auto const& job = *found;
    return job ? change_job(request, *job, path->action) : unknown_id(path->id);
}

api_reply service_api::submit(api_request const& request) {
    if (!folder_.of_root && !control_.is_operator(request))
        return refusal(403, "the service runs jobs as another user: start a service of your own");
    submission what;
    what.uid = request.uid;
    run_config config;
    if (auto const fault = read_submission(request.body, what, config); !fault.empty()) return refusal(400, fault);
    if (auto refused = refusal_of_user(request, what, config)) return std::move(*refused);
    if (auto const fault = control_.why_not(what.tenant, config); !fault.empty()) return refusal(400, fault);
    for (auto const id : what.after) {
        auto const other = visible(store_, request, id);
        if (!other) return failed(other.failure());
        if (!*other) return refusal(400, fmt::format("job {} of 'after' is unknown: name a submitted job", id));
    }
    return store(what);
}

/// In a service of root. Another user can choose neither a tenant of others nor a priority that delays their jobs.
std::optional<api_reply> service_api::refusal_of_user(api_request const& request, submission const& what,
                                                      run_config const& definition) const {
    if (!folder_.is_other_user(request.uid)) return std::nullopt;
    auto const owner = owner_of(request.uid, folder_);
    if (!owner) return refusal(403, fmt::format("no account has the number {} of your user: add one", request.uid));
    auto const& named = definition.jobs.front().tenant;
    if (!request.is_admin && !named.empty() && !is_tenant_of(*owner, named))
        return refusal(403,
                       fmt::format("tenant {} is not yours: name your user or a group that has you", quoted(named)));
    if (!request.is_admin && what.priority > 0)
        return refusal(403, "only root and the admin group may give a priority above 0: leave it out");
    auto const made = make_folder_of(*owner, folder_);
    return made ? std::nullopt : std::optional(failed(made.failure()));
}

api_reply service_api::store(submission const& what) {
    auto const done = store_.submit(what, wall_clock_ms());
    if (!done) return failed(done.failure());
    changed_ = true;
    return show(done->job, done->is_new ? 201 : 200);
}

api_reply service_api::show(std::int64_t id, int status) {
    auto const found = store_.find(id);
    if (!found) return failed(found.failure());
    auto const& job = *found;
    return job ? show(store_, *job, status) : unknown_id(id);
}

api_reply service_api::show(job_list& list, stored_job const& job, int status, job_wait const& wait) {
    auto const history = list.history(job.id);
    if (!history) return failed(history.failure());
    return {status, job_json(job, folder_, *history, wait)};
}

api_reply service_api::change_job(api_request const& request, stored_job const& job, std::string_view action) {
    if (action.empty() && request.method == "DELETE") return cancel(job);
    if (action == "pause" && request.method == "POST") return pause(job, true);
    if (action == "resume" && request.method == "POST") return pause(job, false);
    return refusal_of(action);
}

/// Acts first: a failure to write it is repaired by a later turn.
api_reply service_api::cancel(stored_job job) {
    if (is_final(job.now)) return show(store_, job, 200);
    cancelled_.insert(job.id);
    changed_ = true;
    bool const written = static_cast<bool>(write_cancelled(job));
    job.cancelled = true;
    auto reply = written ? show(job.id, 202) : show(store_, job, 202);
    reply.holds = reply.status == 202;
    return reply;
}

result<void> service_api::write_cancelled(stored_job const& job) {
    if (auto noted = store_.note(job.id, wish::cancelled); !noted) return noted;
    if (job.now != stage::queued) return {};
    auto halt = change_to(job, stage::halted);
    halt.why = "cancelled before its launch";
    halt.end = job.end;
    return store_.advance(halt);
}

result<void> service_api::write_cancelled() {
    for (auto const id : cancelled_) {
        auto const found = store_.find(id);
        if (!found) return found.failure();
        auto const& job = *found;
        if (!job || is_final(job->now)) continue;
        if (auto written = write_cancelled(*job); !written) return written;
    }
    return {};
}

api_reply service_api::pause(stored_job const& job, bool wanted) {
    if (is_final(job.now))
        return refusal(409, fmt::format("job {} has ended: submit it again", label_of(job.what.name, job.id)));
    if (auto noted = store_.note(job.id, wish::paused, wanted); !noted) return failed(noted.failure());
    changed_ = true;
    auto now = job;
    now.paused = wanted;
    return show(store_, now, job.now == stage::queued ? 200 : 202);
}

}  // namespace ration::program
