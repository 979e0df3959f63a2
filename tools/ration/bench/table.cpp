// SPDX-License-Identifier: BSL-1.0
#include "bench/table.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <limits>

#include "check/heap.hpp"
#include "common/printable.hpp"
#include "sim/table.hpp"
#include "view/screen_line.hpp"
#include "view/text_table.hpp"

namespace ration::bench {
namespace {

using program::colour;
using program::short_number;
using cells = std::vector<std::string>;

constexpr std::string_view sections[] = {"Decision time", "Quality"};

[[nodiscard]] std::string time_text(double nanoseconds) { return program::short_time(nanoseconds * 1e-9); }

/// "1.2", "35", "1400": a ratio is not known better.
[[nodiscard]] std::string ratio_text(double ratio) { return fmt::format("{:.{}f}", ratio, ratio < 9.95 ? 1 : 0); }

[[nodiscard]] std::string count_text(double mean) {
    return mean == std::round(mean) ? fmt::format("{:.0f}", mean) : fmt::format("{:.1f}", mean);
}

/// The three cells of one pattern.
void add_times(cells& line, decision_times const& t) {
    if (t.ticks == 0) {
        line.insert(line.end(), 3, "-");
        return void();
    }
    line.push_back(time_text(t.median));
    line.push_back(time_text(t.high));
    line.push_back(ratio_text(t.median / t.loop));
}

[[nodiscard]] std::string memory_text(measured const* first, double memory_use::* what) {
    double most = -1;
    for (std::size_t p = 0; p < std::size(pattern_names); ++p)
        if (first[p].memory.ticks > 0) most = std::max(most, first[p].memory.*what);
    return most < 0 ? "-" : count_text(most);
}

/// The plain loop as it went beside all policies.
[[nodiscard]] cells loop_line(results const& all, std::size_t first) {
    cells line{"  plain loop"};
    for (std::size_t p = 0; p < std::size(pattern_names); ++p) {
        std::vector<double> loops;
        for (auto const& c : all.policies)
            if (c.of[first + p].times.ticks > 0) loops.push_back(c.of[first + p].times.loop);
        line.push_back(loops.empty() ? "-" : time_text(median_of(loops)));
        line.emplace_back();
        line.emplace_back("1");
    }
    return line;
}

[[nodiscard]] std::string time_table(results const& all) {
    std::vector<cells> table{{""}};
    for (auto const name : pattern_names)
        table.front().insert(table.front().end(), {std::string(name), "90 %", "x loop"});
    table.front().insert(table.front().end(), {"allocations", "faults"});
    for (std::size_t first = 0; first < all.cases.size(); first += std::size(pattern_names)) {
        auto const& in = all.cases[first];
        table.push_back({fmt::format("{} job{}, {} device{}", in.jobs, in.jobs == 1 ? "" : "s", in.devices,
                                     in.devices == 1 ? "" : "s")});
        table.push_back(loop_line(all, first));
        for (auto const& c : all.policies) {
            if (!c.left_out.empty()) continue;
            cells& line = table.emplace_back(cells{"  " + c.label});
            for (std::size_t p = 0; p < std::size(pattern_names); ++p) add_times(line, c.of[first + p].times);
            bool const counted = conformance::sees_the_heap();
            line.push_back(counted ? memory_text(&c.of[first], &memory_use::allocations) : "-");
            line.push_back(memory_text(&c.of[first], &memory_use::faults));
        }
    }
    return program::aligned(table);
}

[[nodiscard]] std::string quality_text(std::vector<double> const& all, bool made_for) {
    double const middle = median_of(all);
    if (std::isnan(middle)) return "- ";
    return fmt::format("{:.3f} ({:.3f}){}", middle, *std::ranges::min_element(all), made_for ? "*" : " ");
}

[[nodiscard]] std::string quality_table(results const& all) {
    std::vector<cells> table{{"", "shares"}};
    for (auto const& note : objective_notes) table.front().push_back(std::string(note.name) + " ");
    for (auto const& c : all.policies) {
        if (!c.left_out.empty()) continue;
        cells& line = table.emplace_back(cells{"  " + c.label, c.what == shared::devices ? "devices" : "cores"});
        for (std::size_t o = 0; o < objective_count; ++o)
            line.push_back(quality_text(qualities(all, c, static_cast<objective>(o)), objective_of(c.id) == o));
    }
    std::string out = program::aligned(table);
    for (auto const& note : objective_notes) out += fmt::format("  {}: {}\n", note.name, note.meaning);
    return out;
}

[[nodiscard]] colour colour_of(std::string_view line) noexcept {
    for (auto const section : sections)
        if (line.starts_with(section)) return colour::blue;
    if (line.ends_with("faults") || line.starts_with("  plain loop") || line.ends_with("completion"))
        return colour::dim;
    bool const is_title = !line.empty() && line.front() >= '0' && line.front() <= '9';
    return is_title ? colour::green : colour::none;
}

[[nodiscard]] std::string coloured(std::string_view text, program::view_style style) {
    std::string out;
    for (; !text.empty(); text.remove_prefix(text.find('\n') + 1)) {
        auto const line = text.substr(0, text.find('\n'));
        out +=
            program::screen_line(std::numeric_limits<std::uint32_t>::max(), style).add(line, colour_of(line)).take() +
            '\n';
    }
    return out;
}

[[nodiscard]] std::string closing_words(results const& all) {
    std::string out;
    bool const has_plugin = std::ranges::any_of(all.policies, &contender::is_plugin);
    if (has_plugin && !all.options.in_process)
        out +=
            "A policy from a file is asked in a worker process, as by 'ration run': part of its time is the way there and back, which\n"
            "'--isolation in-process' leaves out. What it allocates was counted apart, without a worker.\n";
    if (!is_optimised())
        out +=
            "This ration was compiled without optimisation: its own policies and the plain loop take several times as long as they would.\n";
    return out;
}

}  // namespace

double median_of(std::vector<double> all) noexcept {
    if (all.empty()) return std::numeric_limits<double>::quiet_NaN();
    std::ranges::sort(all);
    return (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2;
}

bool is_optimised() noexcept {
#ifdef __OPTIMIZE__
    return true;
#else
    return false;
#endif
}

std::string table_text(results const& all, program::machine_facts const& machine, program::view_style style) {
    std::string out =
        fmt::format("{}, {} core{}, {}; seed {}\n\n",
                    machine.cpu_model.empty() ? "unknown processor" : program::printable(machine.cpu_model),
                    machine.cpus, machine.cpus == 1 ? "" : "s", program::printable(machine.kernel), all.options.seed);
    out += fmt::format("{} of one tick, median and 90th percentile; allocations and page faults of a tick, means\n",
                       sections[0]);
    out +=
        "single: one job changes between two ticks; steady: 1 % of the jobs do; churn: besides, 1 % end and as many come\n";
    out += time_table(all);
    out += fmt::format(
        "\n{}: reached over the best there is, median (worst) of {} small problems of which every answer was tried\n",
        sections[1], instance_count);
    out +=
        "* marks the objective of the policy, if ration has it on record; a low figure for another objective is not a fault\n";
    out += quality_table(all) + '\n' + closing_words(all);
    out = coloured(out, style);
    for (auto const& c : all.policies)
        for (auto const& remark : remarks_on(c))
            out += program::screen_line(std::numeric_limits<std::uint32_t>::max(), style)
                       .add(remark, went_wrong(c) ? colour::red : colour::yellow)
                       .take() +
                   '\n';
    return out;
}

}  // namespace ration::bench
