// SPDX-License-Identifier: BSL-1.0
#include "run/gpu_shares.hpp"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <ration/process/child.hpp>
#include <ration/process/input_file.hpp>
#include <ration/process/proc.hpp>

#include "common/error_text.hpp"

namespace ration::program {
namespace {

constexpr nanoseconds patience = seconds(2);  // nothing else happens in a run while a question is out
constexpr nanoseconds patience_at_its_end = seconds(15);

[[nodiscard]] cuda::mps_place place_in(std::string const& run_folder) {
    return {.pipe_directory = run_folder + "/mps"};
}

/// Nothing listens, or what has listened is dead. Any other failure is one of a daemon that is there, and may have the
/// GPU for itself.
[[nodiscard]] bool is_absent(error const& why) noexcept {
    return why.code == errc::not_found || why.code == errc::gone;
}

/// Its folder goes with the run, its log stays.
[[nodiscard]] result<cuda::mps> start(std::string const& run_folder, std::string const& log_folder) {
    auto place = place_in(run_folder);
    place.log_directory = log_folder + "/mps";
    std::error_code ignored;
    std::filesystem::create_directories(place.log_directory, ignored);
    auto const started = cuda::start_mps(place);
    if (started) return cuda::mps::connect(std::move(place), patience);
    error why = started.failure();
    if (why.subject == place.program) {
        why.operation = "start";
        return why;
    }
    why.operation = "start an MPS daemon, which writes into";
    why.subject = std::string_view(place.log_directory + "/control.log");
    why.remedy = "it does not come up: look there; until then share whole GPUs, devices = \"gpus\"";
    return why;
}

/// Its own process, as it has written it down; without one where it has not.
[[nodiscard]] process::child process_of(cuda::mps_place const& place) {
    pid_t pid = 0;
    if (auto const text =
            process::read_input(place.pipe_directory + "/nvidia-cuda-mps-control.pid", {.most_bytes = 64}))
        std::from_chars(text->data(), text->data() + text->size(), pid);
    auto const row = process::read_process(pid);
    auto found = row ? process::attach(pid, row->start_time) : result<process::child>(error{});
    return found ? std::move(found).value() : process::child();
}

/// To quit is an order: until it has ended the daemon is in our group, which the next run may want for itself.
[[nodiscard]] result<void> end(cuda::mps_place const& place) {
    auto const there = cuda::mps::connect(place, patience_at_its_end);
    if (!there) return there.failure();
    auto daemon = process_of(place);
    auto const reported = there->quit();
    if (!reported || daemon.pid() == 0 || daemon.wait_for(patience_at_its_end)) return reported;
    return error{.code = errc::timed_out,
                 .operation = "end the MPS daemon, which was ordered to quit, process",
                 .subject = text<120>(std::string_view(std::to_string(daemon.pid()))),
                 .remedy = "end it yourself: the GPU may be its own"};
}

}  // namespace

result<gpu_shares> gpu_shares::open(std::string const& run_folder, std::string const& log_folder) {
    if (auto left = cuda::mps::connect(place_in(run_folder), patience))
        return gpu_shares(std::move(left).value(), true);
    auto there = cuda::mps::connect(cuda::mps_place::here(), patience);
    if (there) return gpu_shares(std::move(there).value(), false);
    if (!is_absent(there.failure())) return there.failure();
    auto own = start(run_folder, log_folder);
    return own ? result<gpu_shares>(gpu_shares(std::move(own).value(), true)) : result<gpu_shares>(own.failure());
}

void gpu_shares::clean(std::string const& run_folder) { static_cast<void>(end(place_in(run_folder))); }

gpu_shares::~gpu_shares() {
    if (!own_) return;
    if (auto const ended = end(place()); !ended) std::fprintf(stderr, "ration: %s\n", to_text(ended.failure()).c_str());
}

result<std::vector<std::int32_t>> gpu_shares::clients() const {
    auto const servers = daemon_.servers();
    if (!servers) return servers.failure();
    std::vector<std::int32_t> out;
    for (auto const& server : *servers) out.insert(out.end(), server.clients.begin(), server.clients.end());
    return out;
}

}  // namespace ration::program
