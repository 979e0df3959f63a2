// SPDX-License-Identifier: BSL-1.0
#include "nodes/node_link.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include <ration/process/environment.hpp>
#include <ration/process/proc.hpp>
#include <ration/progress/token.hpp>

namespace ration::program {
namespace {

struct pipe_ends {
    process::descriptor read, write;
};

[[nodiscard]] result<pipe_ends> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return process::system_error("open a pipe", "node", errno, "raise the limit on open files: ulimit -n");
    return pipe_ends{process::above_standard(process::descriptor(ends[0])),
                     process::above_standard(process::descriptor(ends[1]))};
}

[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& words) {
    std::vector<char*> out;
    out.reserve(words.size() + 1);
    for (auto& word : words) out.push_back(word.data());
    out.push_back(nullptr);
    return out;
}

[[nodiscard]] std::vector<std::string> environment_with(std::vector<std::string> const& more) {
    auto out = process::current_environment();
    for (auto const& entry : more) {
        auto const name = entry.substr(0, entry.find('=') + 1);
        std::erase_if(out, [&](std::string const& other) { return other.starts_with(name); });
        out.push_back(entry);
    }
    return out;
}

/// In a separate session, so that Ctrl-C reaches the controller alone. The signals of this process are blocked.
[[nodiscard]] int spawn(node_spec const& spec, int input, int output, pid_t& pid) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    auto words = spec.command;
    auto entries = environment_with(spec.environment);
    int const failed = ::posix_spawnp(&pid, words.front().c_str(), &files, &attributes, pointers_to(words).data(),
                                      pointers_to(entries).data());
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
    return failed;
}

}  // namespace

result<void> node_link::start() {
    auto const session = progress::random_token();
    if (!session) return session.failure();
    auto orders = make_pipe();
    if (!orders) return orders.failure();
    auto reports = make_pipe();
    if (!reports) return reports.failure();
    pid_t pid = 0;
    if (int const failed = spawn(spec_, orders->read.get(), reports->write.get(), pid); failed != 0)
        return process::system_error("start the command of a node", spec_.command.front(), failed,
                                     "name a program that can be executed");
    auto const row = process::read_process(pid);
    process_.emplace(pid, row ? row->start_time : 0,
                     process::descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U))), process::descriptor{});
    channel_.emplace(std::move(reports->read), std::move(orders->write));
    session_ = std::string(session->view());
    sent_ = received_ = 0;
    clock_ = 0;
    banner_ = 0;
    has_hello_ = false;
    return {};
}

void node_link::send(node_order const& what) {
    if (!channel_) return;
    channel_->send(to_line({.session = session_, .number = ++sent_, .clock = clock_}, what));
}

void node_link::receive(std::function<void(node_report&&)> const& handle,
                        std::function<void(std::string)> const& complain) {
    if (!channel_) return;
    channel_->fill();
    while (auto const line = channel_ ? channel_->next() : std::nullopt) take_line(*line, handle, complain);
    if (channel_ && channel_->was_cut()) complain("its last message is cut off");
}

/// Text in front of the first message is a banner.
void node_link::take_line(wire_line const& line, std::function<void(node_report&&)> const& handle,
                          std::function<void(std::string)> const& complain) {
    auto const text = has_hello_ ? std::string_view(line.text) : without_banner(line.text);
    if (!has_hello_ && (line.too_long || (!is_hello(text) && !text.starts_with("{\"op\":\"error\"")))) {
        banner_ += line.text.size() + 1;
        if (!line.too_long && banner_ <= most_banner_bytes) return;
        complain(
            fmt::format("its command prints more than {} bytes, and no message; test it by hand", most_banner_bytes));
        return close();
    }
    if (line.too_long)
        return complain(
            fmt::format("a message is longer than {} bytes and is ignored; use the same version of ration "
                        "on all nodes",
                        most_message_bytes));
    auto read = read_report(text);
    if (!read) return complain(read.failure());
    if (read->head.session != session_ || read->head.number <= received_) return;
    received_ = read->head.number;
    clock_ = std::max(clock_, read->head.clock);
    has_hello_ = true;
    handle(std::move(read->body));
}

void node_link::close() { channel_.reset(); }

/// Another process with this number is not reached, since the group exists until the command is reaped.
void node_link::end_command(bool kill) {
    if (process_ && !process_->try_wait()) static_cast<void>(process_->signal_group(kill ? SIGKILL : SIGTERM));
}

}  // namespace ration::program
