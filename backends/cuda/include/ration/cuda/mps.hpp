// SPDX-License-Identifier: BSL-1.0
/// MPS, through which several processes share one GPU: the share of a client, and whether a job really is a
/// client. A process that does not reach the daemon runs without MPS and without a limit, and is not informed;
/// so nothing is assumed here. Every call has a deadline. Source: NVIDIA Multi-Process Service, documents of
/// the legacy (v2) and the v3 interface.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <ration/cuda/detail/ask.hpp>
#include <ration/cuda/inventory.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::cuda {

/// The directory of the daemon, and its control program.
struct mps_place {
    /// CUDA_MPS_PIPE_DIRECTORY of the daemon and its clients.
    std::string pipe_directory = "/tmp/nvidia-mps";
    /// The control program, searched in PATH.
    std::string program = "nvidia-cuda-mps-control";
    /// Of a daemon that is started here; empty: CUDA_MPS_LOG_DIRECTORY, or the daemon's default
    std::string log_directory{};

    /// The place that a client with this environment would use.
    [[nodiscard]] static mps_place here() noexcept {
        mps_place out;
        if (char const* const named = std::getenv("CUDA_MPS_PIPE_DIRECTORY"); named != nullptr && *named != '\0')
            out.pipe_directory = named;
        return out;
    }
};

/// A share of a GPU's SMs in MPS: whole percents. It is an upper limit and not a reservation. A process reads
/// it when it becomes a client, and never again. Memory bandwidth and caches are not divided.
class mps_share {
    int percent_ = 100;
    constexpr explicit mps_share(int percent) noexcept : percent_(percent) {}

public:
    /// The whole GPU.
    constexpr mps_share() noexcept = default;

    /// Converts `per_mille` of `gpu.sm`, 1 to 1000, rounded down, so that shares which fit together still do;
    /// less than one percent becomes one. Error: `out_of_range`.
    [[nodiscard]] static result<mps_share> of(std::int64_t per_mille) noexcept {
        if (per_mille < 1 || per_mille > 1000)
            return error{.code = errc::out_of_range,
                         .operation = "make a share of a GPU",
                         .subject = "gpu.sm",
                         .remedy = "ask for 1 to 1000 per mille of a GPU"};
        return mps_share(std::max(1, static_cast<int>(per_mille / 10)));
    }

    /// The share in percent, 1 to 100.
    [[nodiscard]] constexpr int percent() const noexcept { return percent_; }

    /// The number of SMs: rounded down to pairs, in which they are built, and at least one pair (188 SMs: 25 %
    /// are 46).
    [[nodiscard]] constexpr int multiprocessors(int of_all) const noexcept {
        return std::max(2, of_all * percent_ / 100 / 2 * 2);
    }

    /// Entries for a job's environment.
    [[nodiscard]] std::array<std::string, 2> environment(mps_place const& place) const {
        return {"CUDA_MPS_PIPE_DIRECTORY=" + place.pipe_directory,
                "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=" + std::to_string(percent_)};
    }

    friend constexpr bool operator==(mps_share, mps_share) noexcept = default;
};

/// The protocol of the daemon.
enum class mps_protocol : std::uint8_t { v2 = 2, v3 = 3 };

/// One server with its clients, as process numbers in the daemon's pid namespace.
struct mps_server {
    /// 0 with v3, where one entry contains all clients.
    std::int32_t pid = 0;
    std::vector<std::int32_t> clients{};
};

namespace detail {

/// The environment of the control program, so that it finds this daemon. Variables are removed that would limit
/// every client of a daemon started with them.
[[nodiscard]] inline std::vector<std::string> environment_at(mps_place const& place) noexcept {
    std::vector<std::string> out = process::current_environment();
    auto const unset = [&out](std::string_view name) {
        std::erase_if(out, [name](std::string const& e) { return e.starts_with(name); });
    };
    for (std::string_view const limit : {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="})
        unset(limit);
    auto const set = [&](std::string const& name, std::string const& value) {
        unset(name);
        out.push_back(name + value);
    };
    set("CUDA_MPS_PIPE_DIRECTORY=", place.pipe_directory);
    if (!place.log_directory.empty()) set("CUDA_MPS_LOG_DIRECTORY=", place.log_directory);
    return out;
}

/// Parses a process number; empty if the word is not one.
[[nodiscard]] inline std::optional<std::int32_t> whole_number(std::string_view word) noexcept {
    while (!word.empty() && (word.front() == ' ' || word.front() == '\t')) word.remove_prefix(1);
    while (!word.empty() && (word.back() == ' ' || word.back() == '\t' || word.back() == '\r')) word.remove_suffix(1);
    std::int32_t number = 0;
    auto const [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
    return failed == std::errc{} && end == word.data() + word.size() && number > 0 ? std::optional(number)
                                                                                   : std::nullopt;
}

/// Parses a process number on each line; empty if a line is anything else.
[[nodiscard]] inline std::optional<std::vector<std::int32_t>> pids_of(std::string_view text) noexcept {
    std::vector<std::int32_t> out;
    for (std::string_view const line : lines_of(text)) {
        auto const pid = whole_number(line);
        if (!pid) return std::nullopt;
        out.push_back(*pid);
    }
    return out;
}

/// A cell of a row in CSV.
[[nodiscard]] inline std::string_view cell(std::string_view row, std::size_t column) noexcept {
    for (; column > 0; --column) row.remove_prefix(std::min(row.find(',') + 1, row.size()));
    row = row.substr(0, row.find(','));
    while (!row.empty() && row.front() == ' ') row.remove_prefix(1);
    while (!row.empty() && (row.back() == ' ' || row.back() == '\r')) row.remove_suffix(1);
    return row;
}

/// The column of a header with this name, in any case.
[[nodiscard]] inline std::optional<std::size_t> column_of(std::string_view header, std::string_view name) noexcept {
    auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    for (std::size_t i = 0; i <= static_cast<std::size_t>(std::ranges::count(header, ',')); ++i)
        if (std::ranges::equal(cell(header, i), name, {}, lower)) return i;
    return std::nullopt;
}

/// The process numbers of a table in CSV; empty if it has no such column, or if a row is invalid.
[[nodiscard]] inline std::optional<std::vector<std::int32_t>> pids_of_table(std::string_view text) noexcept {
    auto const rows = lines_of(text);
    auto const column = rows.empty() ? std::nullopt : column_of(rows.front(), "pid");
    if (!column) return std::nullopt;
    std::vector<std::int32_t> out;
    for (std::string_view const row : std::span(rows).subspan(1)) {
        auto const pid = whole_number(cell(row, *column));
        if (!pid) return std::nullopt;
        out.push_back(*pid);
    }
    return out;
}

}  // namespace detail

/// A daemon that answered.
class mps {
    mps_place place_;
    mps_protocol protocol_ = mps_protocol::v2;
    nanoseconds at_most_{};

    mps(mps_place place, nanoseconds at_most) noexcept : place_(std::move(place)), at_most_(at_most) {}

public:
    /// The default deadline of a query.
    static constexpr nanoseconds patience = seconds(5);

    /// Connects to a daemon, and finds its protocol; starts none. `at_most` is the deadline of each query, now
    /// and later. Errors: `not_found` (no daemon in this directory, or no control program), `gone` (the daemon
    /// has ended), `timed_out`, `denied`, `not_supported` (an answer in an unknown form).
    [[nodiscard]] static result<mps> connect(mps_place place = mps_place::here(),
                                             nanoseconds at_most = patience) noexcept {
        std::error_code none;
        if (!std::filesystem::exists(std::filesystem::path(place.pipe_directory) / "control", none))
            return error{
                .code = errc::not_found,
                .operation = "reach the MPS daemon in",
                .subject = text<120>(std::string_view(place.pipe_directory)),
                .remedy =
                    "jobs started with this CUDA_MPS_PIPE_DIRECTORY run without MPS and without limits: start nvidia-cuda-mps-control -d, or correct the directory"};
        mps out(std::move(place), at_most);
        auto const answer = out.send_line("get_server_list\n");
        if (!answer) return answer.failure();
        if (detail::pids_of(*answer)) return out;
        if (auto const dead = out.no_daemon(*answer)) return *dead;
        auto const table = out.send({"server", "list", "--format=csv"});  // a v3 daemon refuses v2 commands
        if (!table) return table.failure();
        if (!detail::pids_of_table(*table)) return out.strange(*answer);
        out.protocol_ = mps_protocol::v3;
        return out;
    }

    /// The place of the daemon.
    [[nodiscard]] mps_place const& place() const noexcept { return place_; }
    /// Its protocol.
    [[nodiscard]] mps_protocol protocol() const noexcept { return protocol_; }

    /// The servers and their clients. With v3, one query answers for all, and the result is one entry without a
    /// number. A process is a client once it has initialised CUDA. Errors: as `connect`.
    [[nodiscard]] result<std::vector<mps_server>> servers() const noexcept {
        std::vector<mps_server> out;
        if (protocol_ == mps_protocol::v3) {
            auto clients = understood(send({"client", "list", "--format=csv"}), detail::pids_of_table);
            if (!clients) return clients.failure();
            out.push_back({.pid = 0, .clients = std::move(*clients)});
            return out;
        }
        auto const pids = understood(send_line("get_server_list\n"), detail::pids_of);
        if (!pids) return pids.failure();
        for (std::int32_t const pid : *pids) {
            auto clients = understood(send_line("get_client_list " + std::to_string(pid) + "\n"), detail::pids_of);
            if (!clients) return clients.failure();
            out.push_back({.pid = pid, .clients = std::move(*clients)});
        }
        return out;
    }

    /// Waits until all these processes are clients. Errors: `unverified` (one is not: it runs without MPS and
    /// without its share), and those of `servers`.
    [[nodiscard]] result<void> verify(std::span<std::int32_t const> pids,
                                      nanoseconds until_clients = patience) const noexcept {
        nanoseconds const deadline = process::now() + until_clients;
        for (;;) {
            auto const found = servers();
            if (!found) return found.failure();
            auto const missing = std::ranges::find_if(pids, [&found](std::int32_t pid) {
                return std::ranges::none_of(*found, [pid](mps_server const& s) {
                    return std::ranges::find(s.clients, pid) != s.clients.end();
                });
            });
            if (missing == pids.end()) return {};
            if (process::now() >= deadline)
                return error{
                    .code = errc::unverified,
                    .operation = "find among the clients of MPS the process",
                    .subject = text<120>(std::string_view(std::to_string(*missing))),
                    .remedy =
                        "it computes without MPS and without its share, or has not begun to: is its CUDA_MPS_PIPE_DIRECTORY this one, and its user the daemon's?"};
            timespec const pause{.tv_sec = 0, .tv_nsec = 50'000'000};
            ::nanosleep(&pause, nullptr);
        }
    }

    /// Ends the daemon and its servers, after their clients. For a daemon that the caller has started. Errors:
    /// as `connect`.
    [[nodiscard]] result<void> quit() const noexcept {
        auto const reply = protocol_ == mps_protocol::v3 ? send({"-q"}) : send_line("quit\n");
        return reply ? result<void>() : result<void>(reply.failure());
    }

private:
    /// Runs the control program.
    [[nodiscard]] result<std::string> run(std::vector<std::string> words, std::string_view input) const noexcept {
        question const about{
            "ask the MPS daemon in", text<120>(std::string_view(place_.pipe_directory)),
            "the MPS daemon does not answer: see control.log in CUDA_MPS_LOG_DIRECTORY; restart it when its clients have ended"};
        words.insert(words.begin(), place_.program);
        auto reply = run_program(about, words, detail::environment_at(place_), input, at_most_);
        return reply ? result<std::string>(std::move(reply->text)) : result<std::string>(reply.failure());
    }
    [[nodiscard]] result<std::string> send_line(std::string const& command) const noexcept { return run({}, command); }
    [[nodiscard]] result<std::string> send(std::vector<std::string> words) const noexcept {
        return run(std::move(words), "");
    }

    /// Parses an answer, or finds the reason why it cannot be parsed.
    [[nodiscard]] result<std::vector<std::int32_t>> understood(
        result<std::string> const& answer,
        std::optional<std::vector<std::int32_t>> (*read)(std::string_view) noexcept) const noexcept {
        if (!answer) return answer.failure();
        if (auto const dead = no_daemon(*answer)) return *dead;
        auto pids = read(*answer);
        return pids ? result<std::vector<std::int32_t>>(std::move(*pids))
                    : result<std::vector<std::int32_t>>(strange(*answer));
    }

    /// The error for the answer that the daemon has ended; empty for others.
    [[nodiscard]] std::optional<error> no_daemon(std::string_view answer) const noexcept {
        if (answer.find("annot find MPS control daemon") == std::string_view::npos) return std::nullopt;
        return error{
            .code = errc::gone,
            .operation = "reach the MPS daemon in",
            .subject = text<120>(std::string_view(place_.pipe_directory)),
            .remedy =
                "it has ended, and jobs started now run without MPS and without limits: start nvidia-cuda-mps-control -d"};
    }

    /// The error for an unknown answer.
    [[nodiscard]] static error strange(std::string_view answer) noexcept {
        auto const lines = detail::lines_of(answer);
        return {.code = errc::not_supported,
                .operation = "understand the MPS daemon, which answered",
                .subject = text<120>(lines.empty() ? std::string_view("nothing") : lines.front()),
                .remedy = "this form of answer is unknown: shares by MPS cannot be verified, so none are given"};
    }
};

/// Starts a daemon, which runs until `quit`, and connects to it. The daemon serves every process that uses this
/// directory. Errors: those of `connect`.
[[nodiscard]] inline result<mps> start_mps(mps_place const& place, nanoseconds at_most = seconds(15)) noexcept {
    question const about{"start the MPS daemon in", text<120>(std::string_view(place.pipe_directory)),
                         "it does not come up: see control.log in CUDA_MPS_LOG_DIRECTORY"};
    std::error_code none;
    std::filesystem::create_directories(place.pipe_directory, none);
    if (auto const started = run_program(about, {place.program, "-d"}, detail::environment_at(place), "", at_most);
        !started)
        return started.failure();
    return mps::connect(place, at_most);
}

/// The ways in which a job could silently avoid an MPS share on these GPUs; empty if there is none. To be
/// checked before a share is granted.
[[nodiscard]] inline std::vector<error> ways_past_mps(std::span<found_gpu const> gpus,
                                                      std::span<std::string const> job_environment) noexcept {
    std::vector<error> out;
    for (found_gpu const& one : gpus)
        if (!one.exclusive)
            out.push_back(
                {.code = errc::conflict,
                 .operation = "hold jobs to MPS on",
                 .subject = one.what.pci.view(),
                 .remedy =
                     "a process that does not reach the daemon computes here without limits: nvidia-smi -c EXCLUSIVE_PROCESS, while the GPU is idle, makes it fail instead"});
    auto const has = [&job_environment](std::string_view name) {
        return std::ranges::any_of(job_environment, [name](std::string const& e) { return e.starts_with(name); });
    };
    if (has("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="))
        out.push_back(
            {.code = errc::conflict,
             .operation = "take over",
             .subject = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
             .remedy =
                 "one entry that names no device drops all its limits, silently: take it out of the job's environment"});
    if (has("CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING="))
        out.push_back(
            {.code = errc::conflict,
             .operation = "take over",
             .subject = "CUDA_MPS_ENABLE_PER_CTX_DEVICE_MULTIPROCESSOR_PARTITIONING",
             .remedy = "with it a job sets its own share for each context: take it out of the job's environment"});
    return out;
}

}  // namespace ration::cuda
