// SPDX-License-Identifier: BSL-1.0
#include "measure/open_loop.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <utility>

#include <ration/host/rng_sequence.hpp>
#include <ration/process/proc.hpp>

#include "common/printable.hpp"

namespace ration::program {
namespace {

constexpr nanoseconds answer_patience = seconds(30);
constexpr nanoseconds longest_wait = milliseconds(100);  // between two checks of `cancelled`
constexpr double fewest_requests = 20, most_requests = 1'000'000;
constexpr std::size_t longest_line = 64;  // more than the digits of a number
constexpr auto was_cancelled = "the measurement was cancelled";

[[nodiscard]] process::descriptor connected_socket(std::string const& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    process::descriptor out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!out || ::connect(out.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) return {};
    return out;
}

[[nodiscard]] std::string wrong_answer(std::string_view line) {
    return fmt::format("it sent {}, which answers no request; let it answer each line with the same line",
                       quoted(line));
}

}  // namespace

result<open_loop, std::string> open_loop::connect(std::string const& path, nanoseconds deadline,
                                                  std::atomic<bool> const& cancelled) {
    if (path.size() >= sizeof sockaddr_un::sun_path)
        return fmt::format("its socket {} has a path of more than {} bytes; set TMPDIR to a folder with a shorter path",
                           quoted(path), sizeof sockaddr_un::sun_path - 1);
    while (!cancelled) {
        if (auto socket = connected_socket(path)) return open_loop(std::move(socket), cancelled);
        if (process::now() >= deadline)
            return std::string(
                "it did not listen on its socket in time; let it bind the path of its parameter "
                "'socket', or extend the deadline 'start' of the job");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return std::string(was_cancelled);
}

result<load_pass, std::string> open_loop::run(pass_plan const& plan) {
    make_plan(plan);
    auto const allowed = static_cast<std::size_t>(0.05 * static_cast<double>(planned_.size()));
    while (lateness_.size() < planned_.size() && missed_ <= allowed) {
        queue_due_requests(process::now());
        auto const next = lateness_.size() < planned_.size() ? planned_[lateness_.size()] : process::now();
        if (auto const done = exchange(next); !done) return done.failure();
    }
    auto const deadline = process::now() + answer_patience;
    while (latencies_.size() < lateness_.size()) {
        if (auto const done = exchange(deadline); !done) return done.failure();
        if (process::now() >= deadline)
            return fmt::format(
                "it left {} requests without an answer for 30 s; let it answer each line with the same "
                "line",
                lateness_.size() - latencies_.size());
    }
    auto const duration = to_seconds(last_answer_ - planned_.front());
    first_ += planned_.size();
    return pass_of(plan.rate, duration, latencies_, lateness_);
}

void open_loop::make_plan(pass_plan const& plan) {
    double const wanted = plan.rate * to_seconds(plan.length);
    auto const count = static_cast<std::size_t>(std::clamp(wanted, fewest_requests, most_requests));
    rng_sequence random(plan.seed);
    double const begin = to_seconds(process::now()) + 0.01;
    planned_.clear();
    for (std::size_t i = 0; i < count; ++i) {
        double const part = static_cast<double>(random.below(1U << 30)) / (1U << 30);
        planned_.push_back(seconds(begin + part * static_cast<double>(count) / plan.rate));
    }
    std::ranges::sort(planned_);
    lateness_.clear();
    answered_.clear();
    latencies_.clear();
    limit_ = plan.limit;
    missed_ = 0;
}

void open_loop::queue_due_requests(nanoseconds now) {
    for (auto i = lateness_.size(); i < planned_.size() && planned_[i] <= now; ++i) {
        unsent_ += fmt::format("{}\n", first_ + i);
        lateness_.push_back(to_seconds(now - planned_[i]));
        answered_.push_back(false);
    }
}

result<void, std::string> open_loop::exchange(nanoseconds until) {
    if (cancelled_) return std::string(was_cancelled);
    auto const events = static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT);
    pollfd of{.fd = socket_.get(), .events = events, .revents = 0};
    auto const wait = std::clamp(until - process::now(), nanoseconds{0}, longest_wait);
    timespec const patience{.tv_sec = 0, .tv_nsec = wait.count};
    if (::ppoll(&of, 1, &patience, nullptr) <= 0) return {};
    if ((of.revents & POLLOUT) != 0) {
        auto const sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent > 0) unsent_.erase(0, static_cast<std::size_t>(sent));
    }
    return (of.revents & ~POLLOUT) != 0 ? receive() : result<void, std::string>();
}

result<void, std::string> open_loop::receive() {
    char buffer[4096];
    auto const count = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (count <= 0) return std::string("it closed the connection; let it serve until it is stopped");
    received_.append(buffer, static_cast<std::size_t>(count));
    auto const now = process::now();
    std::size_t begin = 0;
    for (auto end = received_.find('\n'); end != received_.npos; end = received_.find('\n', begin)) {
        if (auto const taken = take_answer(std::string_view(received_).substr(begin, end - begin), now); !taken)
            return taken;
        begin = end + 1;
    }
    received_.erase(0, begin);
    // A server that ends no line must not fill the memory
    if (received_.size() > longest_line) return wrong_answer(received_);
    return {};
}

result<void, std::string> open_loop::take_answer(std::string_view line, nanoseconds now) {
    std::uint64_t number = 0;
    auto const [end, failure] = std::from_chars(line.data(), line.data() + line.size(), number);
    auto const index = number - first_;
    bool const is_known = failure == std::errc() && end == line.data() + line.size() && index < answered_.size();
    if (!is_known || answered_[index]) return wrong_answer(line);
    answered_[index] = true;
    latencies_.push_back(to_seconds(now - planned_[index]));
    if (latencies_.back() > limit_) ++missed_;
    last_answer_ = now;
    return {};
}

}  // namespace ration::program
