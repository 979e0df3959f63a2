// SPDX-License-Identifier: BSL-1.0
#include "serve/client.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

#include <ration/process/environment.hpp>
#include <ration/process/input_file.hpp>
#include <ration/progress/token.hpp>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "common/utf8.hpp"
#include "events/json_reader.hpp"
#include "serve/api.hpp"
#include "serve/daemon.hpp"
#include "serve/http.hpp"
#include "view/text_table.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

constexpr int most_attempts = 5;  // to submit, after a lost answer

[[nodiscard]] exit_code fail(error const& why) { return program::fail(exit_code::no_backend, to_text(why)); }

[[nodiscard]] exit_code unknown_job(std::string const& word) {
    return program::fail(exit_code::bad_input,
                         fmt::format("job {} is unknown; list the jobs with ration status", quoted(word)));
}

/// JSON carries UTF-8 alone.
[[nodiscard]] bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        auto const length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

/// The name of the program, as far as a job can be called so.
[[nodiscard]] std::string name_of_command(std::string const& program) {
    auto name = fs::path(program).filename().string();
    std::ranges::replace_if(name, [](char c) { return !is_plain_name(std::string("a") + c); }, '_');
    if (name.empty() || name.front() == '.' || name.front() == '-') name.insert(name.begin(), '_');
    return name.substr(0, longest_submitted_name);
}

/// A jobs file with the command. A job without a target trains to its end.
[[nodiscard]] std::string definition_of(submit_options const& options) {
    std::string words;
    json_writer json(words);  // the strings of JSON are strings of TOML
    json.array([&] {
        for (auto const& word : options.words) json.value(word);
    });
    return fmt::format(
        "[[job]]\nname = \"{}\"\ncommand = {}\npriority = {}\ntarget = {{ loss = {{ objective = 0 }} }}\n"
        "at_objective = \"continue\"\n",
        options.name.empty() ? name_of_command(options.words.front()) : options.name, words, options.priority);
}

[[nodiscard]] bool is_file(submit_options const& options) {
    return options.words.size() == 1 && options.words.front().ends_with(".toml");
}

[[nodiscard]] result<std::string> read_definition_of(submit_options const& options) {
    if (!is_file(options)) return definition_of(options);
    return process::read_input(options.words.front(), {.remedy = "name a jobs file with one job",
                                                       .most_bytes = max_config_bytes,
                                                       .too_large = "is larger than 1 MiB"});
}

/// The request body; a sentence if a word of the command line is wrong.
[[nodiscard]] result<std::string, diagnostic> body_of(submit_options const& options, std::string const& definition,
                                                      std::string const& key) {
    std::vector<std::int64_t> after;
    for (auto const& word : options.after) {
        auto const job = job_named(word);
        if (!job)
            return diagnostic{
                .text = fmt::format("--after: {} does not name a job; write its number or its label", quoted(word))};
        after.push_back(*job);
    }
    auto const limit = options.time_limit.empty() ? nanoseconds{} : parse_duration(options.time_limit);
    if (!limit)
        return diagnostic{.text = fmt::format("--time-limit: {} is not a duration; write \"90s\" or \"2h\"",
                                              quoted(options.time_limit))};
    std::string body;
    json_writer json(body);
    json.object([&] {
        json.member("key", key);
        json.member("definition", definition);
        json.member("directory", fs::current_path().string());
        json.key("environment").array([&] {
            for (auto const& entry : process::current_environment())
                if (is_utf8(entry)) json.value(entry);
        });
        json.member("retries", options.retries);
        json.member("time_limit_ms", limit->count / 1'000'000);
        json.key("after").array([&] {
            for (auto const job : after) json.value(job);
        });
    });
    return body;
}

/// After a lost answer the submission is repeated: its key makes that the same job.
[[nodiscard]] result<http_reply> post(service_folder const& folder, std::string const& body) {
    for (int attempt = 1;; ++attempt) {
        auto reply = ask_http(folder.socket(), "POST", "/v1/jobs", body);
        if (reply || attempt == most_attempts || reply.failure().code == errc::not_found) return reply;
        ::sleep(1);
    }
}

/// Prints the sentence of a refusal.
[[nodiscard]] exit_code refused(http_reply const& reply) {
    auto const json = parse_json(reply.json);
    bool const known = json.is_object() && json.contains("error") && json["error"].is_string();
    return program::fail(reply.status == 400 || reply.status == 404 || reply.status == 409 ? exit_code::bad_input
                                                                                           : exit_code::no_backend,
                         known ? json["error"].get<std::string>() : "the service gave no valid answer; restart it");
}

[[nodiscard]] std::string age_text(std::int64_t since_ms) {
    return duration_text(milliseconds(std::max<std::int64_t>(0, wall_clock_ms() - since_ms)));
}

[[nodiscard]] std::string table_of(std::vector<stored_job> const& jobs) {
    std::vector<std::vector<std::string>> lines{{"job", "stage", "for", "launches", "priority"}};
    for (auto const& job : jobs)
        lines.push_back({label_of(job.what.name, job.id), std::string(name_of(job.now)),
                         is_final(job.now) ? "" : age_text(job.stage_ms), std::to_string(job.incarnation),
                         std::to_string(job.what.priority)});
    return aligned(lines);
}

[[nodiscard]] std::string details_of(stored_job const& job, std::vector<past_stage> const& history,
                                     service_folder const& folder) {
    auto const label = label_of(job.what.name, job.id);
    auto text = fmt::format("{}: {}{}\n  output: {}\n", label, name_of(job.now),
                            job.why.empty() ? "" : " (" + printable(job.why) + ")", folder.log_of(label));
    for (auto const& past : history)
        text += fmt::format("  {:>9}  launch {}  {}{}\n", age_text(past.at_ms), past.incarnation, name_of(past.what),
                            past.why.empty() ? "" : ": " + printable(past.why));
    return text;
}

[[nodiscard]] exit_code show_all(job_store& store, service_folder const& folder, bool json) {
    auto const jobs = store.all();
    if (!jobs) return fail(jobs.failure());
    if (json)
        std::puts(jobs_json(*jobs, folder).c_str());
    else if (jobs->empty())
        std::puts("no job was submitted");
    else
        fmt::print("{}", table_of(*jobs));
    return exit_code::ok;
}

/// The job of a number or a label, if there is one. The name of a label has to be the job's.
[[nodiscard]] result<std::optional<stored_job>> find_named(job_store& store, std::string const& word) {
    auto const id = job_named(word);
    if (!id) return std::optional<stored_job>();
    auto job = store.find(*id);
    bool const is_label = word.find('-') != word.npos;
    if (job && *job && is_label && label_of((*job)->what.name, *id) != word) return std::optional<stored_job>();
    return job;
}

[[nodiscard]] exit_code code_of(stored_job const& job) {
    if (job.now == stage::completed) return exit_code::ok;
    if (job.end.exit_code.value_or(0) != 0) return static_cast<exit_code>(*job.end.exit_code);
    if (job.now == stage::halted) return exit_code::interrupted;
    return job.end.signal ? static_cast<exit_code>(128 + *job.end.signal) : exit_code::job_failed;
}

}  // namespace

std::optional<std::int64_t> job_named(std::string const& word) {
    auto const dash = word.rfind('-');
    auto const first = dash == word.npos ? 0 : dash + 1;
    std::int64_t id = 0;
    auto const [end, fault] = std::from_chars(word.data() + first, word.data() + word.size(), id);
    if (fault != std::errc() || end != word.data() + word.size() || id <= 0) return std::nullopt;
    return id;
}

exit_code submit_job(submit_options const& options) {
    auto const folder = state_folder_named(options.folder);
    auto const definition = read_definition_of(options);
    if (!definition) return program::fail(exit_code::bad_input, to_text(definition.failure()));
    auto const token = progress::random_token();
    if (!token) return fail(token.failure());
    auto const body = body_of(options, *definition, options.key.empty() ? std::string(token->view()) : options.key);
    if (!body) return program::fail(exit_code::bad_input, to_text(body.failure()));
    auto const reply = post(folder, *body);
    if (!reply) return fail(reply.failure());
    auto const job = parse_json(reply->json);
    if (reply->status >= 300 || !job.is_object() || !job.contains("label")) return refused(*reply);
    std::puts(options.json ? reply->json.c_str() : printable(job["label"].get<std::string>()).c_str());
    return exit_code::ok;
}

exit_code show_status(status_options const& options) {
    auto const folder = state_folder_named(options.folder);
    auto store = job_store::open_to_read(folder.database());
    if (!store) return fail(store.failure());
    if (options.job.empty()) return show_all(*store, folder, options.json);
    auto const job = find_named(*store, options.job);
    if (!job) return fail(job.failure());
    if (!*job) return unknown_job(options.job);
    auto const history = store->history((*job)->id);
    if (!history) return fail(history.failure());
    if (options.json)
        std::puts(job_json(**job, folder, *history).c_str());
    else
        fmt::print("{}", details_of(**job, *history, folder));
    return exit_code::ok;
}

exit_code cancel_jobs(cancel_options const& options) {
    auto const folder = state_folder_named(options.folder);
    auto store = job_store::open_to_read(folder.database());
    if (!store) return fail(store.failure());
    for (auto const& word : options.jobs) {
        auto const job = find_named(*store, word);
        if (!job) return fail(job.failure());
        if (!*job) return unknown_job(word);
        auto const reply = ask_http(folder.socket(), "DELETE", fmt::format("/v1/jobs/{}", (*job)->id), "");
        if (!reply) return fail(reply.failure());
        if (reply->status >= 300) return refused(*reply);
        if (options.json) std::puts(reply->json.c_str());
    }
    return exit_code::ok;
}

exit_code wait_for_job(wait_options const& options) {
    constexpr useconds_t shortest = 50'000, longest = 1'000'000;
    auto const folder = state_folder_named(options.folder);
    auto store = job_store::open_to_read(folder.database());
    if (!store) return fail(store.failure());
    for (auto rest = shortest;; rest = std::min(longest, rest * 5 / 4)) {
        auto const job = find_named(*store, options.job);
        if (!job) return fail(job.failure());
        if (!*job) return unknown_job(options.job);
        if (is_final((*job)->now)) {
            if (options.json) std::puts(job_json(**job, folder, {}).c_str());
            return code_of(**job);
        }
        ::usleep(rest);
    }
}

}  // namespace ration::program
