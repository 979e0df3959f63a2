// SPDX-License-Identifier: BSL-1.0
// Commands C1 to a job: what ration prints the C client reads, and the client refuses the rest without reading beyond
// it.
#include <cmath>
#include <cstring>
#include <string>

#include <ration/progress/client_commands.h>
#include <ration/progress/control.hpp>

#include "support.hpp"

namespace progress = ration::progress;
using fuzz::require;

namespace {

constexpr char const* token = "0123456789abcdef";

[[nodiscard]] ration_progress session() {
    ration_progress p{};
    p.incarnation_ = 1;
    std::strcpy(p.token_, token);
    return p;
}

/// What the client takes a text for; nothing when it is not a command to this job.
[[nodiscard]] bool read_order(std::string text, ration_progress_order& order) {
    auto const p = session();
    return ration_progress_read_order_(&p, text.data(), &order) != 0;
}

void read_as_it_is(std::string_view text) {
    ration_progress_order order{};
    if (!read_order(std::string(text.substr(0, text.find('\0'))), order)) return;
    require(order.sequence_ != 0, "a command has no number");
    require(std::isfinite(order.by_) && order.by_ >= 0 && order.by_ <= 1e9 + 1, "a command has an impossible deadline");
    require(order.hold_ == 0 || order.hold_ == 1, "a hold is neither on nor off");
}

void print_and_read(fuzz::input in) {
    auto const what = static_cast<progress::command_type>(in.take<std::uint8_t>() % 4);
    auto const sequence = in.take<std::uint64_t>() | 1;
    progress::command const given{
        what, {in.take<std::int64_t>() % 1'000'000'000'000'000}, in.take<std::uint8_t>() % 2 == 1};
    auto const text = progress::format_command(given, {1}, token, sequence);
    ration_progress_order order{};
    require(text.view().size() <= 175 && text.view().find('~') == text.view().npos,
            "a command is longer than documented");
    require(read_order(std::string(text.view()), order), "the client refuses a command of ration");
    bool const has_deadline =
        given.by.count > 0 && (what == progress::command_type::save || what == progress::command_type::stop);
    require(order.sequence_ == sequence, "the number of a command is another one");
    require(std::abs(order.by_ - (has_deadline ? to_seconds(given.by) : 0)) < 2e-3,
            "the deadline of a command is another one");
    require(order.hold_ == (given.hold && what == progress::command_type::save ? 1 : 0),
            "the hold of a command is another one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input in(data, size);
    if (size > 0 && data[0] == 'C')
        read_as_it_is(in.rest());
    else
        print_and_read(in);
    return 0;
}
