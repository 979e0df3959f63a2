// SPDX-License-Identifier: BSL-1.0
/// Owned file descriptors and mappings.
#pragma once

#include <cstddef>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace ration::plugin {

/// Closed by its destructor.
class descriptor {
    int fd_ = -1;

public:
    descriptor() noexcept = default;
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~descriptor() { reset(); }

    void reset() noexcept {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    [[nodiscard]] int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
};

/// A shared mapping of a whole file; empty when it could not be made. Unmapped by its destructor.
class mapping {
    void* place_ = MAP_FAILED;
    std::size_t size_ = 0;

public:
    mapping() noexcept = default;
    mapping(int fd, std::size_t size, int protection) noexcept
        : place_(size == 0 ? MAP_FAILED : ::mmap(nullptr, size, protection, MAP_SHARED | MAP_NORESERVE, fd, 0)),
          size_(size) {}
    mapping(mapping&& other) noexcept
        : place_(std::exchange(other.place_, MAP_FAILED)), size_(std::exchange(other.size_, 0)) {}
    mapping& operator=(mapping&& other) noexcept {
        std::swap(place_, other.place_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~mapping() {
        if (*this) ::munmap(place_, size_);
    }

    explicit operator bool() const noexcept { return place_ != MAP_FAILED; }
    [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(place_); }
    [[nodiscard]] std::span<std::byte> bytes() const noexcept {
        return *this ? std::span(data(), size_) : std::span<std::byte>{};
    }
};

}  // namespace ration::plugin
