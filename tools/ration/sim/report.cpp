// SPDX-License-Identifier: BSL-1.0
#include "sim/report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "json_writer.hpp"
#include "sim/page.hpp"
#include "sim/svg.hpp"
#include "version_text.hpp"

namespace ration::program {
namespace {

constexpr std::size_t cdf_points = 240;

/// A chart with curves, and what the script needs to tell values.
struct chart {
    std::string name, title, note, unit;
    axis x, y;
    std::vector<curve> curves;
};

[[nodiscard]] time_unit long_unit(double seconds) noexcept {
    if (seconds >= 4 * 86400) return {"days", 86400};
    return unit_for(seconds);
}

[[nodiscard]] figure_line const& line_called(std::string_view name) {
    return *std::ranges::find(figure_lines(), name, &figure_line::name);
}

/// A card with one bar for each policy.
[[nodiscard]] std::string bars_of(simulation_results const& all, std::string_view name, double bound, std::string_view bound_is) {
    auto const& line = line_called(name);
    auto const times = unit_of(all);
    double const scale = line.unit == figure_unit::time ? 1 / times.seconds : 1;
    std::vector<bar> bars;
    for (std::size_t p = 0; p < all.policies.size(); ++p) {
        auto const figure = figure_of(all, p, line);
        bars.push_back({all.policies[p].label, figure_text(figure, line.unit, times), figure.mean * scale, figure.half * scale, p});
    }
    std::string const title = line.unit == figure_unit::time ? fmt::format("{}, {}", line.label, times.name) : std::string(line.label);
    return fmt::format(R"(<section class="card"><h2>{}</h2><p class="soft">{}</p>{}</section>)", escaped(title), escaped(line.meaning),
                       bar_chart(bars, bound * scale, fmt::format("{}: {}", bound_is, short_number(bound * scale))));
}

/// How many of all jobs had come so far after so long: to their end, or to a tier of their loss. At most `cdf_points` points for each policy.
[[nodiscard]] chart part_chart(simulation_results const& all, std::string name, std::string title, std::string_view axis_is, nanoseconds sim::job_outcome::*when) {
    auto const times = unit_of(all);
    chart made{std::move(name), std::move(title), "part of all jobs that took no longer; the time axis is logarithmic", std::string(times.name),
               {.label = fmt::format("{}, {}", axis_is, times.name), .least = 1e300, .most = 0, .logarithmic = true, .percent = false},
               {.label = "", .least = 0, .most = 1, .logarithmic = false, .percent = true}, {}};
    for (std::size_t p = 0; p < all.policies.size(); ++p) {
        std::vector<double> took;
        double jobs = 0;
        for (auto const& run : all.runs_of(p)) {
            jobs += static_cast<double>(run.outcome.jobs.size());
            for (auto const& job : run.outcome.jobs)
                if (job.*when > job.submitted) took.push_back(to_seconds(job.*when - job.submitted) / times.seconds);
        }
        std::ranges::sort(took);
        auto& c = made.curves.emplace_back(curve{all.policies[p].label, p, {}, false, false});
        for (std::size_t i = 0, points = std::min(cdf_points, took.size()); i < points; ++i) {
            std::size_t const place = points == 1 ? 0 : i * (took.size() - 1) / (points - 1);
            c.points.emplace_back(took[place], static_cast<double>(place + 1) / jobs);
        }
        if (took.empty()) continue;
        made.x.least = std::min(made.x.least, took.front()), made.x.most = std::max(made.x.most, took.back());
    }
    if (made.x.most <= 0) made.x.least = 1, made.x.most = 10;
    if (made.x.most <= made.x.least) made.x.most = made.x.least * 10;
    return made;
}

/// A quantity over the time of the first sample; the axis goes up to `most` at least.
[[nodiscard]] chart time_chart(simulation_results const& all, std::string name, std::string title, std::string note, drawn_series simulated_run::*series, double most) {
    double end = 0;
    for (std::size_t p = 0; p < all.policies.size(); ++p) end = std::max(end, to_seconds(all.runs_of(p).front().outcome.end));
    auto const times = long_unit(end);
    if (all.input.samples.size() > 1) note += fmt::format("; the first of {} samples", all.input.samples.size());
    chart made{std::move(name), std::move(title), std::move(note), std::string(times.name),
               {.label = fmt::format("simulated time, {}", times.name), .least = 0, .most = std::max(end / times.seconds, 1e-9), .logarithmic = false, .percent = false},
               {.label = "", .least = 0, .most = most, .logarithmic = false, .percent = false}, {}};
    for (std::size_t p = 0; p < all.policies.size(); ++p) {
        auto const& from = all.runs_of(p).front().*series;
        double const dx = to_seconds(from.width) / times.seconds;
        auto& c = made.curves.emplace_back(curve{all.policies[p].label, p, {}, true, false});
        for (std::size_t i = 0; i < from.means.size(); ++i) {
            c.points.emplace_back(static_cast<double>(i) * dx, from.means[i]);
            made.y.most = std::max(made.y.most, from.means[i]);
        }
        if (!from.means.empty()) c.points.emplace_back(to_seconds(all.runs_of(p).front().outcome.end) / times.seconds, 0.0);
    }
    return made;
}

/// Curves of all policies in one frame: by JCT, over time, and by the time to a tier where jobs have some; and charts with a frame for each policy.
struct charts {
    std::vector<chart> together, apart;
};

[[nodiscard]] charts charts_of(simulation_results const& all) {
    auto const devices = devices_of(all.input.machines);
    double const cores = cores_of(all.input.machines);
    charts made;
    made.together.push_back(part_chart(all, "jct", "Jobs done by JCT", "JCT", &sim::job_outcome::finished));
    made.together.push_back(devices > 0 ? time_chart(all, "queue", "Jobs that wait", "submitted, not done, and without devices", &simulated_run::queue, 1)
                                        : time_chart(all, "there", "Jobs at a time", "submitted and not done: they share the cores", &simulated_run::there, 1));
    auto const has_tiers = [](simulated_run const& run) { return !std::isnan(run.figures.mean_to_acceptable); };
    if (std::ranges::any_of(all.runs, has_tiers))
        made.together.push_back(part_chart(all, "acceptable", "Jobs at Acceptable by time", "time to Acceptable", &sim::job_outcome::acceptable));
    if (devices > 0) made.apart.push_back(time_chart(all, "devices", "Devices in use", fmt::format("of {}", devices), &simulated_run::devices, static_cast<double>(devices)));
    if (cores > 0) made.apart.push_back(time_chart(all, "cores", "Cores in use", fmt::format("of {}", cores), &simulated_run::cores, cores));
    return made;
}

[[nodiscard]] std::string stacked(std::string above, std::string below) { return R"(<div class="stack">)" + std::move(above) + std::move(below) + "</div>"; }

/// Of a chart beside two cards with bars, so that both columns end together.
[[nodiscard]] int height_beside(std::size_t policies) noexcept { return std::clamp(150 + 60 * static_cast<int>(policies), 300, 640); }

[[nodiscard]] std::string card_of(chart const& c, int height) {
    return fmt::format(R"(<section class="card"><h2>{}</h2><p class="soft">{}</p>{}</section>)", escaped(c.title), escaped(c.note),
                       line_chart(c.name, c.curves, c.x, c.y, height));
}

/// One frame for each policy, so that none covers another.
[[nodiscard]] std::string rows_of(chart const& c) {
    std::string out = fmt::format(R"(<section class="card wide"><h2>{}</h2><p class="soft">{}</p><div class="cards" style="margin:0;gap:0 24px">)",
                                  escaped(c.title), escaped(c.note));
    for (std::size_t i = 0; i < c.curves.size(); ++i) {
        auto one = c.curves[i];
        one.filled = true;
        out += fmt::format(R"x(<div><p class="soft" style="margin:6px 0 0"><span class="dot" style="background:var(--c{})"></span> {}</p>{}</div>)x", one.colour % 8,
                           escaped(one.label), line_chart(fmt::format("{}-{}", c.name, i), {one}, c.x, c.y, 150));
    }
    return out + "</div></section>";
}

[[nodiscard]] std::string digits(double value) { return fmt::format("{:.4g}", value); }

void write_numbers(std::string& out, std::string_view key, curve const& c, double std::pair<double, double>::*which) {
    out += fmt::format(R"(,"{}":[)", key);
    for (auto const& point : c.points) out += (&point == c.points.data() ? "" : ",") + digits(point.*which);
    out += ']';
}

/// What the script reads. A curve in steps has stretches of one length.
void write_chart(std::string& out, chart const& c, std::string const& name, std::vector<curve> const& curves) {
    std::string unit;
    json_writer(unit).value(c.unit);
    out += fmt::format(R"({}"{}":{{"from":{},"to":{},"log":{},"percent":{},"unit":{},"curves":[)", out.size() > 1 ? "," : "", name, digits(c.x.least), digits(c.x.most),
                       c.x.logarithmic, c.y.percent, unit);
    for (auto const& one : curves) {
        std::string label;
        json_writer(label).value(one.label);
        out += fmt::format(R"({}{{"label":{},"colour":{})", &one == curves.data() ? "" : ",", label, one.colour);
        if (one.steps && one.points.size() > 2)
            out += fmt::format(R"(,"dx":{:.9g})", one.points[1].first);
        else
            write_numbers(out, "x", one, &std::pair<double, double>::first);
        write_numbers(out, "y", one, &std::pair<double, double>::second);
        out += '}';
    }
    out += "]}";
}

/// For a script element: no "</" may end it early.
[[nodiscard]] std::string script_data(charts const& drawn) {
    std::string out = "{";
    for (auto const& c : drawn.together) write_chart(out, c, c.name, c.curves);
    for (auto const& c : drawn.apart)
        for (std::size_t i = 0; i < c.curves.size(); ++i) write_chart(out, c, fmt::format("{}-{}", c.name, i), {c.curves[i]});
    out += '}';
    for (std::size_t at = 0; (at = out.find('<', at)) != out.npos;) out.replace(at, 1, "\\u003c");
    return out;
}

/// The interval below the figure, so that many policies find room side by side.
[[nodiscard]] std::string cell_of(std::string const& text) {
    std::size_t const half = text.find("\u00b1");
    if (half == text.npos) return escaped(text);
    bool const percent = text.ends_with(" %");
    return escaped(text.substr(0, half - 1) + (percent ? " %" : "")) + "<small>" + escaped(text.substr(half)) + "</small>";
}

[[nodiscard]] std::string table_of(std::vector<std::vector<std::string>> const& rows) {
    std::string out = R"(<div class="scroll"><table>)";
    for (auto const& row : rows) {
        bool const head = &row == rows.data();
        out += head ? "<thead><tr>" : "<tr>";
        for (auto const& cell : row) {
            bool const title = head || &cell == row.data();
            out += fmt::format("<{0}>{1}</{0}>", title ? "th" : "td", cell_of(cell));
        }
        out += head ? "</tr></thead><tbody>" : "</tr>";
    }
    return out + "</tbody></table></div>";
}

[[nodiscard]] std::string legend_of(simulation_results const& all) {
    std::string out = R"(<div class="legend">)";
    for (std::size_t p = 0; p < all.policies.size(); ++p)
        out += fmt::format(R"x(<button type="button" data-policy="{}" aria-pressed="true"><span class="dot" style="background:var(--c{})"></span>{}</button>)x", p, p % 8,
                           escaped(all.policies[p].label));
    return out + "</div>";
}

[[nodiscard]] std::string notes_of(simulation_results const& all) {
    std::string out;
    for (auto const& remark : all_remarks(all)) out += "<li>" + escaped(remark) + "</li>";
    return out.empty() ? out : R"(<div class="notes"><ul>)" + out + "</ul></div>";
}

[[nodiscard]] std::string definitions() {
    std::string out = R"(<section class="card wide"><h2>What the figures mean</h2><dl>)";
    for (auto const& line : figure_lines())
        if (!line.label.starts_with(' ')) out += fmt::format("<dt>{}</dt><dd>{}</dd>", escaped(line.label), escaped(line.meaning));
    return out + "<dt>bound</dt><dd>what no schedule can beat, not even one that knows the future; the best possible one may be worse</dd></dl></section>";
}

[[nodiscard]] std::string all_cards(simulation_results const& all, charts const& drawn) {
    constexpr std::string_view bound_is = "no schedule is better";
    auto const bounds = mean_bounds(all.input);
    std::string out = R"(<div class="cards">)";
    int const height = height_beside(all.policies.size());
    out += stacked(bars_of(all, "mean_jct", bounds.mean_jct, bound_is), bars_of(all, "p99_jct", sim::no_figure, "")) + card_of(drawn.together[0], height);
    out += stacked(bars_of(all, "makespan", bounds.makespan, bound_is), bars_of(all, "worst_rho", 1, "an equal share")) + card_of(drawn.together[1], height);
    if (drawn.together.size() > 2)
        out += stacked(bars_of(all, "mean_to_acceptable", sim::no_figure, ""), bars_of(all, "mean_to_objective", sim::no_figure, "")) + card_of(drawn.together[2], height);
    for (auto const& c : drawn.apart) out += rows_of(c);
    out += R"(<section class="card wide"><h2>All figures</h2>)" + table_of(figure_cells(all)) + "</section>" + definitions();
    out += R"(<!-- measured --><section class="card wide"><h2>Measured while simulating</h2><p class="soft">on the machine that ran the simulation; not the same twice</p>)";
    return out + table_of(measured_cells(all)) + "</section><!-- /measured --></div>";
}

}  // namespace

std::string report_html(simulation_results const& all) {
    charts const drawn = charts_of(all);
    std::string const title = headline(all);
    std::string out = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                      "<meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"data:,\">";
    out += fmt::format("<title>{0}</title><style>{1}</style></head><body><main><h1>{2} under one workload</h1><p class=\"lead\">{0}</p>", escaped(title), page_style,
                       all.policies.size() == 1 ? "One policy" : fmt::format("{} policies", all.policies.size()));
    out += legend_of(all) + notes_of(all) + all_cards(all, drawn);
    out += fmt::format(R"(<p class="soft">ration {}; ration sim, docs/sim.md</p></main><script type="application/json" id="data">{}</script><script>{}</script></body></html>)",
                       version_text(), script_data(drawn), page_script);
    return out + '\n';
}

}  // namespace ration::program
