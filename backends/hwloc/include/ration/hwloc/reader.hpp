// SPDX-License-Identifier: BSL-1.0
/// Reads a machine with hwloc: this one, one recorded as XML, or one from a synthetic description.
/// Source: the hwloc manual. It uses only names that versions 2 (from 2.5) and 3 share. GPUs are
/// PCI devices here: the number in the name of an OS device depends on a mask, and its type changed
/// with version 3.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <hwloc.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <ration/hwloc/topology.hpp>
#include <ration/process/input_file.hpp>
#include <ration/result.hpp>

namespace ration::hwloc {

namespace detail {

/// Deleter of a topology.
struct free_topology {
    void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
/// An owned topology.
using topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, free_topology>;

/// An error of this file.
[[nodiscard]] inline error cannot_read(errc code, std::string_view what, char const* remedy, int system = 0) noexcept {
    return {
        .code = code, .operation = "read a machine's topology", .subject = what, .system = system, .remedy = remedy};
}

/// A topology that is set up to show the whole machine with its PCI devices, independently of the
/// part that this process may use.
[[nodiscard]] inline result<topology> begin_topology() noexcept {
    if (hwloc_get_api_version() >> 16 != HWLOC_API_VERSION >> 16)
        return cannot_read(
            errc::not_supported, "libhwloc",
            "the library is of another major version than the headers were: build against the one that is installed");
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0)
        return cannot_read(errc::io, "libhwloc", "hwloc cannot start: is there memory left?", errno);
    topology out(raw);
    if (hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
        hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0)
        return cannot_read(errc::not_supported, "libhwloc",
                           "this version of hwloc cannot show the whole machine: take 2.5 or later", errno);
    return out;
}

/// The numbers in a bitmap; empty for an infinite one.
[[nodiscard]] inline std::vector<std::uint32_t> numbers_in(hwloc_const_bitmap_t set) noexcept {
    std::vector<std::uint32_t> out;
    if (set == nullptr || hwloc_bitmap_weight(set) < 0) return out;  // an infinite set has no end to count to
    for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i))
        out.push_back(static_cast<std::uint32_t>(i));
    return out;
}

/// Converts a loaded topology to plain data.
class reading {
    static constexpr unsigned nvidia = 0x10de, display = 0x03;  // vendor; first byte of the class

    hwloc_topology_t from_;
    machine out_;
    std::vector<hwloc_obj_t> nodes_, gpus_, switches_;

public:
    /// `from` has to outlive the object.
    explicit reading(hwloc_topology_t from) noexcept : from_(from) {}

    /// Reads everything.
    [[nodiscard]] machine whole() noexcept {
        read_nodes();
        read_cores();
        for (hwloc_obj_t pci = nullptr; (pci = hwloc_get_next_pcidev(from_, pci)) != nullptr;)
            if (pci->attr->pcidev.vendor_id == nvidia && pci->attr->pcidev.class_id >> 8 == display) read_gpu(pci);
        read_latencies();
        read_links();
        return std::move(out_);
    }

private:
    /// The package of an object; unknown if it belongs to none alone.
    [[nodiscard]] std::uint32_t package_of(hwloc_obj_t of) const noexcept {
        for (; of != nullptr; of = of->parent)
            if (of->type == HWLOC_OBJ_PACKAGE) return of->logical_index;
        return unknown;
    }

    /// Reads the NUMA nodes.
    void read_nodes() noexcept {
        for (hwloc_obj_t node = nullptr;
             (node = hwloc_get_next_obj_by_type(from_, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
            bytes const memory{static_cast<std::int64_t>(node->attr->numanode.local_memory)};
            out_.nodes.push_back({.number = node->os_index, .package = package_of(node), .memory = memory});
            nodes_.push_back(node);
        }
        for (std::size_t i = 0; i < nodes_.size(); ++i) out_.nodes[i].kind = kind_of(nodes_[i]);
    }

    /// The kind of a node, by hwloc's subtype. For a node without CPUs, hwloc reports those of all
    /// equally near cores: more than another node has.
    [[nodiscard]] memory_kind kind_of(hwloc_obj_t node) const noexcept {
        std::string_view const subtype = node->subtype != nullptr ? node->subtype : "";
        if (subtype == "HBM" || subtype == "MCDRAM") return memory_kind::high_bandwidth;
        bool const around = std::ranges::any_of(nodes_, [node](hwloc_obj_t other) {
            return hwloc_bitmap_isincluded(other->cpuset, node->cpuset) &&
                   !hwloc_bitmap_isequal(other->cpuset, node->cpuset);
        });
        bool const plain = subtype.empty() || subtype == "DRAM";
        return plain && !around && !hwloc_bitmap_iszero(node->cpuset) ? memory_kind::normal : memory_kind::without_cpus;
    }

    /// The index of the first normal node that contains all of `set`.
    [[nodiscard]] std::uint32_t node_of(hwloc_const_bitmap_t set) const noexcept {
        for (std::uint32_t i = 0; i < nodes_.size(); ++i)
            if (out_.nodes[i].kind == memory_kind::normal && hwloc_bitmap_isincluded(set, nodes_[i]->cpuset) != 0)
                return i;
        return unknown;
    }

    /// Reads the cores; hardware threads count as cores if the machine does not show cores.
    void read_cores() noexcept {
        bool const shows_cores = hwloc_get_nbobjs_by_type(from_, HWLOC_OBJ_CORE) > 0;  // some virtual machines do not
        hwloc_obj_type_t const type = shows_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
        for (hwloc_obj_t one = nullptr; (one = hwloc_get_next_obj_by_type(from_, type, one)) != nullptr;) {
            hwloc_obj_t const cache = hwloc_get_ancestor_obj_by_type(from_, HWLOC_OBJ_L3CACHE, one);
            auto const package = package_of(one);
            int const kind = hwloc_cpukinds_get_by_cpuset(from_, one->cpuset, 0);
            out_.cores.push_back({.package = package == unknown ? 0 : package,
                                  .node = node_of(one->cpuset),
                                  .l3 = cache != nullptr ? cache->logical_index : unknown,
                                  .kind = kind > 0 ? static_cast<std::uint32_t>(kind) : 0,
                                  .pus = numbers_in(one->cpuset)});
        }
    }

    /// Reads one GPU: its PCI name, its place, and its root port.
    void read_gpu(hwloc_obj_t pci) noexcept {
        auto const& at = pci->attr->pcidev;
        std::array<char, 32> name{};
        std::snprintf(name.data(), name.size(), "%04x:%02x:%02x.%x", unsigned{at.domain}, unsigned{at.bus},
                      unsigned{at.dev}, unsigned{at.func});
        hwloc_obj_t const near = hwloc_get_non_io_ancestor_obj(from_, pci);
        hwloc_obj_t port = nullptr;
        for (hwloc_obj_t up = pci->parent; up != nullptr && up->type == HWLOC_OBJ_BRIDGE; up = up->parent)
            if (up->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI) port = up;
        auto const known = std::ranges::find(switches_, port);
        auto const number = static_cast<std::uint32_t>(known - switches_.begin());
        if (port != nullptr && known == switches_.end()) switches_.push_back(port);
        out_.gpus.push_back({.pci = name.data(),
                             .package = package_of(near),
                             .node = node_of(near->cpuset),
                             .pcie_switch = port != nullptr ? number : unknown});
        gpus_.push_back(pci);
    }

    /// Deleter of a matrix.
    struct free_distances {
        hwloc_topology_t from;
        void operator()(hwloc_distances_s* distances) const noexcept { hwloc_distances_release(from, distances); }
    };
    using distances = std::unique_ptr<hwloc_distances_s, free_distances>;

    /// The matrix with this name, if there is exactly one.
    [[nodiscard]] distances find_distances(char const* name) const noexcept {
        unsigned count = 1;
        hwloc_distances_s* found = nullptr;
        bool const there =
            hwloc_distances_get_by_name(from_, name, &count, &found, 0) == 0 && count >= 1 && found != nullptr;
        return {there ? found : nullptr, free_distances{from_}};
    }

    /// Reads the latencies between nodes, if the firmware reports them.
    void read_latencies() noexcept {
        auto const from = find_distances("NUMALatency");
        if (!from || from->nbobjs != nodes_.size()) return;
        std::vector<std::size_t> place;
        place.reserve(nodes_.size());
        for (hwloc_obj_t const node : nodes_)
            place.push_back(
                static_cast<std::size_t>(std::find(from->objs, from->objs + from->nbobjs, node) - from->objs));
        if (std::ranges::find(place, from->nbobjs) != place.end()) return;
        for (std::size_t const i : place)
            for (std::size_t const j : place) {
                std::uint64_t const value = from->values[i * from->nbobjs + j];
                // A byte in the table of the firmware
                out_.latency.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 255)));
            }
    }

    /// The GPU to which an object of the matrix belongs: the parent of the OS device `nvmlN`, or
    /// the object itself.
    [[nodiscard]] std::uint32_t gpu_of(hwloc_obj_t obj) const noexcept {
        while (obj != nullptr && obj->type == HWLOC_OBJ_OS_DEVICE) obj = obj->parent;
        auto const found = std::ranges::find(gpus_, obj);
        return found == gpus_.end() ? unknown : static_cast<std::uint32_t>(found - gpus_.begin());
    }

    /// Reads the bandwidth between GPUs: over their own links, and through a switch the weaker of
    /// both. hwloc shows each port of a switch as a switch until they are merged. Its transitive
    /// closure is not used, since it removes links without a switch (2.9). The diagonal is
    /// synthetic and left out.
    void read_links() noexcept {
        auto const from = find_distances("NVLinkBandwidth");
        if (!from) return;
        // Without a switch it fails and has no effect.
        hwloc_distances_transform(from_, from.get(), HWLOC_DISTANCES_TRANSFORM_MERGE_SWITCH_PORTS, nullptr, 0);
        std::size_t const n = from->nbobjs, count = gpus_.size();
        std::vector<std::uint32_t> owner(n);
        for (std::size_t i = 0; i < n; ++i) owner[i] = gpu_of(from->objs[i]);
        auto const between = [&](std::size_t i, std::size_t j) -> std::uint64_t {
            return std::min(from->values[i * n + j], from->values[j * n + i]);
        };
        out_.nvlink.assign(count * count, 0);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                if (owner[i] == owner[j] || owner[i] == unknown || owner[j] == unknown) continue;
                std::uint64_t& link = out_.nvlink[owner[i] * count + owner[j]];
                link = between(i, j);
                for (std::size_t k = 0; k < n; ++k)
                    if (owner[k] == unknown) link += std::min(between(i, k), between(k, j));
            }
    }
};

/// Loads and validates a topology.
[[nodiscard]] inline result<machine> load(topology with, std::string_view what, char const* remedy,
                                          bool own = false) noexcept {
    errno = 0;
    if (hwloc_topology_load(with.get()) != 0)
        return cannot_read(own ? errc::io : errc::invalid_value, what, remedy, errno);
    if (own && hwloc_topology_is_thissystem(with.get()) == 0)
        return cannot_read(errc::conflict, what,
                           "hwloc shows another machine: unset HWLOC_XMLFILE, HWLOC_SYNTHETIC and HWLOC_FSROOT");
    machine read = reading(with.get()).whole();
    if (auto const sound = check(read); !sound) return sound.failure();
    return in_order(std::move(read));
}

/// The number of CPUs in a synthetic description, at most `too_many`; empty if it is malformed.
/// hwloc accepts any number, also hexadecimal and negative ones, and then tries to build it; here a
/// count has plain digits. Text in brackets does not count.
[[nodiscard]] inline std::optional<std::uint64_t> cpus_of(std::string_view description,
                                                          std::uint64_t too_many) noexcept {
    std::uint64_t cpus = 1;
    int depth = 0;
    std::string item;
    bool sound = true;
    auto const take = [&] {
        if (item.empty()) return;
        // npos + 1 is 0: a number alone
        std::string_view const number = std::string_view(item).substr(item.find(':') + 1);
        std::uint64_t count = 0;
        auto const [end, failed] = std::from_chars(number.data(), number.data() + number.size(), count);
        sound = sound && end == number.data() + number.size() && failed != std::errc::invalid_argument;
        bool const is_more = failed == std::errc::result_out_of_range || (count > 0 && cpus > too_many / count);
        cpus = is_more ? too_many : cpus * count;
        item.clear();
    };
    for (char const c : description) {
        depth += c == '(' || c == '[' ? 1 : 0;
        if (c == ' ' && depth == 0) take();
        if (c != ' ' && depth == 0) item += c;
        depth -= c == ')' || c == ']' ? 1 : 0;
        sound = sound && depth >= 0;
    }
    take();
    return sound && depth == 0 ? std::optional(std::min(cpus, too_many)) : std::nullopt;
}

/// True if each object that is not a device has its four sets, in the form of sets. Without them,
/// hwloc (2.9) continues and crashes.
[[nodiscard]] inline bool has_all_sets(std::string_view xml) noexcept {
    static constexpr std::array<std::string_view, 4> devices{"Bridge", "PCIDev", "OSDev", "Misc"};
    static constexpr std::array<std::string_view, 4> sets{" cpuset=\"0x", " complete_cpuset=\"0x", " nodeset=\"0x",
                                                          " complete_nodeset=\"0x"};
    for (auto at = xml.find("<object"); at != std::string_view::npos; at = xml.find("<object", at + 1)) {
        std::string_view const tag = xml.substr(at, xml.find('>', at) - at);
        auto const type = tag.find(" type=\"");
        if (type == std::string_view::npos) return false;
        auto const is_type = [&](std::string_view name) { return tag.substr(type + 7).starts_with(name); };
        auto const has = [&](std::string_view set) {
            auto const from = tag.find(set), end = tag.find_first_not_of("0123456789abcdefx,.", from + set.size());
            return from != std::string_view::npos && end != std::string_view::npos && tag[end] == '"';
        };
        if (!std::ranges::any_of(devices, is_type) && !std::ranges::all_of(sets, has)) return false;
    }
    return true;
}

}  // namespace detail

/// Reads this machine entirely, including CPUs that this process may not use. Errors: `conflict`
/// (environment variables make hwloc show another machine), `not_supported`, `io`. It takes
/// milliseconds, or tens with many devices; do it once.
[[nodiscard]] inline result<machine> read_this_machine() noexcept {
    auto started = detail::begin_topology();
    if (!started) return started.failure();
    return detail::load(std::move(*started), "this machine", "hwloc cannot read it: check the output of lstopo", true);
}

/// Reads a machine that `lstopo machine.xml` wrote. Errors: `not_found` (no such file),
/// `out_of_range` (more than 16 MiB), `invalid_value` (not a regular file, or not a machine; hwloc
/// finds most errors only when it loads). hwloc trusts its input too much: objects without sets,
/// which crash it, are refused before, but a file from an unknown source may cause other crashes.
[[nodiscard]] inline result<machine> read_xml(std::filesystem::path const& file) noexcept {
    auto const text = process::read_input(file.native(), {.most_bytes = 16U << 20U});
    if (!text && text.failure().code == errc::out_of_range)
        return detail::cannot_read(errc::out_of_range, file.native(), "a machine's description has 16 MiB at most");
    if (!text)
        return detail::cannot_read(text.failure().code, file.native(),
                                   "name a file that lstopo wrote: lstopo machine.xml", text.failure().system);
    static constexpr char const* remedy =
        "this is not a machine that this version of hwloc reads: write it again with lstopo machine.xml";
    auto started = detail::begin_topology();
    if (!started) return started.failure();
    bool const is_whole = detail::has_all_sets(*text);
    if (!is_whole ||
        hwloc_topology_set_xmlbuffer(started->get(), text->c_str(), static_cast<int>(text->size()) + 1) != 0)
        return detail::cannot_read(errc::invalid_value, file.native(), remedy, errno);
    return detail::load(std::move(*started), file.native(), remedy);
}

/// A machine from a synthetic description, such as `Package:2 [NUMANode(memory=64GiB)] L3Cache:2
/// Core:4 PU:2`: without devices and latencies. Errors: `out_of_range` (more than 65536 CPUs),
/// `invalid_value`.
[[nodiscard]] inline result<machine> read_synthetic(std::string const& description) noexcept {
    static constexpr std::uint64_t most_cpus = 65'536;
    static constexpr char const* remedy =
        "write levels with their counts: Package:2 [NUMANode(memory=64GiB)] L3Cache:2 Core:4 PU:2";
    auto const cpus = detail::cpus_of(description, most_cpus + 1);
    if (!cpus) return detail::cannot_read(errc::invalid_value, description, remedy);
    if (*cpus > most_cpus)
        return detail::cannot_read(errc::out_of_range, description, "a machine has 65536 CPUs at most");
    auto started = detail::begin_topology();
    if (!started) return started.failure();
    if (hwloc_topology_set_synthetic(started->get(), description.c_str()) != 0)
        return detail::cannot_read(errc::invalid_value, description, remedy, errno);
    return detail::load(std::move(*started), description, remedy);
}

}  // namespace ration::hwloc
