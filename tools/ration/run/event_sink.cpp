// SPDX-License-Identifier: BSL-1.0
#include "run/event_sink.hpp"

#include <fmt/core.h>

namespace ration::program {

void event_sink::warn_once(std::string_view subject, std::string_view sentence, nanoseconds at) {
    if (warned_.insert(fmt::format("{}: {}", subject, sentence)).second) emit(warning{subject, sentence}, at);
}

void event_sink::forget(std::string_view subject) {
    auto const start = fmt::format("{}: ", subject);
    for (auto at = warned_.lower_bound(start); at != warned_.end() && at->starts_with(start);) at = warned_.erase(at);
}

}  // namespace ration::program
