// SPDX-License-Identifier: BSL-1.0
/// `io` on a machine in memory: v1, hybrid or v2, with the kernel's formats, clamps, rules and errors. Time is the
/// model's own and passes only in `sleep` and `wait_change`. The differential test holds it against a real kernel.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/cgroup/io.hpp>
#include <ration/cgroup/names.hpp>

#include "support/cgroup/model_devices.hpp"
#include "support/cgroup/model_v2.hpp"

namespace ration::cgroup {

/// Which hierarchies the machine has. `v1`: every controller mounted on its own. `hybrid`: the same and a v2 hierarchy
/// without controllers. `v2`: one hierarchy with all of them. None has `dmem`, as few kernels do: see `add_dmem`.
enum class flavour : std::uint8_t { v1, hybrid, v2 };

[[nodiscard]] constexpr std::string_view name_of(flavour which) noexcept {
    return which == flavour::v1 ? "v1" : which == flavour::hybrid ? "hybrid" : "v2";
}

/// One thread at a time.
class model final : public io {
    modelled::world all_;
    modelled::handles opened_;

public:
    /// Our own process sits in the group `own` of each hierarchy ("" is the root), alone.
    explicit model(flavour which, std::uint32_t cpus = 2, std::string_view own = "") noexcept {
        all_.cpus = cpus;
        if (which != flavour::v2) {
            unsigned number = 0;
            for (controller const each : all_controllers) {
                if (each != controller::core && each != controller::dmem) {
                    controller_set set;
                    set.insert(each);
                    all_.mount(++number, version::v1, set, "/sys/fs/cgroup/" + std::string(name_of(each)));
                }
            }
        }
        if (which != flavour::v1) {
            controller_set set;
            for (controller const each : all_controllers)
                if (which == flavour::v2 && is_enabled_by_parent(each) && each != controller::dmem) set.insert(each);
            all_.mount(0, version::v2, set, which == flavour::v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified");
        }
        auto& self = all_.processes[all_.self];
        self.started = 4242;
        for (auto const& each : all_.hierarchies)
            self.where.push_back(own.empty() ? each->root.get() : all_.add_own(*each->root, own));
    }

    /// Gives the machine a v1 hierarchy for `devices`, in whose root everybody is.
    void mount_devices() noexcept {
        all_.mount(static_cast<unsigned>(all_.hierarchies.size() + 10), version::v1, {}, "/sys/fs/cgroup/devices");
        all_.hierarchies.back()->other = "devices";
        for (auto& [pid, each] : all_.processes) each.where.push_back(all_.hierarchies.back()->root.get());
    }

    /// Gives the machine's v2 hierarchy the controller `dmem`, handed down to our own group, with a region of
    /// `capacity` bytes.
    void add_dmem(std::string_view region, std::int64_t capacity) noexcept {
        for (auto& each : all_.hierarchies)
            if (each->kind == version::v2) each->controllers.insert(controller::dmem);
        for (modelled::node* place : all_.processes.at(all_.self).where)
            for (; place->parent != nullptr && place->of->kind == version::v2; place = place->parent)
                place->parent->handed_down.insert(controller::dmem);
        all_.device_memory.emplace(region, capacity);
    }

    /// The state, for tests that want to look at or change what no call can.
    [[nodiscard]] modelled::world& machine() noexcept { return all_; }

    /// A process that sits where we do. `memory` is what it uses and will not give back.
    int spawn(std::int64_t memory = 0) noexcept {
        int const pid = all_.processes.rbegin()->first + 1;
        all_.processes[pid] = {.started = 5000,
                               .state = 'S',
                               .memory = memory,
                               .kill_pending = false,
                               .where = all_.processes.at(all_.self).where};
        return pid;
    }

    int open_directory(char const* path, int& directory) noexcept override {
        for (auto const& each : all_.hierarchies) {
            std::string_view rest = path;
            if (!rest.starts_with(each->mount_point)) continue;
            rest.remove_prefix(each->mount_point.size());
            auto at = each->root;
            while (at && !rest.empty()) {
                rest.remove_prefix(1);
                auto const end = std::min(rest.find('/'), rest.size());
                auto const found = at->children.find(std::string(rest.substr(0, end)));
                at = found == at->children.end() ? nullptr : found->second;
                rest.remove_prefix(end);
            }
            if (!at) continue;
            directory = opened_.add(at);
            return 0;
        }
        return ENOENT;
    }

    int open_child(int parent, char const* name, int& directory) noexcept override {
        auto const& above = opened_.at(parent);
        auto const found = above.children.find(name);
        if (found == above.children.end()) return ENOENT;
        directory = opened_.add(found->second);
        return 0;
    }

    void close(int directory) noexcept override { opened_.close(directory); }

    int identify(int directory, identity& who) noexcept override {
        who = {.kind = opened_.at(directory).of->kind, .inode = opened_.at(directory).inode};
        return 0;
    }
    int native(int) noexcept override { return -1; }

    int read(int directory, char const* name, std::string& into) noexcept override {
        auto const* const found = find_file(opened_.at(directory), name);
        into.clear();
        return found == nullptr         ? ENOENT
               : found->read == nullptr ? EINVAL
                                        : found->read(all_, opened_.at(directory), into);
    }

    int write(int directory, char const* name, std::string_view text) noexcept override {
        auto const* const found = find_file(opened_.at(directory), name);
        if (found == nullptr) return ENOENT;
        return text.empty() || found->write == nullptr ? EINVAL : found->write(all_, opened_.at(directory), text);
    }

    int make(int parent, char const* name) noexcept override {
        auto& above = opened_.at(parent);
        std::string_view const wanted = name;
        if (above.removed) return ENOENT;
        if (above.children.contains(name) || find_file(above, name) != nullptr || wanted == "." || wanted == "..")
            return EEXIST;
        if (wanted.find('\n') != std::string_view::npos) return EINVAL;
        if (wanted.size() > 255) return ENAMETOOLONG;
        if (!modelled::world::has_room(above)) return EAGAIN;
        all_.add(above, wanted);
        return 0;
    }

    int remove(int parent, char const* name) noexcept override {
        auto& above = opened_.at(parent);
        auto const found = above.children.find(name);
        if (found == above.children.end()) return find_file(above, name) != nullptr ? ENOTDIR : ENOENT;
        if (!found->second->children.empty() || !all_.members(*found->second).empty()) return EBUSY;
        found->second->removed = true;
        above.children.erase(found);
        return 0;
    }

    int list(int directory, std::vector<std::string>& children) noexcept override {
        children.clear();
        if (opened_.at(directory).removed) return ENOENT;
        for (auto const& [name, child] : opened_.at(directory).children) children.push_back(name);
        return 0;
    }

    int signal_members(int directory, int number, std::size_t& reached) noexcept override {
        std::string unused;
        reached = 0;
        if (int const failed = read(directory, "cgroup.procs", unused)) return failed;
        for (int const pid : all_.members(opened_.at(directory))) {
            ++reached;
            if (number == SIGKILL || number == SIGTERM) all_.kill(pid);
        }
        return 0;
    }

    int wait_change(int directory, char const* name, std::string_view known, nanoseconds at_most) noexcept override {
        nanoseconds const deadline = all_.clock + at_most;
        for (;;) {
            std::string text;
            if (int const failed = read(directory, name, text)) return failed;
            if (text != known) return 0;
            if (all_.clock >= deadline) return ETIMEDOUT;
            all_.clock = std::min(deadline, all_.clock + milliseconds(1));
        }
    }

    int read_system(char const* path, std::string& into) noexcept override;

    int read_link(char const* path, std::string& into) noexcept override {
        into = "pid:[4026531836]";
        return std::string_view(path) == "/proc/self/ns/pid" ? 0 : ENOENT;
    }

    int self() noexcept override { return all_.self; }
    nanoseconds now() noexcept override { return all_.clock; }
    void sleep(nanoseconds duration) noexcept override { all_.clock = all_.clock + duration; }

private:
    [[nodiscard]] modelled::file const* find_file(modelled::node const& where, std::string_view name) const noexcept {
        auto const search = [&](auto const& table) -> modelled::file const* {
            for (auto const& each : table) {
                bool const here = each.kind == where.of->kind && (each.on_root || !where.is_root()) &&
                                  (each.needs == controller::core || modelled::world::is_enabled(where, each.needs));
                if (here && each.name == name) return &each;
            }
            return nullptr;
        };
        if (where.removed) return nullptr;
        auto const* found = where.of->other == "devices" ? search(modelled::device_files) : nullptr;
        found = found != nullptr ? found : search(modelled::core_files);
        found = found != nullptr ? found : search(modelled::v1_files);
        return found != nullptr ? found : search(modelled::v2_files);
    }

    [[nodiscard]] std::string mountinfo() const noexcept {
        std::string text = "22 1 0:21 / /proc rw - proc proc rw\n";
        for (auto const& each : all_.hierarchies) {
            bool const v2 = each->kind == version::v2;
            std::string options = "rw";
            for (controller const which : all_controllers)
                options += !v2 && each->controllers.contains(which) ? "," + std::string(name_of(which)) : "";
            options += each->other.empty() ? "" : "," + each->other;
            text += "31 1 0:30 / " + each->mount_point + " rw,relatime - " + (v2 ? "cgroup2" : "cgroup") + " none " +
                    options + "\n";
        }
        return text;
    }

    [[nodiscard]] static std::string memberships(modelled::process const& who) noexcept {
        std::string text;
        for (modelled::node const* const place : who.where) {
            std::string names = place->of->other;
            for (controller const which : all_controllers)
                if (place->of->kind == version::v1 && place->of->controllers.contains(which))
                    names.append(names.empty() ? "" : ",").append(name_of(which));
            text += std::to_string(place->of->number) + ":" + names + ":" + place->path() +
                    (place->removed ? " (deleted)" : "") + "\n";
        }
        return text;
    }
};

inline int model::read_system(char const* path, std::string& into) noexcept {
    std::string_view rest = path;
    into.clear();
    if (!rest.starts_with("/proc/")) return ENOENT;
    rest.remove_prefix(6);
    auto const slash = std::min(rest.find('/'), rest.size() - 1);
    auto const who = rest.substr(0, slash), what = rest.substr(slash + 1);
    int pid = all_.self;
    if (who != "self" && !detail::parse_whole(who, pid)) return ENOENT;
    auto const found = all_.processes.find(pid);
    if (found == all_.processes.end()) return ENOENT;
    if (what == "mountinfo") {
        into = mountinfo();
    } else if (what == "cgroup") {
        into = memberships(found->second);
    } else if (what == "stat") {
        into = std::to_string(pid) + " (job) " + found->second.state + " 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " +
               std::to_string(found->second.started) + " 0 0\n";
    } else if (what == "status") {
        into = "Name:\tjob\nCpus_allowed_list:\t" +
               all_.effective(*all_.hierarchies[0]->root, &modelled::values::cpus, all_.cpus).list() + "\n";
    } else {
        return ENOENT;
    }
    return 0;
}

}  // namespace ration::cgroup
