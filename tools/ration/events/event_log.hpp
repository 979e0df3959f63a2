// SPDX-License-Identifier: BSL-1.0
/// Events as JSON lines in a file or on standard output.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "events/bounded_writer.hpp"
#include "events/events.hpp"

namespace ration::program {

/// Writes events for as long as the output takes them. A disk that is full costs events, never the run: one warning, a
/// count of what is missing, new tries once a second, and a line {"event":"lost",...} where the gap is.
class event_log {
    std::string name_;
    bounded_writer out_;
    std::uint64_t lost_noted_ = 0;  // by "lost" lines
    bool warned_ = false;
    std::uint64_t largest_ = 0;                 // 0: any size
    std::map<std::string, std::string> heads_;  // the run, then its jobs that are alive

public:
    event_log() = default;  ///< writes nothing
    event_log(std::string name, process::descriptor out, std::size_t capacity = bounded_writer::default_capacity);

    /// Errors: as of `open_for_writing`.
    [[nodiscard]] static result<event_log> open(std::string const& path);
    /// Events on standard output.
    [[nodiscard]] static event_log standard_output();

    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(out_); }

    /// Bounds the log. A file with `largest` bytes or more is renamed to PATH.1, in place of the one before. The next
    /// file begins with the lines of the run and of the jobs that are alive, so that it can be read alone. Pre: the log
    /// has a path.
    void rotate_at(std::uint64_t largest) noexcept { largest_ = largest; }

    /// Takes the event in; writes nothing yet.
    void write(event const& e);
    /// The same for a line that `to_json` already made, so that two logs share the work.
    void write_line(std::string_view json, nanoseconds at);
    /// To be called for each event of a log that rotates, with its line.
    void note_head(event const& e, std::string_view json);

    /// To be called once per tick. Returns the warning to show to the user: at the first trouble only, otherwise empty.
    [[nodiscard]] std::string flush(nanoseconds now);

    /// Writes the rest. Returns the sentence for the end of the run: empty if nothing is missing.
    [[nodiscard]] std::string close();

    /// Events that did not reach the file.
    [[nodiscard]] std::uint64_t lost() const noexcept { return out_.lost(); }

private:
    void note_gap(nanoseconds at);
    void rotate();
};

}  // namespace ration::program
