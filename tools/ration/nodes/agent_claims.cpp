// SPDX-License-Identifier: BSL-1.0
#include "nodes/agent_claims.hpp"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <set>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <ration/process/input_file.hpp>

namespace ration::program {
namespace {

namespace fs = std::filesystem;

[[nodiscard]] std::string claim_path(fs::path const& folder) {
    return (folder.parent_path() / ('.' + folder.filename().string() + ".ration")).string();
}

/// NFS shares a lock only of a file that is open for reading.
[[nodiscard]] process::descriptor open_claim(std::string const& path) {
    process::descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
    struct stat about{};
    bool const is_own = file && ::fstat(file.get(), &about) == 0 && S_ISREG(about.st_mode);
    return is_own && about.st_uid == ::geteuid() ? std::move(file) : process::descriptor{};
}

void write_to(int file, std::string_view text) noexcept {
    auto const written = ::pwrite(file, text.data(), text.size(), 0);
    if (written >= 0) static_cast<void>(::ftruncate(file, written));
}

}  // namespace

agent_claims::agent_claims(std::span<job_config const> jobs, std::string run) : run_(std::move(run)) {
    std::set<fs::path> known;  // jobs of one file may share a folder
    for (auto const& job : jobs) {
        if (!job.elastic || job.elastic->checkpoint.empty()) continue;
        std::error_code failure;
        auto const folder = fs::canonical(job.elastic->checkpoint, failure);
        if (failure || !known.insert(folder).second) continue;
        add(claim_path(folder));
    }
}

void agent_claims::add(std::string path) {
    auto file = open_claim(path);
    if (file) claims_.push_back({process::above_standard(std::move(file)), std::move(path)});
}

void agent_claims::add_run_folder(std::string const& folder) { add(folder + "/.agents"); }

/// It waits for a controller that tries the lock, which is a moment.
void agent_claims::share() const noexcept {
    for (auto const& claim : claims_) static_cast<void>(::flock(claim.file.get(), LOCK_SH));
}

bool agent_claims::are_requested() const {
    return std::ranges::any_of(claims_, [&](auto const& claim) {
        auto const run = process::read_input(claim.path, {.most_bytes = 128});
        return run && !run->empty() && *run != run_;
    });
}

bool agent_claims::take() const noexcept {
    bool is_free = true;
    for (auto const& claim : claims_) {
        write_to(claim.file.get(), run_);
        is_free = ::flock(claim.file.get(), LOCK_EX | LOCK_NB) == 0 && is_free;
        static_cast<void>(::flock(claim.file.get(), LOCK_UN));
    }
    return is_free;
}

void agent_claims::withdraw_requests() const noexcept {
    for (auto const& claim : claims_) write_to(claim.file.get(), run_);
}

void agent_claims::remove() const noexcept {
    for (auto const& claim : claims_) ::unlink(claim.path.c_str());
}

}  // namespace ration::program
