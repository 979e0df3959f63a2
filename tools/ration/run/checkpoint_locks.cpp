// SPDX-License-Identifier: BSL-1.0
#include "run/checkpoint_locks.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <system_error>

#include "run/private_folder.hpp"

namespace ration::program {

result<std::vector<process::descriptor>> lock_checkpoints(run_config const& config) {
    namespace fs = std::filesystem;
    std::vector<process::descriptor> locks;
    std::set<fs::path> locked;  // jobs of one file may share a folder
    for (auto const& job : config.jobs) {
        if (!job.elastic || job.elastic->checkpoint.empty()) continue;
        process::file_rights const rights(job.account());
        std::error_code failure;
        fs::create_directories(job.elastic->checkpoint, failure);
        auto const path = fs::canonical(job.elastic->checkpoint, failure);
        if (failure || !locked.insert(path).second) continue;
        auto folder = open_folder(path.string());
        if (!folder) continue;
        if (!try_lock(*folder))
            return error{.code = errc::busy,
                         .operation = "use the checkpoint folder",
                         .subject = std::string_view(path.native()),
                         .remedy = "another run writes there: wait for its end, or name another folder"};
        locks.push_back(std::move(folder).value());
    }
    return locks;
}

}  // namespace ration::program
