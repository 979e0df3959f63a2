// SPDX-License-Identifier: BSL-1.0
/// The state behind the model: hierarchies, groups, processes, and what the kernel's rules say about them.
#pragma once

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ration/cgroup/detail/controller.hpp>
#include <ration/cgroup/detail/cpu_set.hpp>
#include <ration/cgroup/io.hpp>
#include <ration/resource.hpp>

namespace ration::cgroup::modelled {

struct hierarchy;

/// Values of one group. Each is used only where the group's hierarchy has the controller.
struct values {
    std::int64_t quota = -1, period = 100'000, burst = 0, shares = 1024, weight = 100;
    cpu_set cpus, mems;  ///< as asked for; on v2 empty means the parent's
    std::int64_t memory = unlimited, memory_and_swap = unlimited, memory_high = unlimited;
    std::int64_t pids = unlimited;
    std::int64_t depth = unlimited, descendants = unlimited;  ///< of groups below
};

struct node {
    hierarchy* of = nullptr;
    node* parent = nullptr;
    std::string name;
    std::uint64_t inode = 0;
    bool removed = false;
    std::map<std::string, std::shared_ptr<node>> children;
    values limits;
    controller_set handed_down;  ///< cgroup.subtree_control
    bool thread = false;         ///< v2: cgroup.type is `threaded`
    bool ordered_to_freeze = false;
    nanoseconds freezing_since{};
    bool devices_by_default = true;                     ///< v1 devices: all but the exceptions, or only these
    std::vector<std::string> device_exceptions;         ///< as written
    std::map<std::string, std::int64_t> device_memory;  ///< dmem.max by region, where there is a limit
    /// How often memory ran out at its limit; processes killed for that
    std::int64_t shortages = 0, oom_kills = 0;

    [[nodiscard]] bool is_root() const noexcept { return parent == nullptr; }
    [[nodiscard]] std::string path() const noexcept {
        return is_root() ? "/" : (parent->is_root() ? "" : parent->path()) + "/" + name;
    }
};

struct hierarchy {
    unsigned number = 0;  ///< 0 is v2
    version kind = version::none;
    controller_set controllers;
    std::string mount_point;
    std::shared_ptr<node> root;
    std::string other{};  ///< v1: a controller that the backend does not use for jobs' groups (`devices`)
};

struct process {
    std::uint64_t started = 0;
    char state = 'S';
    std::int64_t memory = 0;    ///< cannot be reclaimed
    bool kill_pending = false;  ///< v1: SIGKILL waits for the thaw
    std::vector<node*> where;   ///< one for each hierarchy
};

/// The groups that are held open, by handle.
class handles {
    std::vector<std::shared_ptr<node>> opened_;  // index = handle; empty once it is closed

public:
    [[nodiscard]] node& at(int handle) const noexcept { return *opened_[static_cast<std::size_t>(handle)]; }

    [[nodiscard]] int add(std::shared_ptr<node> const& found) noexcept {
        opened_.push_back(found);
        return static_cast<int>(opened_.size()) - 1;
    }

    void close(int handle) noexcept { opened_[static_cast<std::size_t>(handle)].reset(); }
};

/// The whole machine.
struct world {
    std::vector<std::unique_ptr<hierarchy>> hierarchies;
    std::map<int, process> processes;
    static constexpr std::uint32_t most_nodes = 1024;  ///< that the kernel is built for
    std::uint32_t cpus = 2, nodes = 1;
    int self = 1000;
    std::uint64_t next_inode = 2;
    nanoseconds clock{1'000'000'000};
    nanoseconds freeze_latency = milliseconds(2);
    std::map<std::string, std::int64_t, std::less<>> device_memory;  ///< dmem: capacity by region
    std::map<node const*, std::int64_t> reclaimable;                 ///< page cache of a group, for tests

    /// A hierarchy with only its root.
    void mount(unsigned number, version kind, controller_set set, std::string point) noexcept {
        auto made = std::make_unique<hierarchy>();
        *made = {.number = number,
                 .kind = kind,
                 .controllers = set,
                 .mount_point = std::move(point),
                 .root = std::make_shared<node>(),
                 .other = {}};
        made->root->of = made.get();
        made->root->inode = next_inode++;
        hierarchies.push_back(std::move(made));
    }

    std::shared_ptr<node> add(node& above, std::string_view name) noexcept {
        auto made = std::make_shared<node>();
        made->of = above.of;
        made->parent = &above;
        made->name = name;
        made->inode = next_inode++;
        made->devices_by_default = above.devices_by_default;
        made->device_exceptions = above.device_exceptions;
        above.children[made->name] = made;
        return made;
    }

    /// As a login or a service manager leaves it: with every controller handed down and a usable cpuset.
    node* add_own(node& root, std::string_view name) noexcept {
        root.handed_down = root.of->kind == version::v2 ? root.of->controllers : controller_set{};
        auto const made = add(root, name);
        if (root.of->kind == version::v1) {
            made->limits.cpus = effective(root, &values::cpus, cpus);
            made->limits.mems = effective(root, &values::mems, nodes);
        }
        return made.get();
    }

    [[nodiscard]] static bool has(node const& where, controller which) noexcept {
        return where.of->controllers.contains(which);
    }

    /// Whether the controller's files are in this group.
    [[nodiscard]] static bool is_enabled(node const& where, controller which) noexcept {
        return has(where, which) &&
               (where.of->kind == version::v1 || where.is_root() || where.parent->handed_down.contains(which));
    }

    [[nodiscard]] std::vector<int> members(node const& where) const noexcept {
        std::vector<int> pids;
        for (auto const& [pid, each] : processes)
            if (each.state != 'Z' && std::ranges::find(each.where, &where) != each.where.end()) pids.push_back(pid);
        return pids;
    }

    /// With everything below.
    template <class Visit>
    static void for_tree(node& top, Visit visit) noexcept {
        visit(top);
        for (auto& [name, child] : top.children) for_tree(*child, visit);
    }
    [[nodiscard]] std::vector<int> members_below(node& top) const noexcept {
        std::vector<int> all;
        for_tree(top, [&](node& each) {
            auto const some = members(each);
            all.insert(all.end(), some.begin(), some.end());
        });
        return all;
    }

    /// Whether `parent` and the groups above it allow one more group below.
    [[nodiscard]] static bool has_room(node& parent) noexcept {
        std::int64_t level = 1;
        for (node* each = &parent; each != nullptr; each = each->parent, ++level) {
            std::int64_t below = -1;
            for_tree(*each, [&below](node&) { ++below; });
            if (below >= each->limits.descendants || level > each->limits.depth) return false;
        }
        return true;
    }

    [[nodiscard]] static bool frozen_by_any(node const& where) noexcept {
        return where.ordered_to_freeze || (!where.is_root() && frozen_by_any(*where.parent));
    }
    /// Whether this group or one above was ordered to freeze, `freeze_latency` ago or earlier.
    [[nodiscard]] bool is_frozen(node const& where) const noexcept {
        for (node const* each = &where; each != nullptr; each = each->parent)
            if (each->ordered_to_freeze && clock - each->freezing_since >= freeze_latency) return true;
        return false;
    }

    void die(int pid) noexcept { processes.erase(pid); }

    void kill(int pid) noexcept {
        process& victim = processes.at(pid);
        bool const held = std::ranges::any_of(
            victim.where, [](node const* each) { return each->of->kind == version::v1 && frozen_by_any(*each); });
        if (held)
            victim.kill_pending = true;
        else
            die(pid);
    }

    void deliver_pending() noexcept {
        std::vector<int> ready;
        for (auto const& [pid, each] : processes)
            if (each.kill_pending) ready.push_back(pid);
        for (int const pid : ready) kill(pid);
    }

    [[nodiscard]] std::int64_t unreclaimable(node& top) const noexcept {
        std::int64_t sum = 0;
        for (int const pid : members_below(top)) sum += processes.at(pid).memory;
        return sum;
    }
    [[nodiscard]] std::int64_t droppable(node const& where) const noexcept {
        auto const found = reclaimable.find(&where);
        return found == reclaimable.end() ? 0 : found->second;
    }
    [[nodiscard]] std::int64_t usage(node& top) const noexcept { return unreclaimable(top) + droppable(top); }

    /// The process comes to use so much that it cannot be reclaimed. It is killed where a group has less.
    void use_memory(int pid, std::int64_t amount) noexcept {
        processes.at(pid).memory = amount;
        for (node* const where : std::vector<node*>(processes.at(pid).where)) {
            for (node* each = where; each != nullptr && has(*where, controller::memory); each = each->parent)
                if (unreclaimable(*each) > each->limits.memory) return kill_for_memory(*each, *where, pid);
        }
    }

    /// `at`: the group whose limit was reached. On v2 the groups above count along.
    void kill_for_memory(node& at, node& victim, int pid) noexcept {
        bool const v2 = at.of->kind == version::v2;
        for (node* each = &at; each != nullptr && (v2 || each == &at); each = each->parent) ++each->shortages;
        for (node* each = &victim; each != nullptr && (v2 || each == &victim); each = each->parent) ++each->oom_kills;
        die(pid);
    }

    /// The group of a process in the hierarchy that counts memory; nullptr where none does.
    [[nodiscard]] node* memory_node(int pid) const noexcept {
        auto const& places = processes.at(pid).where;
        auto const at = std::ranges::find_if(places, [](node const* each) { return has(*each, controller::memory); });
        return at == places.end() ? nullptr : *at;
    }

    /// v2: what a group can really use: what it asked for, less what is not its parent's; the parent's if that is
    /// nothing.
    [[nodiscard]] cpu_set effective(node const& where, cpu_set values::* which, std::uint32_t count) const noexcept {
        if (where.is_root()) {
            cpu_set all;
            for (std::uint32_t i = 0; i < count; ++i) all.insert(i);
            return all;
        }
        cpu_set const above = effective(*where.parent, which, count);
        cpu_set common;
        for (std::uint32_t i = 0; i < count; ++i)
            if ((where.limits.*which).contains(i) && above.contains(i)) common.insert(i);
        return common.empty() ? above : common;
    }
};

}  // namespace ration::cgroup::modelled
