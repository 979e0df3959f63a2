// SPDX-License-Identifier: BSL-1.0
// Texts of the kernel: cgroup files, mountinfo, /proc. The first letter of an input chooses the file; what has a
// printed form reads the same from it.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include <ration/cgroup/detail/cpu_set.hpp>
#include <ration/cgroup/detail/pids.hpp>
#include <ration/cgroup/detail/proc_text.hpp>
#include <ration/cgroup/detail/values.hpp>
#include <ration/cgroup/dmem.hpp>
#include <ration/cgroup/names.hpp>
#include <ration/process/proc.hpp>

#include "run/spare_cpu.hpp"
#include "support.hpp"

namespace cgroup = ration::cgroup;
namespace process = ration::process;
using fuzz::require;

namespace {

void read_mounts(std::string_view text) {
    for (auto const& mount : cgroup::parse_mounts(text)) {
        require(mount.kind != cgroup::version::none, "a mount has no version");
        require(mount.root.size() + mount.point.size() <= text.size(), "a path is longer than its text");
        require((mount.kind == cgroup::version::v1) == !mount.controllers.empty(), "controllers are a matter of v1");
        auto const inside = cgroup::directory_of(mount, mount.root);
        require(mount.root.starts_with("/..") || !inside || inside->starts_with(mount.point),
                "a group lies outside of its mount");
    }
}

void read_memberships(std::string_view text) {
    for (auto const& entry : cgroup::parse_memberships(text)) {
        std::string controllers;
        for (std::size_t i = 0; i < entry.controllers.size(); ++i)
            controllers += (i > 0 ? "," : "") + entry.controllers[i];
        auto const line = std::to_string(entry.hierarchy) + ":" + controllers + ":" + entry.path +
                          (entry.deleted ? " (deleted)" : "");
        auto const again = cgroup::parse_memberships(line);
        require(again.size() == 1 && again[0].path == entry.path && again[0].controllers == entry.controllers,
                "a membership reads differently after it was printed");
    }
}

void read_cpus(std::string_view text) {
    auto const set = cgroup::cpu_set::parse(text);
    if (!set) return require(*set.failure().remedy != '\0', "an error has no remedy");
    require(!set->contains(cgroup::cpu_set::limit), "a processor is beyond the limit");
    auto const again = cgroup::cpu_set::parse(set->list());
    require(again && *again == *set, "a list of processors reads differently after it was printed");
    require(set->lowest(3).within(*set) && set->lowest(3).size() == std::min<std::size_t>(set->size(), 3),
            "the lowest three are others");
}

void read_pids(std::string_view text) {
    auto const pids = cgroup::parse_pids(text);
    require(std::ranges::adjacent_find(pids, std::greater_equal{}) == pids.end(), "process numbers do not ascend");
    require(pids.empty() || pids.front() >= 0, "a process number is negative");
}

void read_values(std::string_view text) {
    auto const amount = cgroup::amount_of(text);
    require(!amount || cgroup::same_value(text, text), "a value differs from itself");
    require(!amount || *amount == ration::unlimited || cgroup::amount_of(std::to_string(*amount)) == amount,
            "an amount reads differently after it was printed");
    for (char const* key : {"populated", "nr_throttled", "active_file", "oom_kill"}) {
        auto const number = cgroup::keyed_number(text, key);
        auto const line = std::string(key) + " " + std::to_string(number.value_or(0)) + "\n";
        require(!number || cgroup::keyed_number(line + std::string(text), key) == number,
                "the first line of a key does not count");
    }
}

void read_dmem(std::string_view text) {
    auto const regions = cgroup::parse_dmem(text);
    if (!regions) return require(*regions.failure().remedy != '\0', "an error has no remedy");
    std::string printed;
    for (auto const& region : *regions) {
        require(region.amount >= 0 && !region.name.empty(), "a region has a name and an amount");
        require(cgroup::pci_of(region.name).size() <= region.name.size(),
                "an address is longer than the name that holds it");
        printed +=
            region.name + " " + (region.amount == ration::unlimited ? "max" : std::to_string(region.amount)) + "\n";
    }
    auto const again = cgroup::parse_dmem(printed);
    require(again && *again == *regions, "regions read differently after they were printed");
}

void read_run_name(std::string_view text) {
    auto const run = cgroup::parse_run_name(text);
    static_cast<void>(cgroup::namespace_number(text));
    if (!run) return;
    require(run->who.pid > 0 && static_cast<bool>(cgroup::check_name(run->name)), "a run has a name and an owner");
    require(cgroup::parse_run_name(cgroup::group_name_of(*run)) == run,
            "the name of a run reads differently after it was printed");
}

[[nodiscard]] std::int64_t number(std::string_view text) {
    return static_cast<std::int64_t>(std::strtoull(std::string(text).c_str(), nullptr, 10));
}

void read_stat(std::string_view text) {
    auto const found = process::parse_stat(text);
    if (!found) return;
    auto const fields = text.substr(text.rfind(')') + 1);
    auto const printed = std::to_string(found->pid) + " (any) name)" + std::string(fields);
    require(process::parse_stat(printed) == found, "the fields of a process depend on its name");
    auto const words = fuzz::split(fields, ' ');  // the first one is empty, the second one the state
    bool const is_usual = std::ranges::count(words, "") == 1 && fields.find('\n') == fields.npos;
    require(!is_usual || (words.size() > 20 && number(words[2]) == found->parent &&
                          number(words[20]) == static_cast<std::int64_t>(found->start_time)),
            "a process has another parent or start than its fields");
}

void read_proc_stat(std::string_view text) {
    process::cpu_set cpus;
    for (unsigned cpu = 0; cpu < 4; ++cpu) cpus.insert(cpu);
    require(ration::program::spare_ticks(text, cpus, true) >= 0, "processors were idle for less than nothing");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input in(data, size);
    char const file = in.take<char>();
    switch (file) {
        case 'm': read_mounts(in.rest()); break;
        case 'c': read_memberships(in.rest()); break;
        case 'l': read_cpus(in.rest()); break;
        case 'p': read_pids(in.rest()); break;
        case 'v': read_values(in.rest()); break;
        case 'd': read_dmem(in.rest()); break;
        case 'r': read_run_name(in.rest()); break;
        case 's': read_stat(in.rest()); break;
        case 'i': read_proc_stat(in.rest()); break;
        default: break;
    }
    return 0;
}
