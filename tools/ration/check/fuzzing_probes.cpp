// SPDX-License-Identifier: BSL-1.0
// Many random synthetic clusters, with everything locked and guarded, and every grant proved.
#include <fmt/core.h>

#include "finding.hpp"
#include "library.hpp"
#include "probe.hpp"
#include "session.hpp"

namespace ration::conformance {
namespace {

constexpr int rooms = 8, fuzzing_ticks = 150;

void validate_tick(session& room, std::uint64_t seed) {
    room.advance();
    auto const a = room.ask();
    auto const where = [&] { return fmt::format("seed {}, tick {}", seed, room.room().tick()); };
    if (a.code != RATION_OK) broken(fmt::format("{}: decide said {}", where(), name_of_code(a.code)));
    if (a.count > most_grants) broken(fmt::format("{}: count is {}", where(), a.count));
    if (!a.changed_field.empty()) broken(fmt::format("{}: it changed {}", where(), a.changed_field));
    if (auto const wrong = room.fault(a); !wrong.empty()) broken(fmt::format("{}: {}", where(), wrong));
    room.apply(a);
}

void bear_anything(subject const& s) {
    library const loaded(s);
    for (int i = 0; i < rooms; ++i) {
        std::uint64_t const seed = s.seed + static_cast<std::uint64_t>(i);
        session room(loaded, s,
                     {.seed = seed, .nodes = 1 + seed % most_nodes, .lock_inputs = true, .exact_scratch = true});
        for (int tick = 0; tick < fuzzing_ticks; ++tick) validate_tick(room, seed);
        room.instance().destroy();
    }
}

constexpr probe fuzzing_probes[] = {
    {"fuzz/rooms",
     "run the plugin under a debugger on this seed: --seed makes the same rooms again",
     &bear_anything,
     then::go_on,
     {.cpu_seconds = 10, .wall_seconds = 60}},
};

}  // namespace

std::span<probe const> probes_of_fuzzing() noexcept { return fuzzing_probes; }

}  // namespace ration::conformance
