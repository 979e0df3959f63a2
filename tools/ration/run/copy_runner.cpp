// SPDX-License-Identifier: BSL-1.0
#include "run/copy_runner.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>

#include <ration/process/launch.hpp>

#include "common/error_text.hpp"
#include "run/linked_copy.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::string output_of(process::child const& from) {
    std::array<char, 1024> text{};
    auto const size = ::read(from.output_fd(), text.data(), text.size());  // non-blocking
    std::string out(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return out.substr(0, out.find('\n'));
}

[[nodiscard]] copy_runner::outcome outcome_of(copy_runner::order what, process::child const& process,
                                              process::exit_report const& how) {
    copy_runner::outcome out{.what = std::move(what), .files = 0, .problem = {}};
    auto const text = output_of(process);
    bool const counted =
        how.success() && std::from_chars(text.data(), text.data() + text.size(), out.files).ec == std::errc();
    if (!counted) out.problem = text.empty() ? "its copy was killed" : text;
    return out;
}

[[nodiscard]] result<process::child> start(copy_runner::order const& what) {
    return process::launch(
        {.command = {"/proc/self/exe", std::string(copy_word), what.from, what.to, std::to_string(::getpid())},
         .user = what.owner});
}

}  // namespace

int perform_copy(char** words) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (std::to_string(::getppid()) != words[2]) return EXIT_FAILURE;  // it has ended before
    auto const files = make_linked_copy(words[0], words[1]);
    std::puts(files ? std::to_string(*files).c_str() : to_text(files.failure()).c_str());
    return files ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool copy_runner::is_copying_for(order const& next) const noexcept {
    return std::ranges::any_of(running_, [&](copy const& one) { return one.what.owner == next.owner; });
}

void copy_runner::join(std::vector<pollfd>& fds) const {
    for (auto const& one : running_) fds.push_back({one.process.pidfd(), POLLIN, 0});
}

std::vector<copy_runner::outcome> copy_runner::advance() {
    std::vector<outcome> ended;
    std::erase_if(running_, [&](copy& one) {
        auto const how = one.process.try_wait();
        if (how) ended.push_back(outcome_of(std::move(one.what), one.process, *how));
        return how.has_value();
    });
    std::erase_if(waiting_, [&](order& next) {
        if (is_copying_for(next)) return false;
        auto process = start(next);
        if (process)
            running_.push_back({std::move(next), std::move(process).value()});
        else
            ended.push_back({.what = std::move(next), .files = 0, .problem = to_text(process.failure())});
        return true;
    });
    return ended;
}

void copy_runner::kill() noexcept {
    waiting_.clear();
    for (auto& one : running_) static_cast<void>(one.process.signal_group(SIGKILL));  // it may have ended
}

}  // namespace ration::program
