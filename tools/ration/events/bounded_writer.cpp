// SPDX-License-Identifier: BSL-1.0
#include "events/bounded_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ration::program {

namespace {

/// A pipe that poll(2) calls writable has room for so much (PIPE_BUF), so that a write of no more never blocks.
constexpr std::size_t largest_write = 4096;

[[nodiscard]] bool is_regular(int file) noexcept {
    struct stat about{};
    return ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
}

[[nodiscard]] bool takes_more(int file) noexcept {
    pollfd wanted{file, POLLOUT, 0};
    return ::poll(&wanted, 1, 0) == 1;
}

[[nodiscard]] error write_error(int system) noexcept { return process::path_error("write", {}, system, ""); }

}  // namespace

bounded_writer::bounded_writer(process::descriptor file, std::size_t capacity)
    : file_(std::move(file)), capacity_(capacity), regular_(is_regular(file_.get())) {}

bool bounded_writer::add(std::string_view line) {
    if (!file_) return true;
    if (!has_room_for(line.size())) {
        ++lost_;
        return false;
    }
    pending_.append(line).push_back('\n');
    ++waiting_;
    return true;
}

result<void> bounded_writer::flush(nanoseconds now) noexcept {
    if (pending_.empty() || (retry_at_ && now < *retry_at_)) return {};
    retry_at_.reset();
    auto written = drain();
    if (!written) retry_at_ = now + retry_after;
    return written;
}

result<void> bounded_writer::drain() noexcept {
    std::size_t done = 0;
    int failed = 0;
    while (done < pending_.size() && failed == 0 && (regular_ || takes_more(file_.get()))) {
        std::size_t const size = regular_ ? pending_.size() - done : std::min(pending_.size() - done, largest_write);
        ssize_t const wrote = ::write(file_.get(), pending_.data() + done, size);
        if (wrote > 0)
            done += static_cast<std::size_t>(wrote);
        else if (wrote < 0 && errno == EAGAIN)
            break;
        else if (wrote == 0 || errno != EINTR)
            failed = wrote == 0 ? EIO : errno;
    }
    forget(done);
    if (failed != 0) return write_error(failed);
    return {};
}

void bounded_writer::forget(std::size_t written) noexcept {
    auto const end = pending_.begin() + static_cast<std::ptrdiff_t>(written);
    waiting_ -= static_cast<std::uint64_t>(std::count(pending_.begin(), end, '\n'));
    if (written == 0) return;
    std::size_t const last_newline = pending_.rfind('\n', written - 1);
    torn_ = last_newline == std::string::npos ? torn_ + written : written - 1 - last_newline;
    pending_.erase(0, written);
}

std::uint64_t bounded_writer::size_of_file() const noexcept {
    struct stat about{};
    return file_ && ::fstat(file_.get(), &about) == 0 ? static_cast<std::uint64_t>(about.st_size) : 0;
}

void bounded_writer::continue_in(process::descriptor file) noexcept {
    file_ = std::move(file);
    regular_ = is_regular(file_.get());
    retry_at_.reset();
}

result<void> bounded_writer::close() noexcept {
    if (!file_) return {};
    auto written = drain();
    lost_ += std::exchange(waiting_, 0);
    pending_.clear();
    if (torn_ > 0 && regular_) {
        // Half a line is of no use to a reader. If it cannot be cut off, readers ignore a last line without an end.
        off_t const end = ::lseek(file_.get(), 0, SEEK_CUR);
        if (end >= static_cast<off_t>(torn_)) (void)!::ftruncate(file_.get(), end - static_cast<off_t>(torn_));
    }
    file_.reset();
    return written;
}

result<process::descriptor> open_for_writing(std::string const& path) noexcept {
    process::descriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644));
    if (!file) return process::path_error("open for writing", path, errno, "give a path in a folder that is there");
    return file;
}

}  // namespace ration::program
