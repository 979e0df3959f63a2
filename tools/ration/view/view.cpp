// SPDX-License-Identifier: BSL-1.0
#include "view/view.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

#include "common/quantity.hpp"
#include "view/job_text.hpp"
#include "view/screen_line.hpp"

namespace ration::program {

namespace {

constexpr std::uint32_t gap = 2, machine_bar = 10, shortest_bar = 10, longest_bar = 40;
constexpr std::uint32_t usual_number = 7;  // digits of a value: with room for them the columns stay where they are
constexpr std::uint32_t longest_name = 16, short_name = 10, longest_state = 30, short_state = 16;

[[nodiscard]] colour colour_of(job_view const& job) noexcept {
    switch (job.now) {
        case condition::failed:
        case condition::diverged: return colour::red;
        case condition::stalled:
        case condition::silent:
        case condition::restarting: return colour::yellow;
        case condition::waiting:
        case condition::stopped: return colour::dim;
        case condition::running:
        case condition::finished: break;
    }
    if (job.level) return job.tier > 0 ? colour::green : colour::blue;
    return job.tier == 2 ? colour::green : job.tier == 1 ? colour::yellow : colour::blue;
}

/// `cells` characters; a mark replaces whatever is in its place.
[[nodiscard]] std::string bar(double fraction, std::uint32_t cells, std::optional<double> mark, bool unicode) {
    static constexpr std::string_view eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    auto const filled = static_cast<std::uint32_t>(std::floor(fraction * cells * 8));
    auto const mark_cell = mark ? static_cast<std::uint32_t>(std::floor(*mark * cells)) : cells;
    std::string out = unicode ? "▕" : "[";
    for (std::uint32_t i = 0; i < cells; ++i) {
        std::uint32_t const part = std::min(filled - std::min(filled, i * 8), 8u);
        if (i == mark_cell)
            out += unicode ? "┃" : "|";
        else if (part == 8)
            out += unicode ? "█" : "#";
        else if (part > 0 && unicode)
            out += eighths[part];
        else
            out += unicode ? "·" : ".";
    }
    return out + (unicode ? "▏" : "]");
}

/// With two tiers the way to Acceptable is the first half of the bar and the way on to Objective the second: on one
/// scale the marks of most losses would be at the far end, since a loss falls fast first and slowly then.
[[nodiscard]] std::string job_bar(job_view const& job, std::uint32_t cells, bool unicode) {
    if (job.level) return bar(job.window_met.value_or(0), cells, {}, unicode);
    bool const both = job.acceptable && job.objective;
    std::optional<double> const mark = both ? std::optional(0.5) : std::nullopt;
    auto const goal = job.objective ? job.objective : job.acceptable;
    if (!goal || !job.first || !job.value) return bar(0, cells, mark, unicode);
    if (!both) return bar(fraction_of_way(*job.first, *job.value, *goal), cells, mark, unicode);
    bool const past = reaches(job.improves, *job.value, *job.acceptable);
    double const way = past ? 1 + fraction_of_way(*job.acceptable, *job.value, *job.objective)
                            : fraction_of_way(*job.first, *job.value, *job.acceptable);
    return bar(way / 2, cells, mark, unicode);
}

/// Which columns there are and how wide, from what has to fit.
struct layout {
    std::uint32_t name = 3, bar = shortest_bar, value = 5, tier = 10, holds = 8, uses = 5, state = 7;

    [[nodiscard]] std::uint32_t total() const noexcept {
        std::uint32_t sum = name + gap + bar + 2 + gap + state;
        for (auto const w : {value, tier, holds, uses})
            if (w > 0) sum += w + gap;
        return sum;
    }
};

[[nodiscard]] layout lay_out(view_model const& model, std::uint32_t width) {
    layout l;
    for (auto const& job : model.jobs) {
        l.name = std::max(l.name, std::min(columns_of(job.name), longest_name));
        l.value = std::max({l.value, columns_of(job.metric) + 1 + usual_number, columns_of(value_text(job))});
        l.state = std::max(l.state, std::min(columns_of(state_text(job)), longest_state));
    }
    if (l.total() > width) l.state = std::min(l.state, short_state);
    if (l.total() > width) l.tier = 0;
    if (l.total() > width) l.name = std::min(l.name, short_name);
    if (l.total() > width) l.value = 0;
    if (l.total() > width) l.holds = l.uses = 0;
    if (l.total() < width) l.bar = std::min(l.bar + width - l.total(), longest_bar);
    return l;
}

/// Writes cells one after another, each at its place.
class row_writer {
    screen_line line_;
    std::uint32_t at_ = 0;
    bool unicode_;

public:
    row_writer(std::uint32_t width, view_style style) : line_(width, style), unicode_(style.unicode) {}

    row_writer& cell(std::string_view text, std::uint32_t width, colour c = colour::none) {
        if (width == 0) return *this;
        line_.fill_to(at_).add(fitted(text, width, unicode_), c);
        at_ += width + gap;
        return *this;
    }
    [[nodiscard]] std::string take() { return line_.take(); }
};

[[nodiscard]] std::string head_line(view_model const& m, std::uint32_t width, view_style style) {
    screen_line line(width, style);
    double const share = m.cpus == 0 ? 0 : std::clamp(m.used / m.cpus, 0.0, 1.0);
    line.add("ration").add(
        fmt::format("  {}  {}  cpu ", fitted(m.policy, 24, style.unicode), duration_text(m.elapsed)));
    line.add(bar(share, machine_bar, {}, style.unicode), colour::blue);
    line.add(fmt::format(" {:.2f} of {} core{}", m.used, m.cpus, m.cpus == 1 ? "" : "s"));
    if (m.devices > 0) line.add(fmt::format("  {} of {} devices{}", m.devices_held, m.devices, cordon_text(m)));
    line.add("  " + fitted(m.backend, 40, style.unicode), colour::dim);
    return line.take();
}

[[nodiscard]] std::string title_line(layout const& l, std::uint32_t width, view_style style) {
    return row_writer(width, style)
        .cell("job", l.name, colour::dim)
        .cell("to target", l.bar + 2, colour::dim)
        .cell("value", l.value, colour::dim)
        .cell("reached", l.tier, colour::dim)
        .cell("holds", l.holds, colour::dim)
        .cell("uses", l.uses, colour::dim)
        .cell("state", l.state, colour::dim)
        .take();
}

[[nodiscard]] std::string job_line(job_view const& job, layout const& l, std::uint32_t width, view_style style) {
    colour const c = colour_of(job);
    return row_writer(width, style)
        .cell(job.name, l.name)
        .cell(job_bar(job, l.bar, style.unicode), l.bar + 2, c)
        .cell(value_text(job), l.value)
        .cell(reached_text(job), l.tier, c)
        .cell(held_text(job), l.holds)
        .cell(fmt::format("{:.2f}", job.used), l.uses)
        .cell(state_text(job), l.state, c)
        .take();
}

/// The jobs to show, in the order of the file: if not all fit, those that are over go first, then the last ones.
[[nodiscard]] std::vector<job_view const*> chosen(std::vector<job_view> const& jobs, std::size_t room) {
    std::vector<job_view const*> order;
    for (bool const over : {false, true})
        for (auto const& job : jobs)
            if (is_over(job.now) == over) order.push_back(&job);
    if (order.size() > room) order.resize(room);
    std::ranges::sort(order);  // they are in one vector: the order of addresses is that of the file
    return order;
}

[[nodiscard]] std::string rest_line(std::vector<job_view> const& jobs, std::vector<job_view const*> const& shown,
                                    std::uint32_t width, view_style style) {
    std::string kinds;
    for (int c = 0; c <= static_cast<int>(condition::stopped); ++c) {
        auto const count = std::ranges::count_if(jobs, [&](job_view const& job) {
            return job.now == static_cast<condition>(c) && std::ranges::find(shown, &job) == shown.end();
        });
        if (count > 0)
            kinds += fmt::format("{} {} {}", kinds.empty() ? ":" : ",", count, name_of(static_cast<condition>(c)));
    }
    return screen_line(width, style)
        .add(fmt::format("and {} more{}", jobs.size() - shown.size(), kinds), colour::dim)
        .take();
}

}  // namespace

double fraction_of_way(double first, double value, double goal) noexcept {
    double const way = goal - first;
    if (!is_finite(way) || !is_finite(value) || way == 0) return value == goal ? 1 : 0;
    return std::clamp((value - first) / way, 0.0, 1.0);
}

std::string render(view_model const& model, std::uint32_t width, std::uint32_t height, view_style style) {
    width = std::max(width, 1u);
    std::size_t const fixed = 2 + (model.notice.empty() ? 0 : 1);  // head, titles, notice
    std::size_t const room = height > fixed ? height - fixed : 0;
    bool const all = model.jobs.size() <= room;
    layout const l = lay_out(model, width);
    std::vector<std::string> lines{head_line(model, width, style), title_line(l, width, style)};
    auto const shown = chosen(model.jobs, all || room == 0 ? room : room - 1);
    for (auto const* job : shown) lines.push_back(job_line(*job, l, width, style));
    if (!all && room > 0) lines.push_back(rest_line(model.jobs, shown, width, style));
    if (!model.notice.empty())
        lines.push_back(
            screen_line(width, style).add(fitted(model.notice, width, style.unicode), colour::yellow).take());
    if (lines.size() > height) lines.resize(height);
    std::string out;
    for (auto const& line : lines) out += line + '\n';
    return out;
}

view_style style_of_environment() noexcept {
    auto const variable = [](char const* name) {
        char const* const content = std::getenv(name);
        return std::string_view(content == nullptr ? "" : content);
    };
    view_style style{.unicode = false, .colour = variable("NO_COLOR").empty() && variable("TERM") != "dumb"};
    for (char const* name : {"LC_ALL", "LC_CTYPE", "LANG"})
        if (auto const locale = variable(name); !locale.empty()) {
            for (std::string_view const spelling : {"UTF-8", "utf-8", "UTF8", "utf8"})
                style.unicode |= locale.ends_with(spelling);
            break;
        }
    return style;
}

}  // namespace ration::program
