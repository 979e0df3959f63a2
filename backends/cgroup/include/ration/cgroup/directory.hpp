// SPDX-License-Identifier: BSL-1.0
/// A cgroup directory held open: reads, writes and errors that name the file.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/cgroup/detail/errors.hpp>
#include <ration/cgroup/detail/numbers.hpp>
#include <ration/cgroup/io.hpp>
#include <ration/result.hpp>

namespace ration::cgroup {

/// Move-only; closes in its destructor. The `io` must outlive it.
class directory {
    io* io_ = nullptr;
    int handle_ = -1;
    identity who_{};
    std::string path_;

    directory(io& machine, int handle, identity who, std::string path) noexcept
        : io_(&machine), handle_(handle), who_(who), path_(std::move(path)) {}

public:
    directory() noexcept = default;
    directory(directory&& other) noexcept
        : io_(other.io_), handle_(std::exchange(other.handle_, -1)), who_(other.who_), path_(std::move(other.path_)) {}
    directory& operator=(directory&& other) noexcept {
        if (this != &other) {
            close();
            io_ = other.io_;
            handle_ = std::exchange(other.handle_, -1);
            who_ = other.who_;
            path_ = std::move(other.path_);
        }
        return *this;
    }
    ~directory() { close(); }

    [[nodiscard]] static result<directory> open(io& machine, std::string path) noexcept {
        int handle = -1;
        if (int const failed = machine.open_directory(path.c_str(), handle)) return system_error("open", path, failed);
        return reattach(machine, handle, std::move(path));
    }

    /// Opens the group `name` right below this one.
    [[nodiscard]] result<directory> child(std::string const& name) const {
        std::string path = path_ + "/" + name;  // before the handle, which would stay open
        int handle = -1;
        if (int const failed = io_->open_child(handle_, name.c_str(), handle)) return failure("open", name, failed);
        return reattach(*io_, handle, std::move(path));
    }

    void close() noexcept {
        if (handle_ >= 0) io_->close(std::exchange(handle_, -1));
    }

    [[nodiscard]] explicit operator bool() const noexcept { return handle_ >= 0; }
    [[nodiscard]] int handle() const noexcept { return handle_; }
    [[nodiscard]] io& machine() const noexcept { return *io_; }
    [[nodiscard]] std::string const& path() const noexcept { return path_; }
    [[nodiscard]] version kind() const noexcept { return who_.kind; }
    [[nodiscard]] std::uint64_t inode() const noexcept { return who_.inode; }

    /// The text of a file without its last line end, in `scratch`.
    /// Errors: gone when the group was removed, not_supported when the group lives and has no such file.
    [[nodiscard]] result<std::string_view> read(char const* file, std::string& scratch) const noexcept {
        if (int const failed = io_->read(handle_, file, scratch)) return failure("read", file, failed);
        std::string_view text = scratch;
        if (text.ends_with('\n')) text.remove_suffix(1);
        return text;
    }

    /// Precondition: `text` is not empty. Errors as for `read`, and the file's own.
    [[nodiscard]] result<void> write(char const* file, std::string_view text) const noexcept {
        if (int const failed = io_->write(handle_, file, text)) return failure("write", file, failed);
        return {};
    }

    [[nodiscard]] result<void> make(std::string const& name) const noexcept {
        if (int const failed = io_->make(handle_, name.c_str())) return failure("create group", name, failed);
        return {};
    }

    [[nodiscard]] result<void> remove(std::string const& name) const noexcept {
        if (int const failed = io_->remove(handle_, name.c_str())) return failure("remove group", name, failed);
        return {};
    }

    [[nodiscard]] result<std::vector<std::string>> list() const noexcept {
        std::vector<std::string> names;
        if (int const failed = io_->list(handle_, names)) return failure("list", "", failed);
        return names;
    }

    /// Whether this group, not another of its name, is still there. `cgroup.procs` is in every live group of every
    /// hierarchy.
    [[nodiscard]] bool alive() const noexcept {
        std::string unused;
        int const failed = io_->read(handle_, "cgroup.procs", unused);
        return failed != ENOENT && failed != ENODEV;
    }

    /// The error of a call on `file`: distinguishes a removed group from an absent file.
    [[nodiscard]] error failure(char const* operation, std::string_view file, int number) const noexcept {
        bool const lost = number == ENODEV || (number == ENOENT && !alive());
        errc const code = lost ? errc::gone : code_of(number);
        return problem(code, operation, file, number, remedy_of(code));
    }

    /// An error about `file`, with the cause from the caller.
    [[nodiscard]] error problem(errc code, char const* operation, std::string_view file, int number,
                                char const* remedy) const noexcept {
        return {.code = code,
                .operation = operation,
                .subject = detail::path_text<120>(path_, file),
                .system = number,
                .remedy = remedy};
    }

private:
    [[nodiscard]] static result<directory> reattach(io& machine, int handle, std::string path) noexcept {
        directory opened(machine, handle, {}, std::move(path));
        if (int const failed = machine.identify(handle, opened.who_)) return opened.failure("identify", "", failed);
        return opened;
    }
};

}  // namespace ration::cgroup
