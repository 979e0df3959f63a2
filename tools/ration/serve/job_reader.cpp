// SPDX-License-Identifier: BSL-1.0
#include "serve/job_reader.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <unistd.h>

#include "events/json_reader.hpp"
#include "serve/job_words.hpp"
#include "serve/list_findings.hpp"
#include "serve/service_call.hpp"

namespace ration::program {
namespace {

[[nodiscard]] error no_valid_answer(service_folder const& folder) {
    return {.code = errc::io,
            .operation = "read the answer of the service at",
            .subject = std::string_view(folder.path),
            .remedy = "use the same version of ration as the service"};
}

template <class T>
void read_into(nlohmann::json const& from, char const* name, T& into) {
    auto const at = from.find(name);
    if (at != from.end() && !at->is_null()) at->get_to(into);
}

void read_into(nlohmann::json const& from, char const* name, std::optional<std::int64_t>& into) {
    auto const at = from.find(name);
    if (at != from.end() && at->is_number_integer()) into = at->get<std::int64_t>();
}

/// The members that `write_job` writes, as far as a client needs them.
[[nodiscard]] std::optional<stored_job> job_in(nlohmann::json const& from) {
    auto const now = stage_named(from.value("stage", ""));
    if (!now) return std::nullopt;
    stored_job job;
    job.now = *now;
    read_into(from, "id", job.id);
    read_into(from, "stage_ms", job.stage_ms);
    read_into(from, "submitted_ms", job.submitted_ms);
    read_into(from, "not_before_ms", job.not_before_ms);
    read_into(from, "incarnation", job.incarnation);
    read_into(from, "step", job.step);
    read_into(from, "why", job.why);
    read_into(from, "cancelled", job.cancelled);
    read_into(from, "paused", job.paused);
    read_into(from, "exit_code", job.end.exit_code);
    read_into(from, "signal", job.end.signal);
    auto& what = job.what;
    read_into(from, "name", what.name);
    read_into(from, "uid", what.uid);
    read_into(from, "tenant", what.tenant);
    read_into(from, "priority", what.priority);
    read_into(from, "retries", what.retries);
    read_into(from, "time_limit_ms", what.time_limit_ms);
    read_into(from, "after", what.after);
    read_into(from, "directory", what.directory);
    read_into(from, "definition", what.definition);
    std::optional<std::int64_t> index;
    read_into(from, "array_index", index);
    if (index) what.environment.push_back(fmt::format("{}{}", array_index, *index));
    return job;
}

[[nodiscard]] std::vector<past_stage> history_in(nlohmann::json const& from) {
    std::vector<past_stage> out;
    auto const all = from.find("history");
    if (all == from.end() || !all->is_array()) return out;
    for (auto const& one : *all) {
        past_stage past;
        if (auto const what = stage_named(one.value("stage", ""))) past.what = *what;
        read_into(one, "incarnation", past.incarnation);
        read_into(one, "step", past.step);
        read_into(one, "at_ms", past.at_ms);
        read_into(one, "why", past.why);
        out.push_back(std::move(past));
    }
    return out;
}

/// The conversion; none if a member has another type, which the library reports by an exception.
template <class Read>
[[nodiscard]] auto checked(Read read) -> decltype(read()) {
    try {
        return read();
    } catch (nlohmann::json::exception const&) {
        return std::nullopt;
    }
}

}  // namespace

result<job_reader> job_reader::open(service_folder const& folder) {
    job_reader out(folder);
    if (folder.of_root && ::geteuid() != 0) return out;
    auto list = job_list::open(folder.database());
    if (!list) return list.failure();
    out.list_.emplace(std::move(list).value());
    return out;
}

result<std::optional<seen_job>> job_reader::find(std::string const& word) {
    if (!list_) {
        auto const id = job_named(word);
        if (!id) return std::optional<seen_job>();
        auto found = ask_for(*id);
        if (!found) return found;
        if (auto const& seen = *found; seen && !is_name_of(seen->job, word)) return std::optional<seen_job>();
        return found;
    }
    auto found = find_named(*list_, word);
    if (!found) return found.failure();
    auto& job = *found;
    if (!job) return std::optional<seen_job>();
    auto history = list_->history(job->id);
    if (!history) return history.failure();
    return std::optional(seen_job{std::move(*job), std::move(history).value()});
}

result<std::optional<seen_job>> job_reader::ask_for(std::int64_t id) const {
    auto const reply = ask_service(folder_, "GET", fmt::format("/v1/jobs/{}", id));
    if (!reply) return reply.failure();
    if (reply->status == 404) return std::optional<seen_job>();
    auto const json = parse_json(reply->json);
    auto seen = checked([&]() -> std::optional<seen_job> {
        auto job = json.is_object() ? job_in(json) : std::nullopt;
        if (!job) return std::nullopt;
        return seen_job{std::move(*job), history_in(json)};
    });
    if (!seen) return no_valid_answer(folder_);
    return seen;
}

job_wait job_reader::wait_of(stored_job const& job) const {
    if (is_final(job.now)) return {};
    auto const reply = ask_service(folder_, "GET", fmt::format("/v1/jobs/{}", job.id));
    if (!reply) return {may_have_process(job.now) ? "" : "waits until ration serve, since the service does not run"};
    auto const json = parse_json(reply->json);
    auto wait = checked([&]() -> std::optional<job_wait> {
        job_wait out;
        read_into(json, "waits", out.sentence);
        read_into(json, "earliest_start_ms", out.earliest_ms);
        return out;
    });
    return wait ? std::move(*wait) : job_wait{};
}

result<std::vector<std::string>> job_reader::problems() {
    std::vector<std::string> out;
    if (!list_) return out;  // the service reports them to root
    auto const jobs = list_->unreadable();
    if (!jobs) return jobs.failure();
    for (auto const& job : *jobs) out.push_back(sentence_on(job));
    return out;
}

result<std::vector<stored_job>> job_reader::all() {
    if (list_) return list_->all();
    std::vector<stored_job> out;
    for (std::optional<std::int64_t> after = 0; after;) {
        auto page = ask_for_page(*after);
        if (!page) return page.failure();
        std::ranges::move(page->jobs, std::back_inserter(out));
        after = page->next;
    }
    return out;
}

result<job_page> job_reader::ask_for_page(std::int64_t after) const {
    auto const reply = ask_service(folder_, "GET", fmt::format("/v1/jobs?after={}", after));
    if (!reply) return reply.failure();
    auto const json = parse_json(reply->json);
    auto page = checked([&]() -> std::optional<job_page> {
        job_page out;
        for (auto const& one : json.at("jobs")) {
            auto job = job_in(one);
            if (!job) return std::nullopt;
            out.jobs.push_back(std::move(*job));
        }
        read_into(json, "next", out.next);
        // A service that is not one could lead in a circle
        return !out.next || *out.next > after ? std::optional(std::move(out)) : std::nullopt;
    });
    if (!page) return no_valid_answer(folder_);
    return std::move(*page);
}

}  // namespace ration::program
