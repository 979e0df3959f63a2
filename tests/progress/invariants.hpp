// SPDX-License-Identifier: BSL-1.0
/// What holds for every message that the parser accepts, whatever the bytes.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <string_view>

#include <ration/progress/message.hpp>

namespace progress_test {

/// The first promise that the parser breaks for these bytes, or empty.
inline std::string broken_reservation(std::string_view bytes) {
    auto const read = ration::progress::parse_message(bytes);
    if (!read) {
        return read.failure().subject.view().find('\x1b') == std::string_view::npos
                   ? ""
                   : "an error shows a control character";
    }
    auto const& reply = read->body;
    auto const inside = [&](std::string_view part) {
        std::less_equal<char const*> const not_after;
        return part.empty() || (not_after(bytes.data(), part.data()) &&
                                not_after(part.data() + part.size(), bytes.data() + bytes.size()));
    };
    for (auto const part : {read->job, read->token, reply.metric, reply.why}) {
        if (!inside(part) || part.size() > ration::progress::max_word ||
            (!part.empty() && !ration::progress::is_word(part))) {
            return "a text is no word of the message";
        }
    }
    if (!inside(reply.devices) || reply.devices.size() > 768 || !inside(reply.control) || reply.control.size() > 107 ||
        (!reply.control.empty() && (reply.control.front() != '/' || reply.control.back() == '/' || read->rank != 0))) {
        return "a list of devices or a path is none";
    }
    if (reply.wanted > 4096) return "more devices are wanted than there can be";
    if (bytes.size() > ration::progress::max_datagram || read->job.empty() || read->token.empty() ||
        read->sequence == 0) {
        return "the envelope is not whole";
    }
    bool const has_losses = reply.loss_count != 0 || reply.non_finite == 0;
    if (std::isfinite(reply.loss_mean) != (has_losses || reply.type != ration::progress::message_type::step) ||
        std::isfinite(reply.value) != (reply.non_finite == 0 || reply.type != ration::progress::message_type::eval) ||
        !std::isfinite(reply.step_seconds) || reply.step_seconds < 0 || !std::isfinite(reply.save_seconds) ||
        reply.save_seconds < 0) {
        return "a number that is finite is not, or the reverse";
    }
    constexpr auto most = std::uint64_t{1} << 32;
    return reply.loss_count > most || reply.non_finite > most || reply.batch > most ? "a count is beyond its bound"
                                                                                    : "";
}

}  // namespace progress_test
