// SPDX-License-Identifier: BSL-1.0
/// Owned file descriptors and mappings, for the plugin host and its worker. Errors show as empty
/// objects, with errno set.
#pragma once

#include <cstddef>
#include <span>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace ration::plugin {

/// A file descriptor that its destructor closes. Move-only.
class descriptor {
    int fd_ = -1;

public:
    /// No descriptor.
    descriptor() noexcept = default;
    /// Takes ownership; a negative number means none.
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    /// Takes over the descriptor.
    descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    /// Exchanges descriptors; that of the target is closed by `other`.
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    /// Closes the descriptor.
    ~descriptor() { reset(); }

    /// Closes the descriptor now.
    void reset() noexcept {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    /// The number, still owned; -1 if there is none.
    [[nodiscard]] int get() const noexcept { return fd_; }
    /// True if there is a descriptor.
    explicit operator bool() const noexcept { return fd_ >= 0; }
};

/// A shared mapping of a file; empty if it could not be made. Its destructor unmaps it. Move-only.
class mapping {
    void* place_ = MAP_FAILED;
    std::size_t size_ = 0;

public:
    /// No mapping.
    mapping() noexcept = default;
    /// Maps the first `size` bytes; `protection` is that of mmap(2). The descriptor may be closed
    /// afterwards.
    mapping(int fd, std::size_t size, int protection) noexcept
        : place_(size == 0 ? MAP_FAILED : ::mmap(nullptr, size, protection, MAP_SHARED | MAP_NORESERVE, fd, 0)),
          size_(size) {}
    /// Takes over the mapping.
    mapping(mapping&& other) noexcept
        : place_(std::exchange(other.place_, MAP_FAILED)), size_(std::exchange(other.size_, 0)) {}
    /// Exchanges the mappings.
    mapping& operator=(mapping&& other) noexcept {
        std::swap(place_, other.place_);
        std::swap(size_, other.size_);
        return *this;
    }
    /// Unmaps the memory.
    ~mapping() {
        if (*this) ::munmap(place_, size_);
    }

    /// True if the memory is mapped.
    explicit operator bool() const noexcept { return place_ != MAP_FAILED; }
    /// The first byte. Precondition: mapped.
    [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(place_); }
    /// The memory; empty if it is not mapped.
    [[nodiscard]] std::span<std::byte> bytes() const noexcept {
        return *this ? std::span(data(), size_) : std::span<std::byte>{};
    }
};

}  // namespace ration::plugin
