// SPDX-License-Identifier: BSL-1.0
// What GPUs are described by: masks, device names, the driver's tables and the MPS daemon's answers. The first letter
// chooses the reader.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <ration/cuda/device_files.hpp>
#include <ration/cuda/device_mask.hpp>
#include <ration/cuda/driver.hpp>
#include <ration/cuda/inventory.hpp>
#include <ration/cuda/mps.hpp>

#include "support.hpp"

namespace cuda = ration::cuda;
using fuzz::require;

namespace {

[[nodiscard]] cuda::device_id id_of(cuda::device_kind kind, std::uint8_t number) {
    std::array<std::uint8_t, 16> bytes{};
    bytes[0] = 0xAB;
    bytes[15] = number;
    return {kind, bytes};
}

/// Four GPUs, the last one cut in two.
[[nodiscard]] std::vector<cuda::gpu> machine() {
    std::vector<cuda::gpu> out;
    for (std::uint8_t i = 0; i < 4; ++i) out.push_back({.id = id_of(cuda::device_kind::gpu, i)});
    out.back().cut = true;
    out.back().instances = {id_of(cuda::device_kind::mig, 10), id_of(cuda::device_kind::mig, 11)};
    return out;
}

void read_mask(std::string_view mask) {
    static auto const gpus = machine();
    auto const seen = cuda::visible_devices(gpus, mask);
    for (auto const& id : seen) require(std::ranges::count(seen, id) == 1, "a mask shows a device twice");
    auto const made = cuda::device_mask::of(seen, seen);
    if (!made) return require(*made.failure().remedy != '\0', "an error has no remedy");
    require(cuda::visible_devices(gpus, made->value()) == seen, "a mask reads differently after it was printed");
    require(static_cast<bool>(made->verify(made->value())), "a job sees what it was given and is refused");
}

void read_name(std::string_view name) {
    auto const id = cuda::device_id::parse(name);
    if (id) return require(id->name().view() == name, "a device's name reads differently after it was printed");
    require(*id.failure().remedy != '\0', "an error has no remedy");
}

void read_pids(std::string_view text) {
    for (auto const& pids : {cuda::detail::pids_of(text), cuda::detail::pids_of_table(text)})
        if (pids)
            require(std::ranges::all_of(*pids, [](std::int32_t pid) { return pid > 0; }),
                    "a process number is not positive");
}

void read_information(std::string_view text) {
    for (auto const line : cuda::detail::lines_of(text))
        require(fuzz::is_inside(line, text) && !line.empty(), "a line is not of its text");
    for (auto const* key : {"Model", "Device Minor", "GPU UUID"}) {
        auto const value = cuda::detail::value_of(text, key);
        require(fuzz::is_inside(value, text) && !value.starts_with(' '), "a value is not of its text");
    }
    auto const number = cuda::detail::number_beside(text, "nvidia");
    auto const line = std::to_string(number.value_or(0)) + " nvidia\n";
    require(!number || cuda::detail::number_beside(line + std::string(text), "nvidia") == number,
            "the first line of a driver does not count");
}

void read_driver(std::string_view reply) {
    auto const view = cuda::detail::read_driver_words(reply);
    if (!view) return require(*view.failure().operation != '\0', "an error names no operation");
    require(view->devices.size() * sizeof(cuda::driver_device) <= reply.size(),
            "the driver shows more devices than it named");
    for (auto const& one : view->devices) {
        std::string const texts = std::string(one.model.view()) + one.pci.c_str();
        require(texts.size() <= 80, "a text of the driver has no end");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input in(data, size);
    char const reader = in.take<char>();
    switch (reader) {
        case 'm': read_mask(in.rest()); break;
        case 'n': read_name(in.rest()); break;
        case 'p': read_pids(in.rest()); break;
        case 'i': read_information(in.rest()); break;
        case 'd': read_driver(in.rest()); break;
        default: break;
    }
    return 0;
}
