// SPDX-License-Identifier: BSL-1.0
// Patterns for logs, and logs: the first line of an input has the patterns, the rest is what a job prints.
#include <cmath>
#include <string>
#include <vector>

#include <ration/progress/log_adapter.hpp>

#include "support.hpp"

namespace progress = ration::progress;
using fuzz::require;

namespace {

struct outcome {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> values;  // step, bits
    progress::log_counts counts;
    friend bool operator==(outcome const& a, outcome const& b) {
        return a.values == b.values && a.counts.lines == b.counts.lines && a.counts.matched == b.counts.matched;
    }
};

void require_sound(progress::update const& reported, outcome& into) {
    auto const& reply = reported.body;
    require(reply.type == progress::message_type::step || reply.type == progress::message_type::eval,
            "a log tells of losses and metrics only");
    require(std::isfinite(reply.loss_mean + reply.value) == (reply.non_finite == 0), "a value is counted wrongly");
    if (reply.type == progress::message_type::step)
        require(reply.loss_count + reply.non_finite == 1, "a line holds one loss");
    if (reply.type == progress::message_type::eval)
        require(!reply.metric.empty() && reply.metric.size() <= progress::max_word, "a metric has no name");
    into.values.emplace_back(reply.step, fuzz::bits_of(reply.loss_mean + reply.value));
}

/// Reads the log in pieces of `piece` bytes.
[[nodiscard]] outcome read(progress::log_adapter adapter, std::string_view log, std::size_t piece) {
    outcome out;
    auto const take = [&](progress::update const& reported) { require_sound(reported, out); };
    for (; !log.empty(); log.remove_prefix(std::min(piece, log.size()))) adapter.feed(log.substr(0, piece), take);
    adapter.finish(take);
    out.counts = adapter.counts();
    auto const& counts = out.counts;
    require(counts.matched + counts.overlong <= counts.lines, "more lines match than there are");
    require(counts.reported == out.values.size(), "the updates are counted wrongly");
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input in(data, size);
    auto const pattern = in.line();
    std::vector<std::string> patterns;  // separated by tabs
    for (std::size_t at = 0; at <= pattern.size(); at += patterns.back().size() + 1)
        patterns.emplace_back(pattern.substr(at, pattern.find('\t', at) - at));
    auto const made = progress::log_adapter::make(patterns, {1}, {1});
    if (!made) {
        require(fuzz::is_one_line(made.failure().subject) && *made.failure().remedy != '\0',
                "a pattern is refused without a sentence");
        return 0;
    }
    require(read(*made, in.rest(), 1) == read(*made, in.rest(), in.rest().size() + 1),
            "a log reads differently in pieces");
    return 0;
}
