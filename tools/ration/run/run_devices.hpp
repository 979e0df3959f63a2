// SPDX-License-Identifier: BSL-1.0
/// The devices of a run: their names, their memory, and which of them are cordoned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ration/units.hpp>

namespace ration::program {

/// Devices of a run, by their numbers.
using device_list = std::vector<std::uint32_t>;

class run_devices {
    struct row {
        std::string name;
        bytes memory{};
        bool cordoned = false;
    };
    std::vector<row> rows_;
    std::string whole_;  // the GPU of which all devices are shares

public:
    run_devices() = default;
    explicit run_devices(std::span<std::string const> names) {
        for (auto const& name : names) rows_.push_back({name, {}, false});
    }

    [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
    [[nodiscard]] std::string const& name(std::uint32_t device) const noexcept { return rows_[device].name; }
    /// The number of a device. An unknown name gets a number, and is cordoned permanently: a job of an earlier run may
    /// hold a device that this machine no longer has.
    [[nodiscard]] std::uint32_t number(std::string const& name);
    /// Their names, comma-separated.
    [[nodiscard]] std::string names(std::span<std::uint32_t const> devices) const;

    /// From now on all devices are shares of this GPU, and jobs see only it. Empty: they are whole devices.
    void are_shares_of(std::string whole) { whole_ = std::move(whole); }
    [[nodiscard]] bool has_shares() const noexcept { return !whole_.empty(); }
    /// The names that a job with these devices sees, comma-separated.
    [[nodiscard]] std::string seen(std::span<std::uint32_t const> devices) const {
        return has_shares() && !devices.empty() ? whole_ : names(devices);
    }
    /// All shares of this device, or it alone.
    [[nodiscard]] device_list parts_of(std::string const& device);
    /// The number of ranks that a job starts on these devices: one for each device that it sees.
    [[nodiscard]] std::size_t ranks(std::span<std::uint32_t const> devices) const noexcept {
        return has_shares() ? std::min<std::size_t>(devices.size(), 1) : devices.size();
    }

    /// The memory of each device, in the order of the numbers; devices beyond the end of the span keep theirs, at first
    /// 0.
    void set_memory(std::span<bytes const> memory) noexcept;
    [[nodiscard]] bytes memory(std::uint32_t device) const noexcept { return rows_[device].memory; }

    /// A cordoned device is not assigned. Its present owner keeps it until it releases it.
    void cordon(std::uint32_t device, bool cordoned) noexcept { rows_[device].cordoned = cordoned; }
    [[nodiscard]] bool is_cordoned(std::uint32_t device) const noexcept { return rows_[device].cordoned; }
    [[nodiscard]] std::int64_t cordoned() const noexcept;
    /// Those of `devices` that are not cordoned, in their order.
    [[nodiscard]] device_list sound(std::span<std::uint32_t const> devices) const;
};

[[nodiscard]] std::vector<std::string> names_of(run_devices const& all, std::span<std::uint32_t const> devices);

}  // namespace ration::program
