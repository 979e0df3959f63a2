// SPDX-License-Identifier: BSL-1.0
#include "config/metrics.hpp"

#include <algorithm>
#include <fmt/format.h>

#include <ration/progress/log_adapter.hpp>

#include "common/printable.hpp"

namespace ration::program {
namespace {

constexpr std::string_view metrics_form = "a table, such as { csv = \"logs/*/metrics.csv\", loss = \"train_loss\" }";

/// The paths may be a pattern of glob(7).
[[nodiscard]] bool read_path(table_reader& keys, std::string_view key, metric_format format, metric_file_config& into) {
    auto const* const path = keys.take<std::string>(key, "the path of a file");
    if (path == nullptr) return false;
    into.path = *path;
    into.format = format;
    return true;
}

void read_step(table_reader& keys, metric_file_config& into, diagnostics& problems) {
    auto const* const step = keys.take<std::string>("step", "the name of a column");
    if (step == nullptr) return;
    into.step = *step;
    if (into.format == metric_format::tensorboard)
        problems.add(keys.place_of("step"),
                     "'step' names a column, and TensorBoard events have their own step; remove it");
}

void read_columns(table_reader const& keys, target_config const& target, metric_file_config& into,
                  diagnostics& problems) {
    keys.each_unknown([&](entry const& e) {
        auto const* const column = std::get_if<std::string>(&e.held.data);
        if (column == nullptr)
            problems.add(e.held.at, fmt::format("'{}' in 'metrics' must be the name of a column in quotes", e.key));
        else if (e.key != target.metric && !progress::detail::is_group_name(e.key))
            problems.add(e.key_at, fmt::format("{} cannot be a metric; write letters, digits and '_'", quoted(e.key)));
        else
            into.columns.push_back({e.key, *column});
    });
    bool const is_read = std::ranges::find(into.columns, target.metric, &metric_column::metric) != into.columns.end();
    if (!is_read && (target.is_given() || into.columns.empty())) into.columns.push_back({target.metric, target.metric});
}

}  // namespace

std::optional<metric_file_config> read_metrics(table_reader& keys, target_config const& target, diagnostics& problems) {
    auto const* const from = keys.take<table>("metrics", metrics_form);
    if (from == nullptr) return std::nullopt;
    metric_file_config out;
    auto const before = problems.size();
    table_reader entries(*from, "'metrics'", problems);
    int const paths = static_cast<int>(read_path(entries, "csv", metric_format::csv, out)) +
                      static_cast<int>(read_path(entries, "jsonl", metric_format::jsonl, out)) +
                      static_cast<int>(read_path(entries, "tensorboard", metric_format::tensorboard, out));
    read_step(entries, out, problems);
    read_columns(entries, target, out, problems);
    if (problems.size() == before && (paths != 1 || out.path.empty() || out.path.find('\0') != std::string::npos))
        problems.add(keys.place_of("metrics"),
                     "'metrics' must name one file; add csv = \"PATH\", jsonl = \"PATH\" or tensorboard = \"FOLDER\"");
    if (problems.size() == before && keys.take("log") != nullptr)
        problems.add(keys.place_of("metrics"), "'metrics' and 'log' report the same job; remove one of them");
    return problems.size() == before ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace ration::program
