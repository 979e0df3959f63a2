// SPDX-License-Identifier: BSL-1.0
// Sentences that qualify the figures of a comparison.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/printable.hpp"
#include "comparison/comparison.hpp"

namespace ration::program {
namespace {

/// Each sentence once.
class remark_list {
public:
    std::vector<std::string> all;

    void add(std::string remark) {
        remark = printable(remark);
        if (std::ranges::find(all, remark) == all.end()) all.push_back(std::move(remark));
    }
};

/// Coarse steps, such as epochs, may differ by one.
[[nodiscard]] bool is_alike(std::uint64_t steps, std::uint64_t others) noexcept {
    auto const [least, most] = std::minmax({static_cast<double>(steps), static_cast<double>(others)});
    return most - least <= std::max(most / 20, 1.0);
}

[[nodiscard]] bool ended_alike(job_summary const& one, job_summary const& other) noexcept {
    return one.how == other.how && one.released == other.released;
}

/// A job in two runs of one round: under the first side, and under `side`.
struct job_pair {
    job_summary const& first;
    job_summary const& other;
    compared_side const& side;
    std::size_t round;
};

/// Calls `take` with pair after pair until it returns true; whether it did.
template <class Take>
bool find_pair(comparison const& all, Take take) {
    for (auto const& side : all.sides)
        for (std::size_t r = 0; r < side.runs.size(); ++r)
            for (std::size_t j = 0; j < side.runs[r].jobs.size(); ++j)
                if (take(job_pair{all.sides.front().runs[r].jobs[j], side.runs[r].jobs[j], side, r})) return true;
    return false;
}

/// " in round 2", or nothing if there is only one.
[[nodiscard]] std::string in_round(comparison const& all, std::size_t round) {
    return all.rounds() > 1 ? fmt::format(" in round {}", round + 1) : std::string();
}

void add_left_out(remark_list& to, comparison const& all, milestone m) {
    constexpr std::size_t most_names = 5;
    std::vector<std::string> names;
    auto const jobs = choose_jobs(all, m);
    if (jobs.counted.size() + jobs.left_out.size() < 2) return;
    names.reserve(jobs.left_out.size());
    for (std::size_t const j : jobs.left_out) names.push_back(all.jobs()[j].name);
    if (names.empty()) return;
    std::string more;
    if (names.size() > most_names) {
        more = fmt::format(" and {} more", names.size() - most_names);
        names.resize(most_names);
    }
    bool const is_one = all.sides.size() == 1 && all.rounds() == 1;
    to.add(fmt::format("Mean and median of the time to {} leave out {}{}, which did not get there{}.", name_of(m),
                       fmt::join(names, ", "), more, is_one ? "" : " in every run"));
}

void add_releases(remark_list& to, comparison const& all) {
    if (!find_pair(all, [](job_pair const& pair) { return pair.other.released; })) return;
    if (!find_pair(all, [](job_pair const& pair) { return pair.first.released != pair.other.released; }))
        return to.add("Jobs marked as released were ended by ration at their Objective.");
    std::vector<std::string> counts;
    for (auto const& side : all.sides) {
        std::ptrdiff_t count = 0;
        for (auto const& run : side.runs) count += std::ranges::count(run.jobs, true, &job_summary::released);
        counts.push_back(fmt::format("{} of {} under {}", count, all.jobs().size() * all.rounds(), side.label));
    }
    to.add(fmt::format("Unequal work: ration released jobs at their Objective ({}); the others trained to their end.",
                       fmt::join(counts, ", ")));
}

/// How long the level of each job was met under each side, as a mean over the rounds.
void add_levels(remark_list& to, comparison const& all) {
    for (std::size_t j = 0; j < all.jobs().size(); ++j) {
        std::vector<std::string> parts;
        for (auto const& side : all.sides) {
            double sum = 0, runs = 0;
            for (auto const& run : side.runs)
                if (auto const met = run.jobs[j].level_met) {
                    sum += *met;
                    ++runs;
                }
            if (runs > 0) parts.push_back(fmt::format("{:.0f} % under {}", 100 * sum / runs, side.label));
        }
        if (!parts.empty())
            to.add(fmt::format("Part of the time in which {} met its level: {}.", all.jobs()[j].name,
                               fmt::join(parts, ", ")));
    }
}

/// The step of a job that reported none is 0.
[[nodiscard]] std::string at_step(std::uint64_t step) {
    return step == 0 ? "without a step" : fmt::format("at step {}", step);
}

void add_steps(remark_list& to, comparison const& all) {
    find_pair(all, [&](job_pair const& pair) {
        auto const& [first, other, side, round] = pair;
        if (!ended_alike(first, other) || is_alike(first.step, other.step)) return false;
        to.add(fmt::format("Unequal work: {} ended {} under {}, and {} under {}{}.", first.name, at_step(first.step),
                           all.sides.front().label, at_step(other.step), side.label, in_round(all, round)));
        return true;
    });
}

/// Rounds in which the jobs of one run could have had less CPU time than those of another, and these two runs.
void add_disturbance(remark_list& to, comparison const& all) {
    std::size_t disturbed = 0;
    std::string worst;
    double worst_part = 1;
    for (std::size_t r = 0; r < all.rounds(); ++r) {
        auto const available = [r](compared_side const& side) { return side.runs[r].available_cpu.value_or(-1); };
        auto const [least, most] = std::ranges::minmax_element(all.sides, {}, available);
        double const part = available(*least) / available(*most);
        if (available(*least) < 0 || available(*most) - available(*least) <= available(*most) / 20) continue;
        ++disturbed;
        if (part >= worst_part) continue;
        worst_part = part;
        worst = fmt::format("{}, the jobs could use {:.2f} cores under {}, and {:.2f} under {}", in_round(all, r),
                            available(*most), most->label, available(*least), least->label);
    }
    if (disturbed == 0) return;
    if (all.rounds() == 1) return to.add("Other programs disturbed this comparison:" + worst.substr(1) + ".");
    to.add(fmt::format("Other programs disturbed {} of {} rounds:{}.", disturbed, all.rounds(), worst));
}

void add_failures(remark_list& to, comparison const& all) {
    for (auto const& side : all.sides)
        for (auto const& run : side.runs) {
            if (run.interrupted) to.add(fmt::format("The run under {} was interrupted.", side.label));
            for (auto const& job : run.jobs)
                if (job.how == condition::failed || job.how == condition::diverged)
                    to.add(fmt::format("{} {} under {}{}", job.name, name_of(job.how), side.label,
                                       job.why.empty() ? "." : ": " + job.why));
        }
}

}  // namespace

bool has_unequal_work(comparison const& all) noexcept {
    return find_pair(all, [](job_pair const& pair) {
        return !ended_alike(pair.first, pair.other) || !is_alike(pair.first.step, pair.other.step);
    });
}

std::vector<std::string> remarks_on(comparison const& all) {
    remark_list made;
    if (all.sides.empty()) return {};
    for (auto const m : {milestone::acceptable, milestone::objective, milestone::end}) add_left_out(made, all, m);
    add_releases(made, all);
    add_steps(made, all);
    add_levels(made, all);
    add_disturbance(made, all);
    if (all.has_lost_round) made.add("The last round was interrupted, and is left out.");
    if (all.rounds() > 1 && all.sides.size() > 1)
        made.add(fmt::format(
            "\u00b1 is half of the 95 % confidence interval (Student's t) over the differences of {} rounds.",
            all.rounds()));
    return made.all;
}

std::vector<std::string> troubles_of(comparison const& all) {
    remark_list made;
    add_failures(made, all);
    for (auto const& side : all.sides)
        for (auto const& run : side.runs)
            for (auto const& sentence : run.approximate) made.add("Approximate: " + sentence);
    return made.all;
}

}  // namespace ration::program
