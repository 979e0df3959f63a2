// SPDX-License-Identifier: BSL-1.0
/// Jobs whose speed was measured for some numbers and types of devices. The traces of Gavel and
/// ElasticFlow name such models.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <ration/sim/diagnostic.hpp>
#include <ration/sim/model_library.hpp>
#include <ration/sim/trace/scanner.hpp>

namespace ration::sim {

/// A job with measured rates. One step is one of the model's own. The batch is fixed: the largest
/// measured one that is not above the requested one.
class rate_model final : public job_model {
    struct key {
        std::uint32_t type;
        bool several_nodes;
        std::int64_t batch, devices;
        friend bool operator<(key const& a, key const& b) noexcept {
            return std::tie(a.type, a.several_nodes, a.batch, a.devices) <
                   std::tie(b.type, b.several_nodes, b.batch, b.devices);
        }
    };
    std::map<key, double> rates_;
    std::vector<std::int64_t> batches_;  // ascending

public:
    /// Adds a measurement. Returns false if there is one for the same key.
    bool add(std::uint32_t type, bool several_nodes, std::int64_t batch, std::int64_t devices,
             double steps_per_second) {
        auto const place = std::lower_bound(batches_.begin(), batches_.end(), batch);
        if (place == batches_.end() || *place != batch) batches_.insert(place, batch);
        return rates_.emplace(key{type, several_nodes, batch, devices}, steps_per_second).second;
    }

    /// The measured speed, scaled by the slowest node.
    [[nodiscard]] speed_segment at(job_description const& job, allocation const& held, double) const noexcept override {
        return {.steps_per_second = held.slowest * rate(held.type, held.spread.size() > 1, job.batch, held.devices)};
    }
    /// Fills the scaling with the measured speeds.
    void show(job_description const& job, double, std::uint32_t type, std::int64_t devices_per_node,
              scaling const& out) const noexcept override {
        for (std::size_t i = 0; i < out.goodput.size(); ++i) {
            auto const k = static_cast<std::int64_t>(i);
            out.goodput[i] = out.goodput_fixed[i] = rate(type, k > devices_per_node, job.batch, k);
            out.batch[i] = out.goodput[i] > 0 ? job.batch : 0;
        }
    }

    /// The speed with at least this placement: that of the next smaller measured number of devices;
    /// 0 if there is none. A multi-node placement that was not measured has the speed of one node.
    /// O(log rates).
    [[nodiscard]] double rate(std::uint32_t type, bool several_nodes, std::int64_t batch,
                              std::int64_t devices) const noexcept {
        if (batches_.empty() || devices < 1) return 0;
        auto const above = std::upper_bound(batches_.begin(), batches_.end(), batch);
        key const wanted{type, several_nodes, above == batches_.begin() ? *above : *std::prev(above), devices};
        auto const next = rates_.upper_bound(wanted);
        if (next != rates_.begin()) {
            auto const& [found, speed] = *std::prev(next);
            if (found.type == type && found.several_nodes == several_nodes && found.batch == wanted.batch) return speed;
        }
        return several_nodes ? rate(type, false, batch, devices) : 0;
    }
};

/// Reads bench/data/rates/rates.csv; the README there defines the columns. Types get their index in
/// `types` (of the cluster); other types are skipped, and so are models with none of them. The
/// error names the line. O(text).
[[nodiscard]] inline result<model_library, diagnostic> read_rates(std::string_view text,
                                                                  std::span<std::string const> types) {
    constexpr std::array<std::string_view, 6> titles{"model", "type",    "several_nodes",
                                                     "batch", "devices", "steps_per_second"};
    trace::row_scanner rows(text, ',');
    model_library library;
    std::map<std::string, std::shared_ptr<rate_model>, std::less<>> models;
    if (!rows.next() || !std::equal(titles.begin(), titles.end(), rows.fields().begin(), rows.fields().end()))
        return diagnostic{.line = 1,
                          .text = "the columns have to be model,type,several_nodes,batch,devices,steps_per_second"};
    while (rows.next()) {
        auto const fields = rows.fields();
        std::array<double, 6> number{};
        bool right = fields.size() == titles.size();
        for (std::size_t i = 2; right && i < titles.size(); ++i)
            right = trace::to_number(fields[i], number[i]) && number[i] >= 0 && number[i] <= 1e12;
        if (!right || fields[0].empty() || number[4] < 1 || number[5] <= 0)
            return diagnostic{
                .line = rows.line(),
                .text = "a row has a model, a type, and four numbers from 0 to 1e12, the last two above 0"};
        auto const type = std::find(types.begin(), types.end(), fields[1]);
        if (type == types.end()) continue;
        auto& model = models[std::string(fields[0])];
        if (!model) model = std::make_shared<rate_model>();
        if (!model->add(static_cast<std::uint32_t>(type - types.begin()), number[2] != 0,
                        static_cast<std::int64_t>(number[3]), static_cast<std::int64_t>(number[4]), number[5]))
            return diagnostic{.line = rows.line(), .text = "an earlier row has this setting; keep one of them"};
    }
    if (rows.wrong() != nullptr) return diagnostic{.line = rows.line(), .text = rows.wrong()};
    for (auto& [name, model] : models) library.push_back({.name = name, .model = std::move(model)});
    return library;
}

}  // namespace ration::sim
