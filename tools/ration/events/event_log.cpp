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

void event_log::note_head(event const& e, std::string_view json) {
    if (largest_ == 0) return;
    if (std::holds_alternative<run_started>(e.body)) heads_[""] = json;
    if (auto const* const job = std::get_if<job_started>(&e.body)) heads_[std::string(job->job)] = json;
    if (auto const* const job = std::get_if<job_ended>(&e.body)) heads_.erase(std::string(job->job));
}

/// If the file cannot be renamed or the next one made, it grows until the next flush.
void event_log::rotate() {
    auto const earlier = name_ + ".1";
    if (::rename(name_.c_str(), earlier.c_str()) != 0) return;
    process::descriptor next(
        ::open(name_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!next) return static_cast<void>(::rename(earlier.c_str(), name_.c_str()));
    out_.continue_in(std::move(next));
    for (auto const& [job, line] : heads_) out_.add(line);
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
    if (largest_ > 0 && out_.waiting() == 0 && out_.is_whole() && out_.size_of_file() >= largest_) rotate();
    if (warned_ || (written && out_.lost() == 0)) return {};
    warned_ = true;
    return fmt::format("the event log {} cannot be written: {}; the run continues, and ration retries every second",
                       quoted(name_), written ? "its reader is too slow" : std::strerror(written.failure().system));
}

std::string event_log::close() {
    auto const written = out_.close();
    if (out_.lost() == 0) return {};
    return fmt::format("the event log {} lacks {} event{}: {}", quoted(name_), out_.lost(), out_.lost() == 1 ? "" : "s",
                       written ? "for a time it could not be written" : std::strerror(written.failure().system));
}

}  // namespace ration::program
