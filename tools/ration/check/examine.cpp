// SPDX-License-Identifier: BSL-1.0
#include "examine.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <string>

#include <ration/plugin/host/elf_file.hpp>

#include "containment.hpp"
#include "probe.hpp"

namespace ration::conformance {
namespace {

/// The findings so far, and those that forbid further probes.
class examination {
    subject& subject_;
    std::function<void(probe_result const&)> const& done_;
    std::vector<probe_result> results_;
    std::string_view stopped_by_{};

public:
    examination(subject& s, std::function<void(probe_result const&)> const& done) : subject_(s), done_(done) {}

    void inspect_file() {
        run(probes_of_the_file(), {});
        if (stopped_by_.empty()) take_over_the_manifest();
    }
    void run_the_plugin() {
        for (auto const group : {probes_of_loading(), probes_of_binding(), probes_of_deciding(),
                                 probes_of_later_hosts(), probes_of_answers(), probes_of_life(), probes_of_state()})
            run(group, {});
        run(probes_of_fuzzing(), any_red(results_) ? "mend what is red first" : "");
    }
    [[nodiscard]] std::vector<probe_result> results() && { return std::move(results_); }

private:
    void run(std::span<probe const> group, std::string reason_not_to) {
        auto const mend = [](std::string_view name) { return fmt::format("mend {} first", name); };
        for (auto const& p : group) {
            if (!stopped_by_.empty()) reason_not_to = mend(stopped_by_);
            auto const& result = results_.emplace_back(probe_result{p.name, p.remedy, finding_of(p, reason_not_to)});
            done_(result);
            if (p.validates != nullptr) subject_.*p.validates = result.found.is == verdict::passed;
            if (!is_red(result.found.is)) continue;
            if (p.if_red == then::stop_group) reason_not_to = mend(p.name);
            if (p.if_red == then::stop) stopped_by_ = p.name;
        }
    }

    [[nodiscard]] finding finding_of(probe const& p, std::string const& reason_not_to) const {
        if (!reason_not_to.empty()) return {verdict::skipped, reason_not_to};
        return run_contained(subject_, [&] { p.run(subject_); }, p.until);
    }

    /// The file has been read in a child without harm, and these readings are the same.
    void take_over_the_manifest() {
        subject_.manifest = plugin::manifest_in(subject_.file).value();
        subject_.needs = plugin::needs_of(subject_.manifest).value();
        subject_.computed = plugin::computed_columns(plugin::computed_by(subject_.manifest).value());
        std::string_view const reasons(subject_.manifest.reasons);
        subject_.reasons =
            static_cast<std::size_t>(std::ranges::count(reasons, '\n')) + (!reasons.empty() && reasons.back() != '\n');
    }
};

}  // namespace

std::vector<probe_result> examine(subject& s, std::function<void(probe_result const&)> const& done) {
    examination all(s, done);
    all.inspect_file();
    all.run_the_plugin();
    return std::move(all).results();
}

bool any_red(std::vector<probe_result> const& results) noexcept {
    return std::ranges::any_of(results, [](auto const& r) { return is_red(r.found.is); });
}

}  // namespace ration::conformance
