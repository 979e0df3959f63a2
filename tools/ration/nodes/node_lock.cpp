// SPDX-License-Identifier: BSL-1.0
#include "nodes/node_lock.hpp"

#include <array>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ration::program {

namespace {

/// An earlier holder removes the file, so a lock counts only if the path still leads to it.
[[nodiscard]] bool is_at(std::string const& path, int file) noexcept {
    struct stat mine{}, there{};
    return ::fstat(file, &mine) == 0 && ::stat(path.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev && mine.st_uid == ::geteuid();
}

}  // namespace

node_lock::~node_lock() {
    if (file_) remove_file(path_, file_.get());
}

void node_lock::remove_file(std::string const& path, int file) noexcept {
    if (is_at(path, file)) ::unlink(path.c_str());
}

void node_lock::note(std::string_view text) const noexcept {
    auto const written = ::pwrite(file_.get(), text.data(), text.size(), 0);
    if (written >= 0) static_cast<void>(::ftruncate(file_.get(), written));
}

std::string node_lock::note_in(std::string const& path) {
    process::descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    std::array<char, 256> text{};
    if (!file || !is_at(path, file.get())) return {};
    auto const got = ::read(file.get(), text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(got > 0 ? got : 0)};
}

std::optional<node_lock> node_lock::try_lock(std::string const& path) {
    process::descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
    if (!is_at(path, file.get())) return std::nullopt;
    return node_lock(path, std::move(file));
}

}  // namespace ration::program
