// SPDX-License-Identifier: BSL-1.0
#include "measure/scaling_output.hpp"

#include <algorithm>
#include <fmt/ranges.h>
#include <utility>

#include "common/printable.hpp"
#include "config/speedup_edit.hpp"
#include "events/json_writer.hpp"
#include "view/text_table.hpp"

namespace ration::program {
namespace {

struct speed_figures {
    double mean, least, most;
};

[[nodiscard]] speed_figures speeds_of(measured_size const& size) {
    auto const [least, most] = std::ranges::minmax(size.launches, {}, &measured_launch::steps_per_second);
    double sum = 0;
    for (auto const& launch : size.launches) sum += launch.steps_per_second;
    return {sum / static_cast<double>(size.launches.size()), least.steps_per_second, most.steps_per_second};
}

[[nodiscard]] std::vector<std::string> row_of(scaling_result const& all, measured_size const& size) {
    if (!size.measured()) return {std::to_string(size.devices), "failed"};
    auto const speeds = speeds_of(size);
    double const speedup = speedup_of(all, size);
    std::vector<std::string> row{std::to_string(size.devices), fmt::format("{:.4g}", speeds.mean),
                                 fmt::format("{:.4g} to {:.4g}", speeds.least, speeds.most),
                                 fmt::format("{:.2f}", speedup),
                                 fmt::format("{:.0f} %", speedup / static_cast<double>(size.devices) * 100)};
    if (compares_samples(all)) row.insert(row.begin() + 3, std::to_string(size.launches.back().batch));
    return row;
}

/// Those that the list has as 0.
[[nodiscard]] std::vector<std::int64_t> unmeasured(scaling_result const& all) {
    std::vector<std::int64_t> out;
    auto const* const base = base_of(all);
    for (std::int64_t k = base != nullptr ? base->devices + 1 : all.most + 1; k <= all.most; ++k) {
        auto const size = std::ranges::find(all.sizes, k, &measured_size::devices);
        if (size == all.sizes.end() || !size->measured()) out.push_back(k);
    }
    return out;
}

void write_size(json_writer& json, scaling_result const& all, measured_size const& size) {
    json.object([&] {
        json.member("devices", size.devices);
        json.key("steps_per_second").array([&] {
            for (auto const& launch : size.launches) json.value(launch.steps_per_second);
        });
        json.key("batch").array([&] {
            for (auto const& launch : size.launches) json.value(launch.batch);
        });
        auto const speedup = size.measured() ? std::optional(speedup_of(all, size)) : std::nullopt;
        json.member("speedup", speedup);
        json.member("efficiency", speedup ? std::optional(*speedup / static_cast<double>(size.devices)) : speedup);
        json.member("failure", size.failure.empty() ? std::nullopt : std::optional<std::string_view>(size.failure));
    });
}

}  // namespace

std::string devices_text(std::int64_t count) { return fmt::format("{} device{}", count, count == 1 ? "" : "s"); }

std::vector<std::string> remarks_on(scaling_result const& all) {
    std::vector<std::string> out;
    for (auto const& size : all.sizes) {
        if (!size.failure.empty()) out.push_back(fmt::format("{}: {}", devices_text(size.devices), size.failure));
        if (!size.note.empty()) out.push_back(fmt::format("{}: {}", devices_text(size.devices), size.note));
    }
    if (compares_samples(all)) out.emplace_back("the batch differs, so that the speedup compares samples per second");
    if (auto const* const base = base_of(all); base != nullptr && base->devices > 1)
        out.push_back(fmt::format("the list counts from {0} devices as {0}: fewer were not measured", base->devices));
    if (auto const missing = unmeasured(all); !missing.empty())
        out.push_back(
            fmt::format("not measured: {}; the 0 in the list excludes them from the choices of elastic_batch_dp",
                        fmt::join(missing, ", ")));
    return out;
}

std::string scaling_text(scaling_result const& all) {
    std::vector<std::vector<std::string>> lines{{"devices", "steps/s", "range", "speedup", "efficiency"}};
    if (compares_samples(all)) lines.front().insert(lines.front().begin() + 3, "batch");
    for (auto const& size : all.sizes) lines.push_back(row_of(all, size));
    auto text = aligned(lines);
    if (auto const list = speedup_list(all); !list.empty()) text += fmt::format("\nspeedup = {}\n", speedup_text(list));
    auto const remarks = remarks_on(all);
    if (!remarks.empty()) text += '\n';
    for (auto const& remark : remarks) text += printable(remark) + '\n';
    return text;
}

std::string scaling_json(scaling_result const& all) {
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.member("file", all.file);
        json.member("job", all.job);
        json.member("compares", compares_samples(all) ? "samples" : "steps");
        json.key("sizes").array([&] {
            for (auto const& size : all.sizes) write_size(json, all, size);
        });
        json.key("speedup").array([&] {
            for (double const value : speedup_list(all)) json.value(value);
        });
        json.key("remarks").array([&] {
            for (auto const& remark : remarks_on(all)) json.value(remark);
        });
    });
    return out;
}

}  // namespace ration::program
