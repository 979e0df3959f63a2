// SPDX-License-Identifier: BSL-1.0
// Saved state: how it is written, what is refused, and that it comes back.
#include <algorithm>
#include <cstring>
#include <fmt/core.h>

#include "finding.hpp"
#include "guarded.hpp"
#include "library.hpp"
#include "probe.hpp"
#include "session.hpp"

namespace ration::conformance {
namespace {

constexpr int state_ticks = 12;
constexpr std::size_t most_tries = 64;  // loads of damaged states

void expect_state(library const& loaded) {
    if (loaded.table().save == nullptr) skip("it has no state to save");
}

/// An instance that has seen something.
void experience(session& run) {
    for (int i = 0; i < state_ticks; ++i) expect_answer(run, run.tick());
}

void save_into(session& run, guarded& space, std::uint64_t capacity, std::uint64_t wanted) {
    auto* const place = space.place(capacity, 1);
    std::uint64_t size = 0;
    auto const code = run.instance().save(place, capacity, size);
    if (size != wanted) broken(fmt::format("save reports {} bytes at one time and {} at another", wanted, size));
    auto const expected = capacity < wanted ? RATION_E_CAPACITY : RATION_OK;
    if (code != expected)
        broken(fmt::format("save returned {} to a buffer of {} bytes for a state of {}", name_of_code(code), capacity,
                           wanted));
}

void keep_within_the_buffer(subject const& s) {
    library const loaded(s);
    expect_state(loaded);
    session run(loaded, s, {.seed = s.seed});
    experience(run);
    // The size first, from a buffer of nothing at the edge of a guard.
    guarded nothing("the buffer of save", 1);
    std::uint64_t wanted = 0;
    static_cast<void>(run.instance().save(nothing.place(0, 1), 0, wanted));
    if (wanted > std::uint64_t{64} << 20)
        broken(fmt::format("its state takes {} bytes, and 64 MiB are the most", wanted));
    guarded space("the buffer of save", wanted + 64);
    for (std::uint64_t const capacity : {std::uint64_t{0}, wanted / 2, wanted - (wanted > 0), wanted, wanted + 64})
        save_into(run, space, capacity, wanted);
}

/// Into buffers of different contents: bytes that save leaves out, such as padding, show.
void save_the_same_twice(subject const& s) {
    library const loaded(s);
    expect_state(loaded);
    session run(loaded, s, {.seed = s.seed});
    experience(run);
    auto const first = run.instance().saved();
    std::vector<std::byte> second(first.size(), std::byte{0xAB});
    std::uint64_t size = 0;
    if (run.instance().save(second.data(), second.size(), size) != RATION_OK || size != first.size())
        broken("a second save of one state does not fit into the size of the first");
    auto const at = std::ranges::mismatch(first, second).in1 - first.begin();
    if (static_cast<std::size_t>(at) < first.size())
        broken(fmt::format("two saves of one state differ at byte {} of {}", at, first.size()));
}

void expect_refused(session& run, std::span<std::byte const> state, std::string const& what) {
    auto const code = run.instance().load(state);
    if (code == RATION_OK || !is_known_code(code))
        broken(fmt::format("load returned {} to {}", name_of_code(code), what));
}

void refuse_damaged_states(subject const& s) {
    library const loaded(s);
    expect_state(loaded);
    session run(loaded, s, {.seed = s.seed});
    experience(run);
    auto const whole = run.instance().saved();
    if (whole.empty()) skip("its state is empty");
    std::size_t const step = whole.size() / most_tries + 1;
    for (std::size_t size = 0; size < whole.size(); size += step)
        expect_refused(run, std::span(whole).first(size),
                       fmt::format("the first {} bytes of a state of {}", size, whole.size()));
    rng_sequence any(s.seed);
    for (std::size_t i = 0; i < most_tries; ++i) {
        std::vector<std::byte> noise(i % 2 == 0 ? whole.size() : 1 + any.below(2 * whole.size()));
        for (auto& b : noise) b = static_cast<std::byte>(any.below(256));
        if (noise != whole) expect_refused(run, noise, fmt::format("{} random bytes", noise.size()));
    }
    if (run.instance().saved() != whole) broken("a load that it refused changed it");
}

/// A second run with the same past, where a new instance takes over from the one that lived there.
void take_over(subject const& s) {
    library const loaded(s);
    expect_state(loaded);
    session old(loaded, s, {.seed = s.seed}), other(loaded, s, {.seed = s.seed + 1});
    experience(old);
    auto const state = old.instance().saved();
    experience(other);
    if (auto const code = other.instance().load(state); code != RATION_OK)
        broken(
            fmt::format("load returned {} to a state that an instance of the same plugin saved", name_of_code(code)));
    if (other.instance().saved() != state) broken("what is loaded and saved again is not what was saved");
    if (!s.repeats) return;
    session again(loaded, s, {.seed = s.seed});
    experience(again);
    if (again.instance().load(state) != RATION_OK) broken("load refuses a state at its second time");
    for (int i = 0; i < state_ticks; ++i)
        if (auto const a = old.tick(), b = again.tick(); a.code != b.code || !same_bytes(a.rows, b.rows))
            broken(fmt::format("tick {}: after load it decides otherwise than the instance that saved",
                               old.tick_number()));
}

constexpr probe state_probes[] = {
    {"state/buffer",
     "let save write nothing and return RATION_E_CAPACITY when `capacity` is too small; *size is what is needed",
     &keep_within_the_buffer, then::stop_group},
    {"state/same", "save values one by one: padding, pointers and times make two saves of one state differ",
     &save_the_same_twice, then::stop_group},
    {"state/refusal", "let load prove the size and every value, return RATION_E_STATE, and change nothing then",
     &refuse_damaged_states},
    {"state/return", "save everything that decide depends on besides the tick", &take_over},
};

}  // namespace

std::span<probe const> probes_of_state() noexcept { return state_probes; }

}  // namespace ration::conformance
