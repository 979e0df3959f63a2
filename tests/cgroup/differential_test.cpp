// SPDX-License-Identifier: BSL-1.0
// The model against the running kernel: the same calls, the same answers, errno for errno and text for text.
#include <cstdio>
#include <cstdlib>

#include "scripts_v2.hpp"
#include "support/catch.hpp"

using namespace cgroup_test;

namespace {

[[nodiscard]] std::uint32_t possible_cpus() {
    kernel_io kernel;
    std::string text;
    auto const set = kernel.read_system("/sys/devices/system/cpu/possible", text) == 0 ? cpu_set::parse(text)
                                                                                       : result<cpu_set>(error{});
    return set ? static_cast<std::uint32_t>(set->size()) : 1;
}

// The hierarchy of the script's controller on this machine, if it has the script's version.
[[nodiscard]] branch const* hierarchy_for(script const& wanted, tree const& where) {
    auto const& owner = where.owner(wanted.which);
    return owner.kind == wanted.kind ? where.branch_of(wanted.which) : nullptr;
}

[[nodiscard]] std::vector<std::string> answers(script const& wanted, machine& on, directory const& own,
                                               std::uint32_t cpus) {
    stage here(on, cpus, own);
    if (!here.prepare(wanted)) return {"(not prepared)"};
    std::vector<std::string> all;
    for (step const& each : wanted.steps) all.push_back(here.play(each));
    return all;
}

[[nodiscard]] std::string words(script const& of, std::size_t at) {
    step const& each = of.steps[at];
    constexpr char const* verbs[] = {"make", "remove", "write", "tell", "read", "enter", "use", "settle", "helper"};
    return std::string(of.name) + ", step " + std::to_string(at) + ": " + verbs[static_cast<int>(each.what)] + " " +
           each.group + "/" + each.file + " \"" + each.text + "\"";
}

// How many steps were compared.
[[nodiscard]] std::size_t compare(script const& wanted) {
    bool const v1 = wanted.kind == version::v1;
    kernel_machine kernel(!v1);
    auto kernel_tree = tree::discover(kernel.calls());
    REQUIRE(kernel_tree);
    bool const full_v2 = kernel_tree->owner(controller::cpu).kind == version::v2;
    model_machine copy(v1 ? flavour::v1 : full_v2 ? flavour::v2 : flavour::hybrid, "", possible_cpus());
    auto copy_tree = tree::discover(copy.calls());
    REQUIRE(copy_tree);
    branch const* const real = hierarchy_for(wanted, *kernel_tree);
    branch const* const modelled = hierarchy_for(wanted, *copy_tree);
    bool const at_root = std::ranges::any_of(
        wanted.steps, [](step const& each) { return std::string_view(each.group) == "/" && each.what != verb::enter; });
    if (real == nullptr || modelled == nullptr || (at_root && real->path != "/"))
        return 0;  // no such hierarchy here; or the script would write to a group that is not the root and not ours
    evacuation room_there, room_here;
    REQUIRE(room_there.prepare(*kernel_tree));
    REQUIRE(room_here.prepare(*copy_tree));
    auto const expected = answers(wanted, kernel, real->own, possible_cpus());
    auto const given = answers(wanted, copy, modelled->own, possible_cpus());
    REQUIRE(expected.size() == wanted.steps.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        INFO(words(wanted, i));
        CHECK(given[i] == expected[i]);
    }
    return expected.size();
}

[[nodiscard]] std::size_t compare_all(std::vector<script> const& scripts) {
    std::size_t steps = 0;
    for (script const& each : scripts) steps += compare(each);
    std::printf("%zu answers compared\n", steps);
    return steps;
}

}  // namespace

TEST_CASE("the model answers as the kernel does: v1") { static_cast<void>(compare_all(scripts_v1)); }

TEST_CASE("the model answers as the kernel does: core of v2") { static_cast<void>(compare_all(scripts_core)); }

TEST_CASE("the model answers as the kernel does: rules of v2") { static_cast<void>(compare_all(scripts_v2_rules)); }

TEST_CASE("the model answers as the kernel does: values of v2") { static_cast<void>(compare_all(scripts_v2_values)); }
