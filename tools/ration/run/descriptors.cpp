// SPDX-License-Identifier: BSL-1.0
#include "run/descriptors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <initializer_list>
#include <unistd.h>

namespace ration::program {

bool open_standard_streams() noexcept {
    for (int const number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(number, F_GETFD) == -1 && ::open("/dev/null", O_RDWR) != number) return false;
    return true;
}

rlimit raise_open_files() noexcept {
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit const raised{before.rlim_max, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &raised);
    return before;
}

result<void> check_open_files(std::size_t jobs, std::size_t files_per_job) noexcept {
    // Streams, sockets, logs and the folder of the run are a dozen; a launch opens ten for a moment, a scrape of the
    // metrics eight.
    constexpr std::size_t files_of_run = 48;
    std::size_t const needed = files_of_run + jobs * files_per_job;
    rlimit now{};
    if (::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur >= needed) return {};
    auto const subject =
        fmt::format("{} jobs, which need {} open files where the hard limit is {}", jobs, needed, now.rlim_cur);
    return error{
        .code = errc::limit,
        .operation = "hold",
        .subject = std::string_view(subject),
        .remedy = "raise the limit as root (ulimit -Hn, LimitNOFILE= of a unit), or put fewer jobs into the file"};
}

}  // namespace ration::program
