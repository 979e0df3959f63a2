// SPDX-License-Identifier: BSL-1.0
#include "run/row_values.hpp"

#include <cmath>
#include <fmt/format.h>

#include "common/printable.hpp"
#include "common/trimmed.hpp"

namespace ration::program {
namespace {

constexpr std::size_t most_shown = 120;  // bytes of a text

}  // namespace

std::string row_values::take_step(std::string_view text, std::uint64_t row) {
    constexpr double most = 9007199254740992;  // every whole number up to here is a double
    went_back_ = false;
    text = trimmed(text);
    if (text.empty()) {
        if (!has_step_) step_ = row;
        return {};
    }
    has_step_ = true;
    auto const number = progress::detail::read_value(text);
    if (!number || !(*number >= 0 && *number <= most) || std::floor(*number) != *number) {
        unreadable_ = {"step", std::string(text)};
        return fmt::format("the step {} is not a whole number; name the column of the step, step = \"NAME\"",
                           quoted(text.substr(0, most_shown)));
    }
    set_step(static_cast<std::uint64_t>(*number));
    return {};
}

void row_values::set_step(std::uint64_t step) noexcept {
    went_back_ = step < step_;
    step_ = step;
}

std::string row_values::take_text(std::string const& metric, std::string_view text, handler const& handle) {
    text = trimmed(text);
    if (text.empty()) return {};
    auto const number = progress::detail::read_value(text);
    auto& counts = counts_[metric];
    ++(number ? counts.read : counts.unreadable);
    if (!number) {
        unreadable_ = {metric, std::string(text)};
        return fmt::format("the {} {} is not a number; name another column", metric,
                           quoted(text.substr(0, most_shown)));
    }
    take(metric, *number, handle);
    return {};
}

void row_values::take(std::string const& metric, double value, handler const& handle) {
    bool const finite = std::isfinite(value);
    progress::update out{job_, run_, 0, 0, false, {}};
    out.body.step = step_;
    out.body.non_finite = finite ? 0 : 1;
    if (metric == "loss") {
        out.rollback = went_back_;
        out.body.type = progress::message_type::step;
        out.body.loss_count = finite ? 1 : 0;
        out.body.loss_mean = value;
    } else {
        out.body.type = progress::message_type::eval;
        out.body.metric = metric;
        out.body.value = value;
    }
    ++reported_;
    handle(out);
}

}  // namespace ration::program
