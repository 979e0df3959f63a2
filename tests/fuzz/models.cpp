// SPDX-License-Identifier: BSL-1.0
// Files of models for `ration sim --models`: the first letter chooses the kind. Models have numbers that can be used,
// which are those of the rows; a plain reading of the rows proves what they promise together.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <ration/sim/cpu_files.hpp>
#include <ration/sim/profile_files.hpp>
#include <ration/sim/rate_model.hpp>

#include "support.hpp"

namespace sim = ration::sim;
using fuzz::require;

namespace {

using row = std::vector<std::string>;

/// The rows behind the titles; none where quotes need the full reader.
[[nodiscard]] std::vector<row> rows_of(std::string_view text) {
    std::vector<row> rows;
    if (text.find('"') != text.npos) return rows;
    for (auto line : fuzz::split(text, '\n')) {
        if (line.ends_with('\r')) line.remove_suffix(1);
        auto const fields = fuzz::split(line, ',');
        if (!line.empty()) rows.emplace_back(fields.begin(), fields.end());
    }
    if (!rows.empty()) rows.erase(rows.begin());
    return rows;
}

[[nodiscard]] double number(std::string const& text) { return std::strtod(text.c_str(), nullptr); }

[[nodiscard]] bool is_usable(double value) { return std::isfinite(value) && value >= 0; }

[[nodiscard]] bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

void require_speeds(sim::named_model const& one) {
    constexpr std::size_t most = 9;
    std::array<std::int32_t, 2> const nodes{2, 2};
    for (std::int64_t const batch : {0LL, 1LL, 32LL, 1'000'000'000'000LL}) {
        auto job = one.usual;
        job.batch = batch;
        for (auto const& held : {sim::allocation{.spread = {nodes.data(), 1}, .devices = 2, .cores = 1},
                                 {.spread = nodes, .devices = 4, .cores = 2}})
            require(is_usable(one.model->at(job, held, 0).steps_per_second), "a model has no speed");
        std::array<double, most> goodput{}, fixed{};
        std::array<std::int64_t, most> batches{};
        for (std::int64_t const per_node : {2, 4}) {
            one.model->show(job, 0, 0, per_node, {goodput, fixed, batches});
            require(std::ranges::all_of(goodput, is_usable) && std::ranges::all_of(fixed, is_usable),
                    "a policy is shown an impossible speed");
            require(goodput[0] == 0 && fixed[0] == 0, "a job trains without devices");
            require(std::ranges::all_of(batches, [](std::int64_t shown) { return shown >= 0; }),
                    "a policy is shown a negative batch");
        }
    }
}

[[nodiscard]] bool is_sound(ration::result<sim::model_library, ration::diagnostic> const& read) {
    if (!read) {
        fuzz::require_sentence(to_text(in_file("models.csv", read.failure())));
        return false;
    }
    std::set<std::string> names;
    for (auto const& one : *read) {
        require(!one.name.empty() && names.insert(one.name).second && one.model != nullptr,
                "a model has no unique name");
        require(is_usable(one.usual.length) && is_usable(one.usual.restart_cost),
                "a model has no length, or its restart takes no possible time");
        require(one.usual.least >= 0 && one.usual.most >= 0, "a number of devices is negative");
        require_speeds(one);
    }
    return true;
}

void require_curve(sim::named_model const& one, row const& given) {
    auto const column = [&](std::size_t i) { return number(given[i]); };
    double const objective = column(11), acceptable = column(10);
    require(one.name == given[0] && one.usual.batch == static_cast<std::int64_t>(column(1)),
            "a model has another name or batch than its row");
    require(one.model->at(one.usual, {.cores = 1}, 0).steps_per_second == column(9),
            "a model has another speed than its row");
    require(objective <= acceptable && one.model->tiers(one.usual) == 2, "an Objective is above Acceptable");
    double before = one.model->loss(one.usual, 0);
    require(is_near(before, column(2) + column(3) + column(6)) || before == 0,
            "a curve begins at another loss than its row");
    for (double const step : {1.0, 10.0, 1e3, 1e6, 1e9, 1e15}) {
        double const loss = one.model->loss(one.usual, step);
        require(is_usable(loss) && loss <= before * (1 + 1e-12), "a loss is none, or it rises");
        require(is_usable(one.model->reported_loss(one.usual, 1, 2, step)), "a loss is reported that is none");
        before = loss;
    }
    bool const arrives = one.model->loss(one.usual, one.usual.length) <= objective;
    require(one.usual.length >= 1 && (arrives || one.usual.length == column(12)),
            "a job has another length than its row");
}

void read_curves(std::string_view text) {
    auto const read = sim::read_cpu_models(text);
    auto const rows = rows_of(text);
    if (!is_sound(read) || rows.empty()) return;
    require(rows.size() == read->size(), "there is another number of models than of rows");
    for (std::size_t i = 0; i < rows.size(); ++i) require_curve((*read)[i], rows[i]);
}

void read_rates(std::string_view text) {
    static std::vector<std::string> const types{"gpu", "v100"};
    auto const read = sim::read_rates(text, types);
    if (!is_sound(read)) return;
    std::set<std::tuple<std::string, std::string, bool, std::int64_t, std::int64_t>> seen;
    std::array<std::int32_t, 2> const nodes{1, 1};
    for (auto const& given : rows_of(text)) {
        auto const type = std::ranges::find(types, given[1]);
        if (type == types.end()) continue;
        bool const several = number(given[2]) != 0;
        auto const batch = static_cast<std::int64_t>(number(given[3])),
                   devices = static_cast<std::int64_t>(number(given[4]));
        require(devices >= 1 && seen.emplace(given[0], given[1], several, batch, devices).second,
                "a speed is given twice, or for no device");
        auto const* const model = sim::find_model(*read, given[0]);
        require(model != nullptr, "a model is missing");
        auto const index = static_cast<std::uint32_t>(type - types.begin());
        sim::allocation const held{.spread = {nodes.data(), several ? 2U : 1U}, .devices = devices, .type = index};
        require(model->model->at({.batch = batch}, held, 0).steps_per_second == number(given[5]),
                "a model has another speed than its row");
    }
}

/// The three files of measured profiles, with a line "--" between them.
[[nodiscard]] std::array<std::string_view, 3> three_files(std::string_view text) {
    std::array<std::string_view, 3> files;
    for (auto& file : files) {
        auto const end = text.find("--\n");
        file = text.substr(0, end);
        text.remove_prefix(end == text.npos ? text.size() : end + 3);
    }
    return files;
}

[[nodiscard]] sim::profile_model const& profile_of(sim::model_library const& library, std::string const& name) {
    auto const* const found = sim::find_model(library, name);
    require(found != nullptr, "an application is missing");
    return dynamic_cast<sim::profile_model const&>(*found->model);
}

void require_step_times(sim::model_library const& library, std::vector<row> const& rows) {
    std::map<row, double> last;  // local batch by application and placement
    for (auto const& given : rows) {
        bool const has_spread = number(given[3]) >= 1;
        row const placement = has_spread ? row{given[0], std::to_string(std::floor(number(given[3])))}
                                         : row{given[0], std::to_string(std::floor(number(given[1]))),
                                               std::to_string(std::floor(number(given[2])))};
        double const batch = number(given[4]);
        auto const [at, first] = last.emplace(placement, batch);
        require(first || at->second < batch, "the local batches of one placement do not ascend");
        at->second = batch;
        auto const devices = static_cast<std::int32_t>(number(given[3]));
        if (!has_spread || devices > 9) continue;
        auto const time = profile_of(library, given[0]).time({&devices, 1}, devices, batch);
        require(is_near(time.step, number(given[5])), "a step takes another time than was measured");
    }
}

void require_gradients(sim::model_library const& library, std::vector<row> const& rows) {
    std::map<std::string, std::map<double, std::vector<double>>> batches;  // by application and progress
    for (auto const& given : rows) {
        auto& all = batches[given[0]];
        require(all.empty() || number(given[1]) >= all.rbegin()->first, "progress does not ascend");
        all[number(given[1])].push_back(number(given[2]));
    }
    for (auto const& [name, by_progress] : batches) {
        auto const& profile = profile_of(library, name);
        auto const& first = by_progress.begin()->second;
        require(std::ranges::adjacent_find(first, std::greater_equal{}) == first.end(),
                "the batches of the statistics do not ascend");
        for (auto const& [progress, these] : by_progress) {
            require(these == first, "the statistics have other batches from row to row");
            require(is_near(profile.gain(first.front(), progress), 1), "the first batch has a gain");
        }
        require(profile.length() == by_progress.rbegin()->first, "a job ends at another progress than was measured");
    }
}

void read_profiles(std::string_view text) {
    auto const [applications, step_times, gradients] = three_files(text);
    auto const read = sim::read_profiles({applications, step_times, gradients});
    if (!is_sound(read)) return;
    require_step_times(*read, rows_of(step_times));
    require_gradients(*read, rows_of(gradients));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input in(data, size);
    switch (in.take<char>()) {
        case 'c': read_curves(in.rest()); break;
        case 'r': read_rates(in.rest()); break;
        case 'p': read_profiles(in.rest()); break;
        default: break;
    }
    return 0;
}
