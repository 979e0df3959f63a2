// SPDX-License-Identifier: BSL-1.0
// Probes of the resources that an instance leaves in the process.
#include <chrono>
#include <dlfcn.h>
#include <fmt/core.h>
#include <string_view>
#include <thread>

#include "finding.hpp"
#include "heap.hpp"
#include "library.hpp"
#include "probe.hpp"
#include "session.hpp"
#include "surroundings.hpp"

namespace ration::conformance {
namespace {

constexpr int cycles = 16, warm_up = 4;

constexpr char threads_are_left[] = "its threads still run: see life/threads";

void live_once(library const& loaded, subject const& s) {
    session run(loaded, s, {.seed = s.seed});
    for (int i = 0; i < 3; ++i) expect_answer(run, run.tick());
    run.instance().destroy();
}

/// A count that grows by at least one for each instance is a leak; objects that are made once and kept are not.
void leave_none_behind(subject const& s, std::int64_t (*count)(), std::string_view of_what) {
    library const loaded(s);
    for (int i = 0; i < warm_up; ++i) live_once(loaded, s);
    auto const before = count();
    auto const threads_before = threads();
    for (int i = warm_up; i < cycles; ++i) live_once(loaded, s);
    if (threads() > threads_before) skip(threads_are_left);
    if (auto const left = count() - before; left >= cycles - warm_up)
        broken(fmt::format("{} instances left {} {} behind", cycles - warm_up, left, of_what));
}

void give_everything_back(subject const& s) {
    if (!sees_the_heap()) skip("this build cannot see the heap: it needs glibc");
    leave_none_behind(s, &live_allocations, "allocations");
}

void close_every_file(subject const& s) { leave_none_behind(s, &open_files, "open file descriptors"); }

void leave_the_process_alone(subject const& s) {
    surroundings const before;
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed});
    for (int i = 0; i < 3; ++i) expect_answer(run, run.tick());
    if (auto change = surroundings().change_since(before); !change.empty()) broken(std::move(change));
    run.instance().destroy();
    if (auto change = surroundings().change_since(before); !change.empty()) broken(std::move(change));
}

void leave_no_thread(subject const& s) {
    auto const before = threads();
    library const loaded(s);
    session run(loaded, s, {.seed = s.seed});
    expect_answer(run, run.tick());
    bool const has_own = threads() > before;
    run.instance().destroy();
    // A thread that was joined may still be on its way out of the kernel's list.
    for (int i = 0; i < 50 && threads() > before; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (auto const now = threads(); now > before)
        broken(fmt::format("{} of its threads still run after destroy", now - before));
    if (has_own && !s.has_flag(RATION_F_OWN_THREADS))
        broken("it starts threads, and its manifest does not say RATION_F_OWN_THREADS: a worker lets it start none");
}

void go_when_unloaded(subject const& s) {
    if (s.has_flag(RATION_F_NO_UNLOAD)) skip("its manifest has RATION_F_NO_UNLOAD");
    auto const before = threads();
    library loaded(s);
    live_once(loaded, s);
    if (threads() > before) skip(threads_are_left);
    loaded.close();
    if (::dlopen(s.path.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr)
        broken(
            "it is still loaded after dlclose: a thread_local with a destructor, a unique symbol or a handle to itself keeps it");
}

constexpr probe life_probes[] = {
    {"life/heap", "free in destroy what create and bind allocated", &give_everything_back},
    {"life/files", "close in destroy what create and bind opened", &close_every_file},
    {"life/process", "leave signals, directory, umask, locale, environment and affinity alone: they are the host's",
     &leave_the_process_alone},
    {"life/threads", "say RATION_F_OWN_THREADS, and join every thread before destroy returns", &leave_no_thread},
    {"life/unload",
     "link it with cmake/policy.map and without RTLD_NODELETE, keep no thread_local with a destructor; or say RATION_F_NO_UNLOAD",
     &go_when_unloaded},
};

}  // namespace

std::span<probe const> probes_of_life() noexcept { return life_probes; }

}  // namespace ration::conformance
