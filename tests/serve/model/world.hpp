// SPDX-License-Identifier: BSL-1.0
/// The surroundings of a service, in memory that outlives it: processes of jobs, the record of its run, and the answers
/// that its client has received.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "serve/definition.hpp"

namespace model {

using ration::program::service_folder;

inline constexpr int most_jobs = 5;
inline constexpr int ended = 0, crashed = 40, faulty = 41;  ///< exit codes of a life

/// One job, as its client and the kernel see it.
struct job {
    std::int64_t id = 0;  ///< 0: no submission of it was acknowledged
    int after = -1, retries = 0;
    bool submitted = false;  ///< a submission was sent
    bool cancel_sent = false, cancelled = false;
    bool pause_sent = false, must_wait = false;  ///< `must_wait`: a pause was acknowledged, and no resume was sent
    // --- its process
    std::int64_t listed = 0;  ///< its number in the list, also without an acknowledgement; 0: no launch yet
    bool alive = false;
    std::int64_t incarnation = 0;
    int launches = 0, failures = 0, hooks = 0;
    bool ended_well = false, lost_end = false;  ///< `lost_end`: a process ended, and its end was not recorded
    int exit_code = 0;
    // --- its row in the record of the run
    bool in_record = false, launching = false, launched = false;
    std::int64_t recorded = 0;  ///< incarnation

    /// Whether a user has requested an end before that of its program.
    [[nodiscard]] bool disturbed() const noexcept { return cancel_sent || pause_sent; }
};

struct world {
    std::array<job, most_jobs> jobs;
    std::int64_t clock_ms = 0;  ///< how far the clock of the service is ahead
    bool has_record = false;    ///< a run has begun in this boot
    std::array<char, 256> fault{};

    [[nodiscard]] static world& shared() {
        static auto* const memory = static_cast<world*>(
            ::mmap(nullptr, sizeof(world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        return *memory;
    }
    [[nodiscard]] int number_of(job const& one) const noexcept { return static_cast<int>(&one - jobs.data()); }
};

/// The name of a job begins with its number, so that its label leads to it.
[[nodiscard]] inline std::string name_of(int number) { return "j" + std::to_string(number); }
[[nodiscard]] inline job& job_labelled(std::string const& label) {
    return world::shared().jobs[static_cast<std::size_t>(label.at(1) - '0')];
}

/// Ends the process of this life with the fault of the service.
[[noreturn]] inline void fail(std::string const& what) {
    auto& text = world::shared().fault;
    std::snprintf(text.data(), text.size(), "%s", what.c_str());
    ::_exit(faulty);
}

inline void require(bool holds, char const* what) {
    if (!holds) fail(what);
}

/// Ends the process of a job, and writes its end down as `record_exit` does. `exit_code` < 0: by SIGKILL of both.
inline void end_process(job& one, service_folder const& folder, int exit_code) {
    one.alive = false;
    one.exit_code = exit_code;
    one.lost_end |= exit_code < 0;
    if (exit_code == 0 && !one.disturbed()) one.ended_well = true;
    if (exit_code != 0 && !one.disturbed()) ++one.failures;
    if (exit_code < 0) return;
    auto const label = ration::program::label_of(name_of(world::shared().number_of(one)), one.listed);
    auto* const file = std::fopen(folder.end_of(0, label, one.incarnation).c_str(), "w");
    require(file != nullptr, "the end of a job cannot be written");
    std::fprintf(file, "exited %d\n", exit_code);
    std::fclose(file);
}

/// Some of the processes end.
inline void age(std::mt19937& rng, service_folder const& folder) {
    constexpr std::array codes{0, 0, 0, 0, 3, 3, 3, -1};
    for (auto& one : world::shared().jobs)
        if (one.alive && rng() % 4 == 0) end_process(one, folder, codes[rng() % codes.size()]);
}

}  // namespace model
