// SPDX-License-Identifier: BSL-1.0
#include "nodes/wire_channel.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace ration::program {
namespace {

/// The memory that a side that does not read can cost.
constexpr std::size_t most_unsent = std::size_t{4} << 20;

void set_non_blocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

wire_channel::wire_channel(process::descriptor in, process::descriptor out) : in_(std::move(in)), out_(std::move(out)) {
    set_non_blocking(in_.get());
    set_non_blocking(out_.get());
}

/// At most some buffers in one call, so that a side that writes without end does not stop this one.
void wire_channel::fill() {
    constexpr std::size_t at_once = std::size_t{1} << 16;
    std::array<char, at_once> buffer;
    for (int i = 0; i < 4 && !at_end_; ++i) {
        auto const got = ::read(in_.get(), buffer.data(), buffer.size());
        if (got > 0) lines_.feed({buffer.data(), static_cast<std::size_t>(got)});
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0) at_end_ = true;
        if (got < static_cast<ssize_t>(buffer.size())) return;
    }
}

bool wire_channel::send(std::string_view line) {
    if (unsent_.size() + line.size() > most_unsent) return false;
    unsent_ += line;
    unsent_ += '\n';
    flush();
    return true;
}

void wire_channel::flush() {
    while (has_unsent() && out_) {
        auto const put = ::write(out_.get(), unsent_.data(), unsent_.size());
        if (put > 0) unsent_.erase(0, static_cast<std::size_t>(put));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno != EAGAIN) broken_ = true;  // the input shows its end
        if (put <= 0) return;
    }
}

void wire_channel::drain() {
    for (int i = 0; i < 20 && has_unsent(); ++i) {
        pollfd one{output(), POLLOUT, 0};
        ::poll(&one, 1, 100);
        flush();
    }
}

}  // namespace ration::program
