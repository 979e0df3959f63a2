// SPDX-License-Identifier: BSL-1.0
#include "serve/submit_client.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <ranges>
#include <sys/stat.h>
#include <unistd.h>

#include <ration/process/environment.hpp>
#include <ration/process/input_file.hpp>
#include <ration/progress/token.hpp>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "events/bytes_member.hpp"
#include "events/json_reader.hpp"
#include "events/json_writer.hpp"
#include "serve/batch_script.hpp"
#include "serve/daemon.hpp"
#include "serve/job_reader.hpp"
#include "serve/job_words.hpp"
#include "serve/service_call.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t longest_array = 1000;
constexpr int most_losses = 5, most_absences = 40;  // of answers and of the service, one after another

/// The name of the program, as far as a job can be called so.
[[nodiscard]] std::string name_of_command(std::string const& program) {
    auto name = fs::path(program).filename().string();
    std::ranges::replace_if(name, [](char c) { return !is_plain_name(std::string("a") + c); }, '_');
    if (name.empty() || name.front() == '.' || name.front() == '-') name.insert(name.begin(), '_');
    return name.substr(0, longest_submitted_name);
}

/// A string of TOML, which is one of JSON.
[[nodiscard]] std::string quoted_text(std::string const& content) {
    std::string text;
    json_writer(text).value(content);
    return text;
}

/// The words as an array of TOML, whose strings are those of JSON.
[[nodiscard]] std::string array_of_words(std::vector<std::string> const& words) {
    std::string text;
    json_writer json(text);
    json.array([&] {
        for (auto const& word : words) json.value(word);
    });
    return text;
}

/// The keys of a job for the resources and the folder of a script.
[[nodiscard]] std::string keys_of(batch_script const& script) {
    std::vector<std::string> bounds;
    if (script.cpus > 0) bounds.push_back(fmt::format("cpu = {{ max = {} }}", script.cpus));
    if (!script.memory.empty()) bounds.push_back(fmt::format("memory = \"{}\"", script.memory));
    if (script.gpus > 0) bounds.push_back(fmt::format("gpu = {}", script.gpus));
    std::string text;
    if (!bounds.empty()) text += fmt::format("bounds = {{ {} }}\n", fmt::join(bounds, ", "));
    if (!script.directory.empty()) text += fmt::format("directory = {}\n", quoted_text(script.directory));
    return text;
}

/// A jobs file with the command. A job without a target trains to its end.
[[nodiscard]] std::string definition_of(submit_options const& options) {
    auto text = fmt::format("[[job]]\nname = \"{}\"\ncommand = {}\npriority = {}\n",
                            options.name.empty() ? name_of_command(options.words.front()) : options.name,
                            array_of_words(options.words), options.priority.value_or(0));
    text += options.keys;
    if (!options.on_end.empty()) text += fmt::format("on_end = {}\n", array_of_words({"sh", "-c", options.on_end}));
    return text;
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

/// The options of a script for sbatch, where the command line has none.
void read_script(submit_options& options) {
    auto const path = options.words.front();
    if (is_file(options)) return;
    auto const text = process::read_input(path, {.most_bytes = max_config_bytes});
    auto script = text ? read_batch_script(*text) : std::nullopt;
    if (!script) return;
    auto words = std::move(script->interpreter);
    words.push_back(fs::absolute(path).string());
    std::ranges::copy(options.words | std::views::drop(1), std::back_inserter(words));
    if (options.name.empty()) options.name = name_of_command(script->name.empty() ? path : script->name);
    if (options.time_limit.empty()) options.time_limit = script->time_limit;
    if (options.array.empty() && array_of(script->array)) options.array = script->array;
    if (options.after.empty()) options.after = script->after;
    options.words = std::move(words);
    options.keys = keys_of(*script);
    if (!script->unused.empty())
        std::fprintf(stderr, "ration: warning: %s\n",
                     printable(fmt::format("{}: ration submit has no equivalent of {}; write other options on its "
                                           "command line",
                                           path, fmt::join(script->unused, ", ")))
                         .c_str());
}

/// The numbers of the jobs that `--after` names, whose labels have to be theirs.
[[nodiscard]] result<std::vector<std::int64_t>, diagnostic> predecessors_of(submit_options const& options,
                                                                            service_folder const& folder) {
    std::vector<std::int64_t> out;
    if (options.after.empty()) return out;
    out.reserve(options.after.size());
    auto reader = job_reader::open(folder);
    if (!reader) return diagnostic{.text = to_text(reader.failure())};
    for (auto const& word : options.after) {
        auto const found = reader->find(word);
        if (!found) return diagnostic{.text = to_text(found.failure())};
        auto const& seen = *found;
        if (!seen)
            return diagnostic{
                .text = fmt::format("--after: job {} is unknown; list the jobs with ration status", quoted(word))};
        out.push_back(seen->job.id);
    }
    return out;
}

/// 0: none.
[[nodiscard]] result<std::int64_t, diagnostic> time_limit_ms(std::string const& word) {
    if (word.empty()) return 0;
    auto const limit = parse_duration(word);
    if (!limit || *limit < milliseconds(1))
        return diagnostic{
            .text = fmt::format("--time-limit: {} is not a time of at least 1 ms; write \"90s\" or \"2h\", or "
                                "leave it out",
                                quoted(word))};
    return limit->count / 1'000'000;
}

void warn_of_unused_keys(std::string const& file, std::string const& text) {
    auto const unused = unused_keys(text);
    if (!unused.empty())
        std::fprintf(stderr, "ration: warning: %s\n",
                     printable(fmt::format("{}: the service does not use {}; it takes them from ration serve", file,
                                           fmt::join(unused, ", ")))
                         .c_str());
}

/// The common parts of the jobs of a submission.
struct request {
    std::string definition;
    std::vector<std::int64_t> after;
    std::int64_t time_limit_ms = 0;
};

/// A sentence if a word of the command line is wrong.
[[nodiscard]] result<request, diagnostic> read_request(submit_options const& options, service_folder const& folder) {
    if (!is_utf8(options.on_end))
        return diagnostic{.text = "--on-end: the command is not UTF-8; write its other bytes as printf '\\377' does"};
    if (is_file(options) && !options.on_end.empty())
        return diagnostic{.text = fmt::format("--on-end: {} has its own commands; write on_end into the file",
                                              quoted(options.words.front()))};
    auto definition = read_definition_of(options);
    if (!definition) return diagnostic{.text = to_text(definition.failure())};
    auto after = predecessors_of(options, folder);
    if (!after) return after.failure();
    auto const limit = time_limit_ms(options.time_limit);
    if (!limit) return limit.failure();
    if (is_file(options)) warn_of_unused_keys(options.words.front(), *definition);
    return request{std::move(definition).value(), std::move(after).value(), *limit};
}

[[nodiscard]] std::int64_t umask_of_process() {
    auto const mask = ::umask(0);
    ::umask(mask);
    return mask;
}

/// `number`: of the job in its array; empty: it is in none.
[[nodiscard]] std::string body_of(submit_options const& options, request const& wanted, std::string const& key,
                                  std::string const& number) {
    std::string const index(array_index);
    std::string body;
    json_writer json(body);
    json.object([&] {
        json.member("key", key);
        json.member("definition", wanted.definition);
        write_bytes(json.key("directory"), fs::current_path().string());
        json.key("environment").array([&] {
            for (auto const& entry : process::current_environment())
                if (!entry.starts_with(index)) write_bytes(json, entry);
            if (!number.empty()) json.value(index + number);
        });
        if (!is_file(options) && !std::ranges::all_of(options.words, is_utf8))
            json.key("command").array([&] {
                for (auto const& word : options.words) write_bytes(json, word);
            });
        json.member("umask", umask_of_process());
        if (!options.name.empty()) json.member("name", options.name);
        if (options.priority) json.member("priority", *options.priority);
        json.member("retries", options.retries);
        json.member("time_limit_ms", wanted.time_limit_ms);
        json.key("after").array([&] {
            for (auto const job : wanted.after) json.value(job);
        });
    });
    return body;
}

/// After a lost answer the submission is repeated: its key makes that the same job. A service that was just started
/// gets some time.
[[nodiscard]] result<http_reply> post(service_folder const& folder, std::string const& body) {
    constexpr useconds_t rest = 50'000, rest_after_loss = 1'000'000;
    int losses = 0, absences = 0;
    for (;;) {
        auto reply = ask_service(folder, "POST", "/v1/jobs", body);
        if (reply) return reply;
        bool const absent = reply.failure().code == errc::not_found;
        if (absent ? ++absences == most_absences : ++losses == most_losses) return reply;
        ::usleep(absent ? rest : rest_after_loss);
    }
}

/// "seed-3", or "seed-3 (index 1)" for a job of an array, whose label has the number of the job.
[[nodiscard]] std::string line_of(nlohmann::json const& job) {
    auto label = printable(job["label"].get<std::string>());
    if (!job.contains("array_index") || !job["array_index"].is_number_integer()) return label;
    return fmt::format("{} (index {})", label, job["array_index"].get<std::int64_t>());
}

/// Submits one job and prints its label.
[[nodiscard]] exit_code submit_one(submit_options const& options, service_folder const& folder,
                                   std::string const& body) {
    auto const reply = post(folder, body);
    if (!reply) return unreachable(reply.failure(), folder);
    auto const job = parse_json(reply->json);
    if (reply->status >= 300 || !job.is_object() || !job.contains("label") || !job["label"].is_string())
        return refused(*reply);
    std::puts(options.json ? reply->json.c_str() : line_of(job).c_str());
    return exit_code::ok;
}

}  // namespace

std::optional<std::pair<std::int64_t, std::int64_t>> array_of(std::string const& word) {
    std::int64_t first = 0, last = 0;
    auto const* const end = word.data() + word.size();
    auto const dash = std::from_chars(word.data(), end, first);
    if (dash.ec != std::errc() || dash.ptr == end || *dash.ptr != '-') return std::nullopt;
    auto const rest = std::from_chars(dash.ptr + 1, end, last);
    bool const good =
        rest.ec == std::errc() && rest.ptr == end && first >= 0 && last >= first && last - first < longest_array;
    return good ? std::optional(std::pair(first, last)) : std::nullopt;
}

exit_code submit_job(submit_options const& given) {
    auto options = given;
    read_script(options);
    auto const folder = service_folder_named(options.folder);
    auto const wanted = read_request(options, folder);
    if (!wanted) return fail(exit_code::bad_input, to_text(wanted.failure()));
    auto const token = progress::random_token();
    if (!token) return unreachable(token.failure(), folder);
    auto const key = options.key.empty() ? std::string(token->view()) : options.key;
    if (options.array.empty()) return submit_one(options, folder, body_of(options, *wanted, key, ""));
    auto const numbers = array_of(options.array);
    if (!numbers) return exit_code::bad_input;  // the command line was checked
    for (auto number = numbers->first; number <= numbers->second; ++number) {
        auto const body = body_of(options, *wanted, fmt::format("{}.{}", key, number), std::to_string(number));
        if (auto const code = submit_one(options, folder, body); code != exit_code::ok) return code;
    }
    return exit_code::ok;
}

}  // namespace ration::program
