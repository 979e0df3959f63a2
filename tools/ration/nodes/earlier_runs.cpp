// SPDX-License-Identifier: BSL-1.0
#include "nodes/earlier_runs.hpp"

#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <ration/process/input_file.hpp>

#include "common/printable.hpp"
#include "run/kept_run.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t most_record_bytes = std::uint64_t{64} << 20;

[[nodiscard]] std::string controller_lock(std::string const& folder) { return folder + "/.controller"; }

[[nodiscard]] bool is_own_file(std::string const& path) noexcept {
    struct stat about{};
    return ::lstat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == ::geteuid();
}

[[nodiscard]] result<cluster_record, std::string> record_of(std::string const& folder) {
    auto const text = process::read_input(record_in(folder), {.most_bytes = most_record_bytes});
    return text ? read_cluster_record(*text) : result<cluster_record, std::string>("it cannot be opened");
}

}  // namespace

process::descriptor lock_controller(std::string const& folder) {
    auto file = process::above_standard(process::descriptor(
        ::open(controller_lock(folder).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)));
    bool const is_held = file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
    return is_held ? std::move(file) : process::descriptor{};
}

std::string absolute_file(std::string const& file) {
    std::error_code failure;
    auto const path = fs::weakly_canonical(file, failure);
    return failure ? file : path.string();
}

std::vector<earlier_run> find_earlier_runs(std::string const& file) {
    std::vector<earlier_run> out;
    auto const path = absolute_file(file);
    std::error_code failure;
    for (auto const& name : run_folders_in(".")) {
        auto folder = fs::absolute(name, failure).string();
        if (!is_own_file(record_in(folder))) continue;
        if (auto const record = record_of(folder); record && record->file != path) continue;
        auto lock = lock_controller(folder);
        auto record = record_of(folder);  // another controller may have written it until it ended
        if (lock && !record)
            std::fprintf(stderr, "ration: warning: %s: %s, so that this run cannot continue; its jobs are ended\n",
                         printable(record_in(folder)).c_str(), printable(record.failure()).c_str());
        out.push_back({std::move(folder), record ? std::move(*record) : cluster_record{}, std::move(lock)});
    }
    return out;
}

void forget_run(std::string const& folder) {
    ::unlink(record_in(folder).c_str());
    ::unlink(controller_lock(folder).c_str());
}

}  // namespace ration::program
