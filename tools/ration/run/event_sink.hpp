// SPDX-License-Identifier: BSL-1.0
/// Where the components of a run report events and warnings.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "run/reporter.hpp"

namespace ration::program {

class event_sink {
    reporter& out_;
    std::set<std::string> warned_;

public:
    explicit event_sink(reporter& out) noexcept : out_(out) {}
    event_sink(event_sink const&) = delete;
    event_sink& operator=(event_sink const&) = delete;

    void emit(event_body body, nanoseconds at) { out_.emit({at, std::move(body)}); }
    /// A warning that is emitted at its first occurrence only.
    void warn_once(std::string_view subject, std::string_view sentence, nanoseconds at);
    /// Later jobs may have the same name: their warnings are first ones again.
    void forget(std::string_view subject);
    /// A line for people, which the event log does not have.
    void print(std::string_view line) { out_.print(line); }
};

}  // namespace ration::program
