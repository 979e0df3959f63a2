// SPDX-License-Identifier: BSL-1.0
// Many random synthetic clusters, with everything locked and guarded, and every grant proved.
#include <fmt/core.h>

#include "finding.hpp"
#include "library.hpp"
#include "probe.hpp"
#include "session.hpp"

namespace ration::conformance {
namespace {

constexpr int clusters = 8, fuzzing_ticks = 150;

void validate_tick(session& run, std::uint64_t seed) {
    run.advance();
    auto const a = run.ask();
    auto const where = [&] { return fmt::format("seed {}, tick {}", seed, run.tick_number()); };
    if (a.code != RATION_OK) broken(fmt::format("{}: decide returned {}", where(), name_of_code(a.code)));
    if (a.count > most_grants) broken(fmt::format("{}: count is {}", where(), a.count));
    if (!a.changed_field.empty()) broken(fmt::format("{}: it changed {}", where(), a.changed_field));
    if (auto const wrong = run.fault(a); !wrong.empty()) broken(fmt::format("{}: {}", where(), wrong));
    run.apply(a);
}

void bear_lives(subject const& s, testing::supply nodes_have) {
    library const loaded(s);
    for (int i = 0; i < clusters; ++i) {
        std::uint64_t const seed = s.seed + static_cast<std::uint64_t>(i);
        session run(loaded, s,
                    {.seed = seed,
                     .nodes = 1 + seed % most_nodes,
                     .lock_inputs = true,
                     .exact_scratch = true,
                     .lists_changes = s.has_flag(RATION_F_FOLLOWS_CHANGES),
                     .nodes_have = nodes_have});
        for (int tick = 0; tick < fuzzing_ticks; ++tick) validate_tick(run, seed);
        run.instance().destroy();
    }
}

void bear_anything(subject const& s) { bear_lives(s, testing::supply::usual); }
void bear_changes(subject const& s) { bear_lives(s, testing::supply::changing); }

constexpr deadline patient{.cpu_seconds = 10, .wall_seconds = 60};
constexpr probe fuzzing_probes[] = {
    {"fuzz/clusters", "run the plugin under a debugger on this seed: --seed makes the same clusters again",
     &bear_anything, then::stop_group, patient},
    {"fuzz/demands",
     "read bounds, requests and capacities again at each tick: what a job holds may be more than it accepts now, or than its node has",
     &bear_changes, then::go_on, patient},
};

}  // namespace

std::span<probe const> probes_of_fuzzing() noexcept { return fuzzing_probes; }

}  // namespace ration::conformance
