// SPDX-License-Identifier: BSL-1.0
#include "comparison/output.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "common/printable.hpp"
#include "events/json_writer.hpp"
#include "view/text_table.hpp"

namespace ration::program {
namespace {

/// A line of the table; without values a heading.
struct row {
    std::string label;
    std::vector<compared_value> values{};
    std::vector<std::string> texts{};  ///< of the values
};

constexpr milestone milestones[] = {milestone::acceptable, milestone::objective, milestone::end};

[[nodiscard]] std::vector<compared_value> times_of(comparison const& all, std::size_t job, milestone m) {
    std::vector<std::vector<std::optional<double>>> values;
    for (auto const& side : all.sides) {
        auto& rounds = values.emplace_back();
        for (auto const& run : side.runs) rounds.push_back(time_to(run.jobs[job], m));
    }
    return compared(values);
}

/// How a job ended in all rounds of a side; "mixed" if they differ.
[[nodiscard]] std::string_view outcome_of(compared_side const& side, std::size_t job) noexcept {
    auto const how = side.runs.front().jobs[job].how;
    bool const same = std::ranges::all_of(side.runs, [&](run_summary const& run) { return run.jobs[job].how == how; });
    return same ? name_of(how) : "mixed";
}

[[nodiscard]] std::size_t releases_of(compared_side const& side, std::size_t job) noexcept {
    return static_cast<std::size_t>(
        std::ranges::count_if(side.runs, [&](run_summary const& run) { return run.jobs[job].released; }));
}

/// "2/3", or nothing if it is all of them.
[[nodiscard]] std::string part_of(std::size_t count, std::size_t rounds) {
    return count == rounds ? std::string() : fmt::format(" {}/{}", count, rounds);
}

[[nodiscard]] std::string time_text(compared_value const& value, compared_side const& side) {
    if (value.mean) return fmt::format("{:.1f} s", *value.mean);
    return value.rounds == 0 ? "never" : "reached" + part_of(value.rounds, side.runs.size());
}

/// A job that did not finish has an end too, but not one to compare.
[[nodiscard]] std::string end_text(compared_value const& value, compared_side const& side, std::size_t job) {
    std::size_t const rounds = side.runs.size(), released = releases_of(side, job);
    if (value.mean && released > 0) return fmt::format("released{} {:.1f} s", part_of(released, rounds), *value.mean);
    if (value.mean) return fmt::format("{:.1f} s", *value.mean);
    auto const other = std::ranges::find_if(
        side.runs, [&](run_summary const& run) { return run.jobs[job].how != condition::finished; });
    auto const& one = other == side.runs.end() ? side.runs.front().jobs[job] : other->jobs[job];
    if (rounds > 1) return std::string(name_of(one.how)) + part_of(rounds - value.rounds, rounds);
    if (!one.ended_at) return std::string(name_of(one.how));
    return fmt::format("{} {:.1f} s", name_of(one.how), to_seconds(*one.ended_at - one.arrived));
}

[[nodiscard]] row row_of(compared_figure const& figure) {
    row made{std::string(figure.name), figure.values};
    if (figure.of) made.label = fmt::format("  {} of {}{}", figure.name, *figure.of, figure.rest);
    for (auto const& value : figure.values)
        if (!value.mean)
            made.texts.emplace_back("-");
        else if (figure.unit == "s")
            made.texts.push_back(fmt::format("{:.1f} s", *value.mean));
        else
            made.texts.push_back(fmt::format("{:.2f}{}{}", *value.mean, figure.unit.empty() ? "" : " ", figure.unit));
    return made;
}

/// A heading, a row for each job that aims there, and their means; nothing if there is none.
void add_section(std::vector<row>& rows, comparison const& all, milestone m) {
    std::size_t const before = rows.size();
    for (std::size_t j = 0; j < all.jobs().size(); ++j) {
        if (!aims_at(all.jobs()[j], m)) continue;
        if (rows.size() == before) rows.push_back({fmt::format("time to {}", name_of(m))});
        row& made = rows.emplace_back(row{"  " + all.jobs()[j].name, times_of(all, j, m)});
        for (std::size_t i = 0; i < all.sides.size(); ++i)
            made.texts.push_back(m == milestone::end ? end_text(made.values[i], all.sides[i], j)
                                                     : time_text(made.values[i], all.sides[i]));
    }
    if (rows.size() - before <= 2) return;  // the mean of one job is its own row
    for (auto const& figure : time_figures(all, m)) rows.push_back(row_of(figure));
}

[[nodiscard]] std::string change_text(compared_value const& value) {
    if (!value.change) return "-";
    if (!value.half) return fmt::format("{:+.1f} %", *value.change);
    return fmt::format("{:+.1f} \u00b1 {:.1f} %", *value.change, *value.half);
}

/// The texts of one line: label, then for each side its value and, from the second on, its change.
[[nodiscard]] std::vector<std::string> line_of(row const& r) {
    std::vector<std::string> line{r.label};
    for (std::size_t i = 0; i < r.values.size(); ++i) {
        line.push_back(r.texts[i]);
        if (i > 0) line.push_back(change_text(r.values[i]));
    }
    return line;
}

[[nodiscard]] std::vector<std::string> head_of(comparison const& all) {
    std::vector<std::string> line{""};
    for (auto const& side : all.sides) {
        line.push_back(printable(side.label));
        if (&side != &all.sides.front()) line.emplace_back("change");
    }
    return line;
}

void write_value(json_writer& json, std::string_view name, compared_value const& value) {
    json.member(name, value.mean);
    json.member(fmt::format("{}_change", name), value.change);
    json.member(fmt::format("{}_half", name), value.half);
}

void write_job(json_writer& json, comparison const& all, std::size_t side, std::size_t job) {
    auto const& first = all.sides[side].runs.front().jobs[job];
    json.object([&] {
        json.member("job", first.name);
        json.member("arrived", to_seconds(first.arrived));
        json.member("how", outcome_of(all.sides[side], job));
        json.member("released", releases_of(all.sides[side], job));
        write_value(json, "to_acceptable", times_of(all, job, milestone::acceptable)[side]);
        write_value(json, "to_objective", times_of(all, job, milestone::objective)[side]);
        write_value(json, "to_end", times_of(all, job, milestone::end)[side]);
        json.member("why", first.why);
    });
}

void write_side(json_writer& json, comparison const& all, std::size_t side) {
    auto const& runs = all.sides[side].runs;
    json.object([&] {
        json.member("policy", runs.front().policy);
        json.member("label", all.sides[side].label);
        json.member("interrupted", std::ranges::any_of(runs, &run_summary::interrupted));
        for (auto const& figure : run_figures(all)) write_value(json, figure.key, figure.values[side]);
        for (auto const m : milestones)
            for (auto const& figure : time_figures(all, m)) write_value(json, figure.key, figure.values[side]);
        json.key("jobs").array([&] {
            for (std::size_t j = 0; j < all.jobs().size(); ++j) write_job(json, all, side, j);
        });
    });
}

[[nodiscard]] std::vector<std::string> all_remarks_on(comparison const& all) {
    auto remarks = remarks_on(all);
    std::ranges::move(troubles_of(all), std::back_inserter(remarks));
    return remarks;
}

}  // namespace

std::string comparison_text(comparison const& all) {
    if (all.sides.empty()) return {};
    std::vector<row> rows;
    for (auto const m : milestones) add_section(rows, all, m);
    for (auto const& figure : run_figures(all)) rows.push_back(row_of(figure));
    std::vector<std::vector<std::string>> lines{head_of(all)};
    for (auto const& r : rows) lines.push_back(line_of(r));
    std::string out = aligned(lines);
    for (auto const& remark : all_remarks_on(all)) out += remark + '\n';
    return out;
}

std::string comparison_json(comparison const& all) {
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.member("event", "comparison");
        json.member("rounds", all.rounds());
        json.member("unequal_work", !all.sides.empty() && has_unequal_work(all));
        json.key("runs").array([&] {
            for (std::size_t i = 0; i < all.sides.size(); ++i) write_side(json, all, i);
        });
        json.key("remarks").array([&] {
            for (auto const& remark : all_remarks_on(all)) json.value(remark);
        });
    });
    return out;
}

}  // namespace ration::program
