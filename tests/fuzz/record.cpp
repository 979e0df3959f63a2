// SPDX-License-Identifier: BSL-1.0
// Records of runs: what is accepted is sound, and is printed as it was given. An input that begins with '{' is a record
// as it is. Any other changes a sound record, line by line: "/jobs/0/pid 7" puts 7 in the place of that number,
// "/jobs/0/pid /jobs/1/pid" the number of the other job. The sum that makes it whole is added.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "events/json_reader.hpp"
#include "json_pointer.hpp"
#include "run/run_record.hpp"
#include "support.hpp"

namespace program = ration::program;
using fuzz::require;
using nlohmann::json;

namespace {

/// FNV-1a of 64 bits, as in a record.
[[nodiscard]] std::string sum_of(std::string_view text) {
    std::uint64_t sum = 0xcbf29ce484222325;
    for (char const c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return fmt::format("{:016x}", sum);
}

[[nodiscard]] std::string with_sum(json const& run) {
    auto const text = run.dump(-1, ' ', false, json::error_handler_t::replace);
    return fmt::format(R"({{"run":{},"sum":"{}"}})", text, sum_of(text));
}

/// Of two jobs that run. Made by the writer, so that no field is missing that a record has today: without one, each
/// input would be refused.
[[nodiscard]] json sound_record() {
    program::run_record record{.run = "42-77",
                               .owner = 42,
                               .owner_start_time = 77,
                               .file = "jobs.toml",
                               .policy = "tradl",
                               .output = "/o",
                               .memberships = "0::/x\n",
                               .boot = "b",
                               .pid_namespace = 3,
                               .written_ns = 7,
                               .clock_ns = 9,
                               .jobs = {}};
    for (int number : {1, 2}) {
        auto& job = record.jobs.emplace_back();
        job.name = fmt::format("job{}", number);
        job.id = static_cast<std::uint64_t>(number);
        job.pid = 100 + number;
        job.start_time = 50;
        job.token = fmt::format("{:016x}", number);
        job.started_ns = 5;
        job.definition = {"name = \"a\""};
        job.phase = program::resize_phase::steady;
        job.holds = {fmt::format("GPU-{}", number)};
    }
    return json::parse(program::to_json(record))["run"];
}

[[nodiscard]] std::string record_from(std::string_view bytes) {
    static json const sound = sound_record();
    if (bytes.starts_with('{')) return std::string(bytes);
    auto run = sound;
    for (auto const line : fuzz::split(bytes, '\n')) {
        auto const blank = std::min(line.find(' '), line.size());
        auto const source = line.substr(std::min(blank + 1, line.size()));
        auto const* const other = fuzz::value_at(run, source);
        auto value = source.starts_with('/') && other != nullptr ? *other : program::parse_json(source);
        auto* const place = fuzz::value_at(run, line.substr(0, blank));
        if (place != nullptr && !value.is_discarded()) *place = std::move(value);
    }
    return with_sum(run);
}

[[nodiscard]] bool consists_of(std::string_view text, std::string_view characters) {
    return text.find_first_not_of(characters) == text.npos;
}

void require_sound(program::recorded_job const& job, std::int64_t clock_ns) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    require(!job.name.empty() && consists_of(job.name, plain), "a job has no plain name");
    require(job.pid >= 0 && job.pid != 1, "a job is a process that no job can be");
    require((job.pid == 0) == (job.start_time == 0), "a process is named by its number alone");
    require(job.pid == 0 || !job.is_over(), "a job is over, and its process runs");
    bool const has_token = job.token.size() == 16 && consists_of(job.token, "0123456789abcdef");
    require(has_token || (job.token.empty() && job.pid == 0), "a process has no token");
    require(job.started_ns >= 0 && job.started_ns <= clock_ns, "a job was started after the record was written");
    require(job.incarnation < 0xffffffff, "a job has no next incarnation");
    require(!job.phase || program::phase_named(name_of(*job.phase)) == job.phase, "a job is in no phase");
    require(job.pid == 0 || !job.phase || !job.holds.empty(), "a job runs on devices without one");
    require(job.cost >= 0, "a cost is negative");
    for (auto const amount : {job.wanted, job.batch, job.launched_batch})
        require(amount >= 0 && amount <= 1LL << 40, "an amount is out of bounds");
}

void require_sound(program::run_record const& record) {
    require(record.owner > 0, "a run has no owner");
    require(record.clock_ns >= 0 && record.clock_ns <= 1LL << 60, "a run has taken longer than any can");
    std::set<std::string> names, tokens, devices;
    std::set<pid_t> processes;
    for (auto const& job : record.jobs) {
        require_sound(job, record.clock_ns);
        require(names.insert(job.name).second, "two jobs have one name");
        require(job.pid == 0 || processes.insert(job.pid).second, "two jobs have one process");
        require(job.token.empty() || tokens.insert(job.token).second, "two jobs have one token");
        std::set<std::string> its_own;
        for (auto const* const list : {&job.holds, &job.next, &job.origin}) its_own.insert(list->begin(), list->end());
        require(!its_own.contains(""), "a device has no name");
        for (auto const& device : its_own)
            require(job.is_over() || devices.insert(device).second, "two jobs have one device");
    }
}

/// Each value of `printed` is what stood in its place before; what a record has no field for is not printed.
void require_same(json const& given, json const& printed) {
    if (!printed.is_structured())
        return require(fuzz::is_same_value(given, printed), "a field is printed with another value");
    require(given.type() == printed.type() && (printed.is_object() || given.size() == printed.size()),
            "a field is printed as another type");
    for (auto const& [name, value] : printed.items()) {
        if (printed.is_object()) require(given.contains(name), "a field is printed that was not given");
        require_same(printed.is_object() ? given[name] : given[std::stoul(name)], value);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    program::run_record record;
    static bool const is_sound = program::read_record(with_sum(sound_record()), record).empty();
    require(is_sound, "a sound record is refused");
    auto const given = record_from({reinterpret_cast<char const*>(data), size});
    auto const why = program::read_record(given, record);
    if (!why.empty()) {
        fuzz::require_sentence(why);
        return 0;
    }
    require_sound(record);
    auto const text = program::to_json(record);
    require_same(program::parse_json(given)["run"], json::parse(text)["run"]);
    program::run_record again;
    require(program::read_record(text, again).empty(), "a record cannot be read after it was written");
    require(program::to_json(again) == text, "a record reads differently after it was written");
    return 0;
}
