// SPDX-License-Identifier: BSL-1.0
#include "events/event_log.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

#include "common/printable.hpp"
#include "events/json_writer.hpp"

namespace ration::program {

event_log::event_log(std::string name, process::descriptor out, std::size_t capacity)
    : name_(std::move(name)), out_(std::move(out), capacity) {}

result<event_log> event_log::open(std::string const& path) {
    auto file = open_for_writing(path);
    if (!file) return file.failure();
    return event_log(path, std::move(*file));
}

event_log event_log::standard_output() {
    return event_log("standard output",
                     process::descriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)));
}

void event_log::write(event const& e) {
    if (out_) write_line(to_json(e), e.at);
}

void event_log::write_line(std::string_view json, nanoseconds at) {
    if (out_.lost() > lost_noted_) note_gap(at);
    out_.add(json);
}

/// The gap is noted where it is: in front of the first event that finds room again.
void event_log::note_gap(nanoseconds at) {
    std::string line;
    json_writer json(line);
    json.object([&] {
        json.member("event", "lost");
        json.member("t", at);
        json.member("count", out_.lost() - lost_noted_);
    });
    if (!out_.has_room_for(line.size())) return;
    lost_noted_ = out_.lost();
    out_.add(line);
}

std::string event_log::flush(nanoseconds now) {
    auto const written = out_.flush(now);
    if (warned_ || (written && out_.lost() == 0)) return {};
    warned_ = true;
    return fmt::format("the event log {} cannot be written: {}; the run goes on and ration tries again every second",
                       quoted(name_),
                       written ? "nobody reads it fast enough" : std::strerror(written.failure().system));
}

std::string event_log::close() {
    auto const written = out_.close();
    if (out_.lost() == 0) return {};
    return fmt::format("the event log {} lacks {} event{}: {}", quoted(name_), out_.lost(), out_.lost() == 1 ? "" : "s",
                       written ? "for a time it could not be written" : std::strerror(written.failure().system));
}

}  // namespace ration::program
