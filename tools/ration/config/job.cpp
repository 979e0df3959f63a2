// SPDX-License-Identifier: BSL-1.0
#include "config/job.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <ration/cgroup/names.hpp>

#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "config/devices.hpp"
#include "config/endings.hpp"
#include "config/log.hpp"
#include "config/metrics.hpp"
#include "config/parameters.hpp"
#include "config/preload.hpp"
#include "config/target.hpp"

namespace ration::program {

namespace {

constexpr double most_cores = 4096;
constexpr std::size_t longest_job_name = 48;  // it is part of a socket's path, which may have 107 bytes
constexpr bytes least_memory{1 << 20};

[[nodiscard]] bool has_zero_byte(std::string_view text) noexcept { return text.find('\0') != std::string_view::npos; }

/// Reads the parts of one job; every part reports its own errors.
class job_part_reader {
    table_reader keys_;
    diagnostics& problems_;
    job_config job_;

    void refuse(position at, std::string sentence) const { problems_.add(at, std::move(sentence)); }

public:
    job_part_reader(table const& from, position at, diagnostics& problems)
        : keys_(from, "[[job]]", problems), problems_(problems) {
        job_.where = at;
    }

    [[nodiscard]] job_config read() {
        read_name();
        read_command();
        read_place();
        read_environment();
        read_launch_parameters(keys_, job_, problems_);
        read_preload(keys_, job_, problems_);
        read_start();
        job_.target = read_target(keys_, problems_);
        job_.must_report = job_.target.is_given();
        read_bounds();
        read_elastic(keys_, title(), job_.elastic, problems_);
        read_endings(keys_, job_, problems_);
        job_.log = read_log(keys_, job_.target, problems_);
        job_.log_at = keys_.place_of("log");
        job_.metrics = read_metrics(keys_, job_.target, problems_);
        read_tenant_and_weight();
        read_priority();
        read_reads();
        keys_.report_all_unknown();
        return std::move(job_);
    }

private:
    [[nodiscard]] std::string title() const { return job_.name.empty() ? "this job" : "job " + quoted(job_.name); }

    void read_plain_name(std::string_view key, std::string& into) {
        auto const* const name = keys_.take<std::string>(key, "text");
        if (name == nullptr) return;
        position const at = keys_.place_of(key);
        if (!is_plain_name(*name))
            return refuse(
                at, fmt::format(
                        "{} cannot be a {}; use letters, digits, '.', '_' and '-', no '.' or '-' in front, at most {} "
                        "characters",
                        quoted(*name), key, longest_job_name));
        into = *name;
    }

    void read_name() {
        if (keys_.take("name") == nullptr) return refuse(job_.where, "this job has no name; add name = \"...\"");
        job_.name_at = keys_.place_of("name");
        read_plain_name("name", job_.name);
        if (!job_.name.empty() && !cgroup::check_name(job_.name))
            refuse(job_.name_at, quoted(job_.name) + " is the name of a file of the kernel; choose another name");
    }

    void read_command() {
        if (keys_.take("command") == nullptr)
            return refuse(job_.where, title() + " has no command; add command = [\"program\", \"argument\"]");
        job_.command_at = keys_.place_of("command");
        job_.command = program::read_command(keys_, "command", problems_);
    }

    void read_place() {
        auto const* const directory = keys_.take<std::string>("directory", "text");
        if (directory == nullptr) return;
        job_.directory_at = keys_.place_of("directory");
        if (directory->empty() || has_zero_byte(*directory))
            return refuse(job_.directory_at,
                          "'directory' is not a path; leave the key out to start the job where ration was started");
        job_.directory = *directory;
    }

    void read_environment() {
        auto const* const variables = keys_.take<table>("environment", "a table, such as { SEED = \"1\" }");
        if (variables == nullptr) return;
        for (auto const& [name, name_at, held] : *variables) {
            auto const* const text = std::get_if<std::string>(&held.data);
            auto const* const whole = std::get_if<std::int64_t>(&held.data);
            if (name.empty() || name.find('=') != std::string::npos || has_zero_byte(name))
                refuse(name_at, quoted(name) + " cannot be the name of a variable; use a name without '='");
            else if (name.starts_with("RATION_"))
                refuse(name_at, quoted(name) + " is for ration to set; use a name that does not begin with RATION_");
            else if (text != nullptr && has_zero_byte(*text))
                refuse(held.at, "the value of a variable cannot hold a zero byte; remove \\u0000");
            else if (text != nullptr)
                job_.environment.emplace_back(name, *text);
            else if (whole != nullptr)
                job_.environment.emplace_back(name, std::to_string(*whole));
            else
                refuse(held.at, fmt::format("variable {} must be text or a whole number, not {}; put it in quotes",
                                            quoted(name), kind_of(held)));
        }
    }

    void read_start() {
        if (auto const* const text = keys_.take<std::string>("at", "a duration in quotes, such as \"20s\""))
            if (auto const at = read_duration("at", *text, keys_.place_of("at"), problems_)) job_.at = *at;
    }

    void read_bounds() {
        auto const* const from = keys_.take<table>("bounds", "a table, such as { cpu = { min = 0.1, max = 2 } }");
        if (from == nullptr) return;
        table_reader keys(*from, "'bounds'", problems_);
        if (auto const* const cpu = keys.take<table>("cpu", "a table in cores, such as { min = 0.1, max = 2 }"))
            read_cpu_bounds(*cpu);
        if (auto const* const text = keys.take<std::string>("memory", "a size in quotes, such as \"2GiB\""))
            read_memory_limit(*text, keys.place_of("memory"));
        job_.elastic = read_device_bounds(keys, problems_);
        keys.report_all_unknown();
    }

    void read_cpu_bounds(table const& from) {
        table_reader keys(from, "'cpu'", problems_);
        if (auto const least = read_cores(keys, "min", 0)) job_.cpu.minimum = *least;
        if (auto const most = read_cores(keys, "max", least_cpu.count)) job_.cpu.maximum = *most;
        keys.report_all_unknown();
        if (job_.cpu.minimum > job_.cpu.maximum)
            refuse(keys.place_of("min"), "cpu.min is more than cpu.max; make it at most as much");
    }

    /// In millicores.
    [[nodiscard]] std::optional<std::int64_t> read_cores(table_reader& keys, std::string_view key, std::int64_t least) {
        auto const cores = keys.take_number(key, "a number of cores");
        if (!cores) return std::nullopt;
        if (*cores >= 0 && *cores <= most_cores)
            if (auto const amount = std::llround(*cores * 1000); amount >= least) return amount;
        refuse(keys.place_of(key), fmt::format("cpu.{} is {}; write a number of cores from {} to {}", key, *cores,
                                               static_cast<double>(least) / 1000, most_cores));
        return std::nullopt;
    }

    void read_memory_limit(std::string const& text, position at) {
        auto const size = parse_size(text);
        if (!size)
            refuse(
                at,
                quoted(text) +
                    " is not a size; write a number and one of B, KiB, MiB, GiB, TiB, kB, MB, GB, TB, such as \"2GiB\"");
        else if (*size < least_memory)
            refuse(at, "no job fits into less than \"1MiB\" of memory; write a larger limit, or leave it out");
        else
            job_.memory = size;
    }

    void read_tenant_and_weight() {
        constexpr double most = 1e6;
        read_plain_name("tenant", job_.tenant);
        auto const weight = keys_.take_number("weight", "a number above 0");
        if (weight && !(*weight > 0 && *weight <= most))
            refuse(keys_.place_of("weight"),
                   fmt::format("the weight is {}; write a number above 0 and at most {}", *weight, most));
        else if (weight)
            job_.weight = *weight;
    }

    void read_priority() {
        constexpr std::int64_t most = 1'000'000;
        auto const* const priority = keys_.take<std::int64_t>("priority", "a whole number");
        if (priority == nullptr) return;
        if (*priority < -most || *priority > most)
            return refuse(
                keys_.place_of("priority"),
                fmt::format("the priority is {}; write a whole number from {} to {}", *priority, -most, most));
        job_.priority = *priority;
    }

    void read_reads() {
        constexpr std::string_view wanted = "an array of paths, such as [\"data/images.bin\"]";
        auto const* const paths = keys_.take<array>("reads", wanted);
        job_.reads_at = keys_.place_of("reads");
        if (paths == nullptr) return;
        for (auto const& path : *paths) {
            auto const* const text = std::get_if<std::string>(&path.data);
            if (text == nullptr || text->empty() || has_zero_byte(*text))
                refuse(path.at, fmt::format("'reads' must be {}; correct this element", wanted));
            else
                job_.reads.push_back(*text);
        }
        if (paths->size() > max_reads)
            refuse(job_.reads_at, fmt::format("'reads' has {} paths; name at most {}", paths->size(), max_reads));
    }
};

}  // namespace

bool is_plain_name(std::string_view name) noexcept {
    auto const plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
               c == '-';
    };
    return !name.empty() && name.size() <= longest_job_name && name.front() != '.' && name.front() != '-' &&
           std::ranges::all_of(name, plain);
}

job_config read_job(table const& from, position at, diagnostics& problems) {
    auto job = job_part_reader(from, at, problems).read();
    job.definition = lines_of(from);
    return job;
}

std::vector<std::string> read_command(table_reader& keys, std::string_view key, diagnostics& problems) {
    constexpr std::string_view wanted = "an array of texts, such as [\"python3\", \"train.py\"]";
    std::vector<std::string> out;
    auto const* const words = keys.take<array>(key, wanted);
    if (words == nullptr) return out;
    for (auto const& word : *words) {
        auto const* const text = std::get_if<std::string>(&word.data);
        if (text == nullptr)
            problems.add(word.at, fmt::format("'{}' must be {}; this word of it is {}", key, wanted, kind_of(word)));
        else if (has_zero_byte(*text))
            problems.add(word.at, "a word of a command cannot hold a zero byte; remove \\u0000");
        else
            out.push_back(*text);
    }
    if (words->empty() || (!out.empty() && out.front().empty()))
        problems.add(keys.place_of(key),
                     "the command names no program; write the program first, such as [\"python3\", \"train.py\"]");
    return out;
}

std::optional<nanoseconds> read_duration(std::string_view key, std::string const& text, position at,
                                         diagnostics& problems) {
    auto const t = parse_duration(text);
    if (!t)
        problems.add(
            at,
            fmt::format("'{}' is {}, which is not a duration; write a number and one of ms, s, m, h, such as \"20s\", "
                        "at most 365 days",
                        key, quoted(text)));
    return t;
}

}  // namespace ration::program
