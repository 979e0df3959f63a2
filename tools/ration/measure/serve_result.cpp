// SPDX-License-Identifier: BSL-1.0
#include "measure/serve_result.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "common/printable.hpp"
#include "events/json_writer.hpp"
#include "view/text_table.hpp"

namespace ration::program {
namespace {

/// A figure of each round.
template <class Figure>
[[nodiscard]] std::vector<double> over_rounds(serve_result const& all, Figure figure) {
    std::vector<double> out;
    out.reserve(all.rounds.size());
    for (auto const& round : all.rounds) out.push_back(figure(round));
    return out;
}

[[nodiscard]] std::string milliseconds_text(double time) { return fmt::format("{:.1f} ms", 1000 * time); }

[[nodiscard]] std::string alone_table(serve_result const& all) {
    std::vector<std::vector<std::string>> lines{{"alone", "requests/s", "range", "p50", "p95", "sent late, p95"}};
    for (std::size_t i = 0; i < all.jobs.size(); ++i) {
        auto const rates = over_rounds(all, [i](serve_round const& r) { return r.alone[i].served; });
        auto const median = [&](double load_pass::* figure) {
            return milliseconds_text(
                median_of(over_rounds(all, [&](serve_round const& r) { return r.alone[i].*figure; })));
        };
        auto const [least, most] = std::ranges::minmax(rates);
        lines.push_back({printable(all.jobs[i]), fmt::format("{:.4g}", median_of(rates)),
                         fmt::format("{:.4g} to {:.4g}", least, most), median(&load_pass::p50), median(&load_pass::p95),
                         median(&load_pass::lateness)});
    }
    return aligned(lines);
}

[[nodiscard]] std::string together_table(serve_result const& all) {
    std::vector<std::vector<std::string>> lines{
        {fmt::format("{} at", printable(all.jobs[0])), fmt::format("{}/s", printable(all.jobs[0])),
         fmt::format("{}/s", printable(all.jobs[1])), "dedicated machines", "saving", "95 % interval"}};
    for (std::size_t share = 0; share < fixed_shares.size(); ++share) {
        auto const fixed = over_rounds(all, [share](serve_round const& r) { return r.together[share].fixed; });
        auto const ramped = over_rounds(all, [share](serve_round const& r) { return r.together[share].ramped; });
        auto const machines = over_rounds(all, [share](serve_round const& r) { return dedicated_machines(r, share); });
        auto const saving = saving_of(all, share);
        lines.push_back({fmt::format("{:.0f} %", 100 * fixed_shares[share]), fmt::format("{:.4g}", median_of(fixed)),
                         fmt::format("{:.4g}", median_of(ramped)), fmt::format("{:.2f}", median_of(machines)),
                         fmt::format("{:.1f} %", 100 * saving.mean)});
        if (!std::isnan(saving.half))
            lines.back().push_back(fmt::format("{:.1f} to {:.1f} %", 100 * (saving.mean - saving.half),
                                               100 * (saving.mean + saving.half)));
    }
    return aligned(lines);
}

void write_round(json_writer& json, serve_round const& round) {
    json.object([&] {
        json.key("alone").array([&] {
            for (auto const& one : round.alone)
                json.object([&] {
                    json.member("served_per_second", one.served);
                    json.member("offered_per_second", one.offered);
                    json.member("p50", one.p50);
                    json.member("p95", one.p95);
                    json.member("lateness_p95", one.lateness);
                });
        });
        json.key("together").array([&] {
            for (auto const& one : round.together)
                json.object([&] {
                    json.member("fixed", one.fixed);
                    json.member("ramped", one.ramped);
                });
        });
    });
}

}  // namespace

double dedicated_machines(serve_round const& round, std::size_t share) noexcept {
    auto const& together = round.together[share];
    return together.fixed / round.alone[0].served + together.ramped / round.alone[1].served;
}

interval_figure saving_of(serve_result const& all, std::size_t share) {
    return interval_of(
        over_rounds(all, [share](serve_round const& r) { return 1 - 1 / dedicated_machines(r, share); }));
}

std::string serve_text(serve_result const& all) {
    auto text = alone_table(all);
    if (all.jobs.size() > 1) text += '\n' + together_table(all);
    auto const is_late = [&](serve_round const& round) {
        return std::ranges::any_of(round.alone, [&](load_pass const& one) { return one.lateness > all.limit / 10; });
    };
    if (std::ranges::any_of(all.rounds, is_late))
        text +=
            "\nrequests were sent late by more than a tenth of the limit; leave a core to ration, or lengthen "
            "--limit\n";
    return text;
}

std::string serve_json(serve_result const& all) {
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.member("file", all.file);
        json.key("jobs").array([&] {
            for (auto const& name : all.jobs) json.value(name);
        });
        json.member("limit", all.limit);
        json.key("rounds").array([&] {
            for (auto const& round : all.rounds) write_round(json, round);
        });
        json.key("together").array([&] {
            for (std::size_t share = 0; all.jobs.size() > 1 && share < fixed_shares.size(); ++share)
                json.object([&] {
                    auto const saving = saving_of(all, share);
                    bool const bounded = !std::isnan(saving.half);
                    json.member("share", fixed_shares[share]);
                    json.member("saving", saving.mean);
                    json.member("saving_low", bounded ? std::optional(saving.mean - saving.half) : std::nullopt);
                    json.member("saving_high", bounded ? std::optional(saving.mean + saving.half) : std::nullopt);
                });
        });
    });
    return out;
}

}  // namespace ration::program
