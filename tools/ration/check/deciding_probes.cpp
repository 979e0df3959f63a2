// SPDX-License-Identifier: BSL-1.0
// One call of decide: that it comes back, and what it touches.
#include <cstdio>
#include <fmt/core.h>

#include "finding.hpp"
#include "heap.hpp"
#include "kernel_calls.hpp"
#include "library.hpp"
#include "probe.hpp"
#include "session.hpp"
#include "stack.hpp"
#include "surroundings.hpp"

namespace ration::conformance {
namespace {

constexpr int deciding_ticks = 8;
constexpr std::size_t stack_of_a_call = std::size_t{1} << 20;

void run_ticks(session& run) {
    for (int i = 0; i < deciding_ticks; ++i) expect_answer(run, run.tick());
}

void cancel(subject const& s) {
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed});
    run_ticks(run);
    output space;
    run.advance();
    auto const cancelled = run.ask(most_grants, space, true);
    if (cancelled.code != RATION_OK && cancelled.code != RATION_E_DEADLINE)
        broken(fmt::format("decide returned {} when it was cancelled: return RATION_E_DEADLINE or an answer",
                           name_of_code(cancelled.code)));
    run.instance().destroy();
}

void leave_inputs_alone(subject const& s) {
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed, .lock_inputs = true});
    run_ticks(run);
}

void keep_no_pointer(subject const& s) {
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed});
    for (int i = 0; i < deciding_ticks; ++i) {
        expect_answer(run, run.tick());
        run.move_tables();
    }
}

void allocate_nothing(subject const& s) {
    if (!sees_the_heap()) skip("this build cannot see the heap: it needs glibc");
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed});
    for (int i = 0; i < 4 * deciding_ticks; ++i) {
        expect_answer(run, run.tick());
        if (auto const taken = run.instance().allocations_of_decide(); taken > 0)
            broken(fmt::format("tick {}: decide allocated {} times", run.tick_number(), taken));
    }
}

void ask_the_kernel_for_nothing(subject const& s) {
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed});
    if (!refuse_kernel_calls()) skip("this kernel refuses a second seccomp filter");
    for (int i = 0; i < deciding_ticks; ++i) {
        run.advance();
        std::fflush(nullptr);  // output of on_event is not output of decide
        static_cast<void>(take_refused_call());
        auto const a = run.ask();
        std::fflush(nullptr);  // and what decide prints may wait in a buffer
        if (auto const call = take_refused_call(); !call.empty())
            broken(fmt::format("tick {}: decide called {}: it may read, print and wait for nothing", run.tick_number(),
                               call));
        expect_answer(run, a);
        run.apply(a);
    }
}

void keep_floating_point_mode(subject const& s) {
    auto const before = floating_point_mode();
    library const loaded(s);
    if (floating_point_mode() != before)
        broken("loading it changed the rounding, flushing or trapping of floating point");
    session run(loaded, s, {.seed = s.seed});
    if (floating_point_mode() != before)
        broken("create or bind changed the rounding, flushing or trapping of floating point");
    for (int i = 0; i < deciding_ticks; ++i) {
        expect_answer(run, run.tick());
        if (floating_point_mode() != before)
            broken("decide changed the rounding, flushing or trapping of floating point and left it so");
    }
}

void keep_within_the_stack(subject const& s) {
    library const loaded(s);
    run_on_stack(stack_of_a_call, [&] {
        session run(loaded, s, {.seed = s.seed});
        run_ticks(run);
    });
}

void keep_within_scratch(subject const& s) {
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed, .exact_scratch = true});
    run_ticks(run);
}

constexpr probe deciding_probes[] = {
    {"decide/answer",
     "decide must come back with a code within its budget: no exception, no exit, no abort, no loop without end",
     &cancel, then::stop},
    {"decide/inputs", "treat tables and tick as const: copy what has to change into the scratch", &leave_inputs_alone},
    {"decide/pointers", "follow the pointers of this tick: those of the last one died when decide returned",
     &keep_no_pointer},
    {"decide/heap", "allocate in bind, for schema->max_jobs rows, or ask for scratch", &allocate_nothing},
    {"decide/io",
     "decide by the columns and the time of the tick alone; report in the reasons of grants, or by host->log",
     &ask_the_kernel_for_nothing},
    {"decide/float_mode", "put the floating-point control word back before decide returns", &keep_floating_point_mode},
    {"decide/stack", "use at most 1 MiB of stack: large arrays belong into the scratch", &keep_within_the_stack},
    {"decide/scratch", "ask in bind for as much scratch as decide uses", &keep_within_scratch},
};

}  // namespace

std::span<probe const> probes_of_deciding() noexcept { return deciding_probes; }

}  // namespace ration::conformance
