// SPDX-License-Identifier: BSL-1.0
/// Lines into a file, a pipe or a terminal that may be full, slow or gone, without ever holding the run up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ration/process/descriptor.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::program {

/// Whole lines, in order, or not at all: what cannot be written now waits in a buffer of bounded size; lines that find
/// it full are dropped and counted. A reader never finds half a line followed by another one. SIGPIPE and SIGXFSZ must
/// be ignored by the program.
class bounded_writer {
    process::descriptor file_;
    std::string pending_;  // begins with the rest of a line if torn_ is not 0
    std::size_t capacity_ = 0;
    bool regular_ = false;
    std::size_t torn_ = 0;  // bytes in the file after its last newline
    std::uint64_t lost_ = 0;
    std::uint64_t waiting_ = 0;  // lines that end in pending_
    std::optional<nanoseconds> retry_at_;

public:
    static constexpr std::size_t default_capacity = 4u << 20;
    static constexpr nanoseconds retry_after = milliseconds(1000);

    bounded_writer() noexcept = default;
    explicit bounded_writer(process::descriptor file, std::size_t capacity = default_capacity);
    bounded_writer(bounded_writer&&) noexcept = default;
    bounded_writer& operator=(bounded_writer&&) noexcept = default;

    /// False for a default-constructed one: it takes everything and writes nothing.
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(file_); }

    /// Whether `add` would take a line of this length.
    [[nodiscard]] bool has_room_for(std::size_t length) const noexcept {
        return pending_.size() + length + 1 <= capacity_;
    }

    /// Takes in one line without its newline; false when it was dropped.
    bool add(std::string_view line);

    /// Writes what is waiting, as far as that is possible without blocking. After a failure it does nothing for
    /// `retry_after`. Returns the error of a write that failed in this call (a slow reader is not an error).
    [[nodiscard]] result<void> flush(nanoseconds now) noexcept;

    /// The last try, without regard to `retry_after`; then removes a half-written last line from a regular file and
    /// closes. Returns the error of that try; lines that remain are counted as lost, also those that a slow reader did
    /// not take.
    [[nodiscard]] result<void> close() noexcept;

    /// Bytes of the file, with those that other writers have added; 0 if that cannot be found out.
    [[nodiscard]] std::uint64_t size_of_file() const noexcept;
    /// Continues in another file, to which the waiting lines go. Pre: the present file ends in a whole line.
    void continue_in(process::descriptor file) noexcept;
    /// Whether the present file ends in a whole line.
    [[nodiscard]] bool is_whole() const noexcept { return torn_ == 0; }

    /// Lines dropped so far.
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
    /// Lines taken in and not yet written.
    [[nodiscard]] std::uint64_t waiting() const noexcept { return waiting_; }

private:
    [[nodiscard]] result<void> drain() noexcept;
    void forget(std::size_t written) noexcept;
};

/// Opens for writing, empties, never blocks on a pipe without a reader. Errors: as of open(2), with a remedy.
[[nodiscard]] result<process::descriptor> open_for_writing(std::string const& path) noexcept;

}  // namespace ration::program
