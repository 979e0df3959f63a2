// SPDX-License-Identifier: BSL-1.0
#include "serve/submission_body.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <pwd.h>
#include <vector>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "events/bytes_member.hpp"
#include "events/json_reader.hpp"
#include "serve/definition.hpp"

namespace ration::program {
namespace {

constexpr std::size_t longest_key = 128, longest_definition = std::size_t{256} << 10, most_variables = 4096,
                      most_after = 64, most_words = 65536;
constexpr std::int64_t most_priority = 1'000'000, most_retries = 100,
                       longest_time_limit = std::int64_t{365} * 24 * 3600 * 1000;

[[nodiscard]] std::string tenant_of(std::int64_t uid, std::string const& named) {
    if (!named.empty()) return named;
    auto const* const user = ::getpwuid(static_cast<uid_t>(uid));
    if (user != nullptr && is_plain_name(user->pw_name)) return user->pw_name;
    return fmt::format("uid-{}", uid);
}

/// Reads the members of a submission; the first fault is kept.
class submission_reader {
    nlohmann::json const& from_;
    std::string fault_;
    std::size_t known_ = 0;

public:
    explicit submission_reader(nlohmann::json const& from) : from_(from) {}

    [[nodiscard]] std::string const& fault() const noexcept { return fault_; }

    void text(char const* name, std::size_t most, std::string& into, bool required = true) {
        auto const* const value = find(name, required);
        if (value == nullptr) return;
        auto text = bytes_in(*value);
        if (!text || text->size() > most) return refuse(name, fmt::format("text of at most {} bytes", most));
        into = std::move(*text);
        if (into.empty() || into.find('\0') != into.npos) refuse(name, "text that is not empty, without a zero byte");
    }

    void number(char const* name, std::int64_t least, std::int64_t most, std::int64_t& into) {
        auto const* const value = find(name, false);
        if (value == nullptr) return;
        // The library compares an unsigned number as a signed one, so that 2^64 - 1 would be -1
        bool const fits = !value->is_number_unsigned() || value->get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
        bool const good = value->is_number_integer() && fits && *value >= least && *value <= most;
        if (!good) return refuse(name, fmt::format("a whole number from {} to {}", least, most));
        into = value->get<std::int64_t>();
    }

    template <class T>
    void list(char const* name, std::size_t most, std::vector<T>& into) {
        auto const* const value = find(name, false);
        if (value == nullptr) return;
        bool good = value->is_array() && value->size() <= most;
        for (std::size_t i = 0; good && i < value->size(); ++i) {
            auto const& one = (*value)[i];
            if constexpr (std::is_same_v<T, std::string>) {
                auto text = bytes_in(one);
                good = text && text->find('\0') == text->npos;
                if (good) into.push_back(std::move(*text));
            } else {
                good = one.is_number_integer() && one.get<std::int64_t>() > 0;
                if (good) into.push_back(one.get<T>());
            }
        }
        if (!good) refuse(name, fmt::format("a list of at most {} values", most));
    }

    void end() {
        if (fault_.empty() && known_ != from_.size()) fault_ = "the submission has an unknown member; remove it";
    }

private:
    [[nodiscard]] nlohmann::json const* find(char const* name, bool required) {
        auto const at = from_.find(name);
        if (at != from_.end()) {
            ++known_;
            return &*at;
        }
        if (required) refuse(name, "a value");
        return nullptr;
    }

    void refuse(char const* name, std::string_view wanted) {
        if (fault_.empty()) fault_ = fmt::format("'{}' of the submission is wrong: give {}", name, wanted);
    }
};

}  // namespace

std::string read_submission(std::string const& body, submission& into, run_config& config) {
    auto const json = parse_json(body);
    if (!json.is_object()) return "the body is not a JSON object: send a submission";
    submission_reader members(json);
    members.text("key", longest_key, into.key);
    members.text("definition", longest_definition, into.definition);
    members.text("directory", 4096, into.directory);
    members.list("environment", most_variables, into.environment);
    members.text("name", longest_submitted_name, into.name, false);
    std::int64_t priority = unlimited, umask = -1;
    members.number("priority", -most_priority, most_priority, priority);
    members.number("retries", 0, most_retries, into.retries);
    members.number("time_limit_ms", 0, longest_time_limit, into.time_limit_ms);
    members.list("after", most_after, into.after);
    members.list("command", most_words, into.command);
    members.number("umask", 0, 0777, umask);
    members.end();
    if (!members.fault().empty()) return members.fault();
    if (umask >= 0) into.umask = umask;
    if (!into.command.empty() && into.command.front().empty())
        return "the command names no program: send the program first";
    if (!is_utf8(into.key) || !is_utf8(into.definition)) return "the key or the definition is not UTF-8: send text";
    if (!into.directory.starts_with('/')) return "the directory is relative: send an absolute path";
    if (!into.name.empty() && !is_plain_name(into.name))
        return "the name is wrong: use letters, digits, '.', '_' and '-', and begin with a letter, a digit or '_'";
    auto read = read_definition(into.definition);
    if (!read.problems.empty()) return to_text(read.problems.front());
    auto const& job = read.config.jobs.front();
    if (into.name.empty()) into.name = job.name;
    into.priority = priority == unlimited ? job.priority : priority;
    into.tenant = tenant_of(into.uid, job.tenant);
    config = std::move(read.config);
    return {};
}

}  // namespace ration::program
