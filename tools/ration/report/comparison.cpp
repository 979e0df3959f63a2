// SPDX-License-Identifier: BSL-1.0
// The figures by which several runs are compared: those of `ration run --compare`, and counts that only a log has.
#include "comparison/comparison.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

#include "report/run_json.hpp"
#include "report/run_summary.hpp"

namespace ration::program {
namespace {

using runs_list = std::vector<run_history>;

using jobs_by_name = std::map<std::string_view, job_record const*>;

[[nodiscard]] jobs_by_name jobs_of(run_history const& run) {
    jobs_by_name all;
    for (auto const& job : run.jobs) all.emplace(job.name, &job);
    return all;
}

/// The names of the jobs that every run has, in the order of the first one.
[[nodiscard]] std::vector<std::string> common_jobs(runs_list const& runs) {
    std::map<std::string_view, std::size_t> runs_with;
    for (auto const& run : runs)
        for (auto const& [name, job] : jobs_of(run)) ++runs_with[name];
    std::vector<std::string> names;
    for (auto const& job : runs.front().jobs)
        if (std::exchange(runs_with[job.name], 0) == runs.size()) names.push_back(job.name);
    return names;
}

/// With these jobs.
[[nodiscard]] run_summary summary_of(run_history const& run, std::string label, std::vector<std::string> const& names) {
    auto const by_name = jobs_of(run);
    auto total = summary_of(run, std::move(label));
    total.jobs.clear();
    for (auto const& name : names) total.jobs.push_back(summary_of(*by_name.at(name)));
    return total;
}

/// For each run its side. The runs of one comparison that was repeated are the rounds of their sides; otherwise every
/// run is a separate side.
[[nodiscard]] std::vector<std::string> sides_of(runs_list const& runs) {
    std::set<std::pair<std::string, std::int64_t>> seen;
    std::vector<std::string> labels;
    for (auto const& run : runs) {
        labels.push_back(side_label(run));
        bool const is_round = run.round > 0 && run.file == runs.front().file;
        if (!is_round || !seen.insert({labels.back(), run.round}).second) return labels_of(runs);
    }
    return labels;
}

class comparison_writer {
    json_writer& json_;
    runs_list const& runs_;
    std::vector<std::string> labels_;
    comparison all_;

public:
    comparison_writer(json_writer& json, runs_list const& runs) : json_(json), runs_(runs), labels_(sides_of(runs)) {
        if (runs.empty()) return;
        auto const names = common_jobs(runs);
        std::vector<run_summary> summaries;
        summaries.reserve(runs.size());
        for (std::size_t i = 0; i < runs.size(); ++i) summaries.push_back(summary_of(runs[i], labels_[i], names));
        all_ = compare(std::move(summaries));
    }

    void write() {
        json_.object([&] {
            json_.key("sides").array([&] {
                for (auto const& side : all_.sides) json_.value(side.label);
            });
            json_.member("rounds", all_.rounds());
            json_.key("figures").array([&] { write_figures(); });
            json_.key("remarks").array([&] {
                if (all_.sides.size() < 2) return;
                for (auto const& remark : remarks_on(all_)) json_.value(remark);
            });
        });
    }

private:
    void write_figures() {
        if (all_.sides.empty()) return;
        for (auto const m : {milestone::acceptable, milestone::objective, milestone::end})
            for (auto const& figure : time_figures(all_, m))
                write_figure(fmt::format("{} time to {}{}", figure.name, name_of(m), figure.rest), figure.unit,
                             fmt::format("{} {} got there in every run", figure.of.value_or(0),
                                         figure.of == 1 ? "job that" : "jobs that"),
                             figure.values);
        for (auto const& figure : run_figures(all_))
            write_figure(std::string(figure.name), figure.unit, "", figure.values);
        write_count("jobs at Acceptable", "jobs", [](auto const& r) {
            return std::ranges::count_if(r.jobs, [](auto const& j) { return j.acceptable_at.has_value(); });
        });
        write_count("jobs at Objective", "jobs", [](auto const& r) {
            return std::ranges::count_if(r.jobs, [](auto const& j) { return j.objective_at.has_value(); });
        });
        write_count("jobs that were released", "jobs",
                    [](auto const& r) { return std::ranges::count(r.jobs, true, &job_record::released); });
        write_count("jobs that failed", "jobs", [](auto const& r) { return std::ranges::count_if(r.jobs, failed); });
        write_count("changes", "changes", [](auto const& r) { return r.changes; });
    }

    /// `of` counts something in a run.
    template <class Of>
    void write_count(std::string const& name, std::string_view unit, Of of) {
        std::vector<std::vector<std::optional<double>>> values;
        for (auto const& side : all_.sides) {
            auto& rounds = values.emplace_back();
            for (std::size_t i = 0; i < runs_.size() && rounds.size() < all_.rounds(); ++i)
                if (labels_[i] == side.label) rounds.emplace_back(static_cast<double>(of(runs_[i])));
        }
        write_figure(name, unit, "", compared(values));
    }

    void write_figure(std::string const& name, std::string_view unit, std::string const& of,
                      std::vector<compared_value> const& values) {
        auto const write_all = [&](std::string_view key, std::optional<double> compared_value::* which) {
            json_.key(key).array([&] {
                for (auto const& value : values) json_.value(value.*which);
            });
        };
        json_.object([&] {
            json_.member("figure", name);
            json_.member("unit", unit);
            json_.member("of", of);
            write_all("values", &compared_value::mean);
            write_all("changes", &compared_value::change);
            write_all("halves", &compared_value::half);
        });
    }
};

}  // namespace

void write_comparison(json_writer& json, std::vector<run_history> const& runs) {
    comparison_writer(json, runs).write();
}

}  // namespace ration::program
