// SPDX-License-Identifier: BSL-1.0
/// Locks files in memory in a separate thread, because that takes as long as reading them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <ration/process/account.hpp>
#include <ration/process/page_cache.hpp>

namespace ration::program {

/// Carries out orders one after another. The files are locked in this process until they are released, or until the
/// destructor, which waits for at most one piece of a file.
class file_loader {
public:
    /// Lock a file of `after` bytes, or release it if `after` is 0.
    struct order {
        job_id item;
        std::string path;
        std::optional<process::account> owner;  ///< whose rights count for the file; none: those of ration
        std::int64_t before = 0, after = 0;
    };
    struct outcome {
        job_id item;
        std::int64_t before = 0, after = 0;
        nanoseconds took;
        std::string problem;  ///< empty: success. Else the file is not locked
    };

    file_loader() = default;
    file_loader(file_loader const&) = delete;
    file_loader& operator=(file_loader const&) = delete;

    /// Returns at once; the first call starts the thread.
    void give(order what);
    /// The outcomes since the last call, in the order of their orders. Does not wait.
    [[nodiscard]] std::vector<outcome> take();

private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<order> orders_;
    std::vector<outcome> outcomes_;
    std::jthread thread_;  // the last member: it uses the others until it has ended

    void work(std::stop_token const& stop);
};

}  // namespace ration::program
