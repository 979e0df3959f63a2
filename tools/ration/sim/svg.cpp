// SPDX-License-Identifier: BSL-1.0
#include "sim/svg.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "screen_line.hpp"

namespace ration::program {
namespace {

// All lengths are in units of the drawing, which the page scales to the width there is.
constexpr double width = 640, left = 52, right = 12, top = 10, bottom = 40;

[[nodiscard]] double share_of(axis const& a, double value) noexcept {
    double const v = std::clamp(value, a.least, a.most);
    if (a.logarithmic) return std::log(v / a.least) / std::log(a.most / a.least);
    return (v - a.least) / (a.most - a.least);
}

[[nodiscard]] std::string mark_text(axis const& a, double value) {
    if (a.percent) return fmt::format("{:.0f}%", value * 100);
    if (value >= 1e6) return fmt::format("{:g}M", value / 1e6);
    if (value >= 1e4) return fmt::format("{:g}k", value / 1e3);
    return fmt::format("{:g}", value);
}

/// One frame: where a value lies in it.
struct frame {
    axis const& x;
    axis const& y;
    double height;

    [[nodiscard]] double across(double value) const noexcept { return left + share_of(x, value) * (width - left - right); }
    [[nodiscard]] double down(double value) const noexcept { return height - bottom - share_of(y, value) * (height - top - bottom); }
};

void add_grid(std::string& out, frame const& in) {
    for (double const v : marks_of(in.y, 5))
        out += fmt::format(R"(<line class="grid" x1="{:g}" x2="{:g}" y1="{:.1f}" y2="{:.1f}"/><text class="mark" x="{:g}" y="{:.1f}" text-anchor="end">{}</text>)",
                           left, width - right, in.down(v), in.down(v), left - 7, in.down(v) + 4, mark_text(in.y, v));
    for (double const v : marks_of(in.x, 8))
        out += fmt::format(R"(<line class="tick" x1="{0:.1f}" x2="{0:.1f}" y1="{1:.1f}" y2="{2:.1f}"/><text class="mark" x="{0:.1f}" y="{3:.1f}" text-anchor="middle">{4}</text>)",
                           in.across(v), in.height - bottom, in.height - bottom + 4, in.height - bottom + 18, mark_text(in.x, v));
    out += fmt::format(R"(<line class="axis" x1="{:g}" x2="{:g}" y1="{:g}" y2="{:g}"/>)", left, width - right, in.height - bottom, in.height - bottom);
    out += fmt::format(R"(<text class="name" x="{:g}" y="{:g}" text-anchor="end">{}</text>)", width - right, in.height - 5, escaped(in.x.label));
}

/// The path of a curve; points that fall on the same tenth of a unit are drawn once.
[[nodiscard]] std::string path_of(curve const& c, frame const& in) {
    std::string path, last;
    for (auto const& [x, y] : c.points) {
        auto const h = fmt::format("{:.1f}", in.across(x)), v = fmt::format("{:.1f}", in.down(y));
        if (path.empty())
            path = fmt::format("M{} {}", h, v);
        else if (last == v)
            path += 'H' + h;
        else if (c.steps)
            path += fmt::format("H{}V{}", h, v);
        else
            path += fmt::format("L{} {}", h, v);
        last = v;
    }
    return path;
}

/// A line down the chart, with its text on the side where there is room.
[[nodiscard]] std::string bound_of(double x, double from, double to, std::string_view text) {
    bool const late = x > width * 0.6;
    return fmt::format(R"(<line class="bound" x1="{0:.1f}" x2="{0:.1f}" y1="{1:g}" y2="{2:.1f}"/><text class="mark" x="{3:.1f}" y="{4:g}" text-anchor="{5}">{6}</text>)", x, from,
                       to, late ? x + 4 : x - 4, from - 4, late ? "end" : "start", escaped(text));
}

}  // namespace

std::string escaped(std::string_view text) {
    std::string out;
    for (char const c : fitted(text, 400, true)) switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            default: out += c;
        }
    return out;
}

std::vector<double> marks_of(axis const& a, int wanted) {
    std::vector<double> marks;
    if (a.logarithmic) {
        bool const few = a.most / a.least < 200;
        for (double power = std::pow(10, std::floor(std::log10(a.least))); power <= a.most; power *= 10)
            for (double const times : {1.0, 2.0, 5.0})
                if ((times == 1 || few) && power * times >= a.least * 0.999 && power * times <= a.most * 1.001) marks.push_back(power * times);
        return marks;
    }
    double const rough = (a.most - a.least) / wanted;
    if (!(rough > 0)) return {a.least};
    double step = std::pow(10, std::floor(std::log10(rough)));
    for (double const times : {2.0, 2.5, 2.0})  // 1, 2, 5, 10
        if (step * 1.0001 < rough) step *= times;
    for (double v = std::ceil(a.least / step) * step; v <= a.most + step * 1e-6; v += step) marks.push_back(v);
    return marks;
}

std::string bar_chart(std::vector<bar> const& bars, double bound, std::string_view bound_text) {
    constexpr double row = 30, thick = 16, labels = 118, values = 132, above = 22;
    double most = std::isnan(bound) ? 0 : bound;
    for (auto const& b : bars)
        if (!std::isnan(b.value)) most = std::max(most, b.value + (std::isnan(b.half) ? 0 : b.half));
    double const scale = most > 0 ? (width - labels - values) / most : 0, height = above + row * static_cast<double>(bars.size()) + 4;
    std::string out = fmt::format(R"(<svg viewBox="0 0 {:g} {:g}" role="img">)", width, height);
    double y = above;
    for (auto const& b : bars) {
        out += fmt::format(R"(<text class="label" x="{:g}" y="{:.1f}" text-anchor="end">{}</text>)", labels - 10, y + thick / 2 + 5, escaped(fitted(b.label, 17, true)));
        double const length = std::isnan(b.value) ? 0 : std::max(b.value * scale, 0.0);
        double end = labels + length;
        if (length > 0) out += fmt::format(R"(<rect class="b{}" x="{:g}" y="{:.1f}" width="{:.1f}" height="{:g}" rx="3"/>)", b.colour % 8, labels, y, length, thick);
        if (!std::isnan(b.half) && length > 0) {
            double const from = std::max(labels, end - b.half * scale), to = end + b.half * scale, middle = y + thick / 2;
            out += fmt::format(R"(<path class="whisker" d="M{0:.1f} {2:.1f}H{1:.1f}M{0:.1f} {3:.1f}v8M{1:.1f} {3:.1f}v8"/>)", from, to, middle, middle - 4);
            end = to;
        }
        out += fmt::format(R"(<text class="value" x="{:.1f}" y="{:.1f}">{}</text>)", end + 8, y + thick / 2 + 5, escaped(b.text));
        y += row;
    }
    if (!std::isnan(bound) && bound > 0)
        out += bound_of(labels + bound * scale, above - 6, height - 8, bound_text);
    return out + "</svg>";
}

std::string line_chart(std::string_view name, std::vector<curve> const& curves, axis const& x, axis const& y, int height) {
    frame const in{x, y, static_cast<double>(height)};
    std::string out = fmt::format(R"(<svg class="lines" data-chart="{}" viewBox="0 0 {:g} {}" role="img">)", name, width, height);
    add_grid(out, in);
    for (auto const& c : curves) {
        auto const path = path_of(c, in);
        if (path.empty()) continue;
        if (c.filled)
            out += fmt::format(R"(<path class="f{}" data-policy="{}" d="{}V{:g}H{:.1f}Z"/>)", c.colour % 8, c.colour, path, height - bottom, in.across(c.points.front().first));
        out += fmt::format(R"(<path class="c{}{}" data-policy="{}" d="{}"/>)", c.colour % 8, c.colour >= 8 ? " dashed" : "", c.colour, path);
    }
    out += fmt::format(R"(<line class="cross" y1="{:g}" y2="{:g}" x1="0" x2="0"/>)", top, height - bottom);
    return out + "</svg>";
}

}  // namespace ration::program
