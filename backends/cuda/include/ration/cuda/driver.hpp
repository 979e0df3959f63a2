// SPDX-License-Identifier: BSL-1.0
/// The devices that the CUDA driver shows to a program, queried without a context: as a job would
/// see them under a mask. Source: CUDA Driver API reference.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/cuda/detail/ask.hpp>
#include <ration/cuda/detail/driver_errors.hpp>
#include <ration/cuda/detail/library.hpp>
#include <ration/cuda/device.hpp>
#include <ration/result.hpp>
#include <ration/units.hpp>

namespace ration::cuda {

/// Which processes can compute on a GPU. `prohibited`: none.
enum class compute_mode : std::uint8_t { shared, prohibited, exclusive };

/// One device, as the driver numbers it. Values that the driver does not report are 0 or empty.
struct driver_device {
    device_id id{};  ///< all zero if the driver has no name for it
    /// The name of the product; contains MIG and the profile for an instance.
    text<64> model{};
    /// The PCI name, as in sysfs.
    text<16> pci{};
    /// Total memory.
    bytes memory{0};
    int multiprocessors = 0;   ///< SMs
    int major = 0, minor = 0;  ///< compute capability
    /// Which processes can compute on it.
    compute_mode mode = compute_mode::shared;
};

/// All devices that one process sees, in its order.
struct driver_view {
    int version = 0;  ///< newest CUDA that the driver supports: 1000 x major + 10 x minor
    /// In the order of their ordinals.
    std::vector<driver_device> devices{};
};

/// The driver in this process. It reads CUDA_VISIBLE_DEVICES once, at its initialisation, for the
/// lifetime of the process. A controller uses `visible_to_driver` instead.
class driver {
    library library_;

    explicit driver(library&& loaded) noexcept : library_(std::move(loaded)) {}

public:
    /// A result code of the driver.
    using status = int;
    /// A device handle.
    using device = int;

    /// The result codes that are handled.
    static constexpr status success = 0, no_device = 100, not_supported = 801;

    /// Loads the driver. Error: `not_supported` if there is none.
    [[nodiscard]] static result<driver> load() noexcept {
        auto loaded = library::open("libcuda.so.1");
        if (!loaded) return loaded.failure();
        return driver(std::move(*loaded));
    }

    /// Initialises CUDA in this process.
    [[nodiscard]] status initialise() const noexcept { return call<status(unsigned)>("cuInit", 0U); }

    /// The CUDA version of the driver; 0 if it does not report it. Works without `initialise`.
    [[nodiscard]] int version() const noexcept {
        int out = 0;
        return call<status(int*)>("cuDriverGetVersion", &out) == success ? out : 0;
    }

    /// The number of devices.
    [[nodiscard]] status count(int& out) const noexcept { return call<status(int*)>("cuDeviceGetCount", &out); }

    /// Reads one device.
    [[nodiscard]] status read(int ordinal, driver_device& out) const noexcept {
        device handle = 0;
        if (status const code = call<status(device*, int)>("cuDeviceGet", &handle, ordinal); code != success)
            return code;
        std::array<char, 65> model{};
        if (call<status(char*, int, device)>("cuDeviceGetName", model.data(), int{model.size() - 1}, handle) == success)
            out.model = text<64>(model.data());
        read_identity(handle, out);
        std::size_t memory = 0;
        if (call<status(std::size_t*, device)>("cuDeviceTotalMem_v2", &memory, handle) == success)
            out.memory = {static_cast<std::int64_t>(memory)};
        out.multiprocessors = attribute(handle, 16);
        out.major = attribute(handle, 75);
        out.minor = attribute(handle, 76);
        int const mode = attribute(handle, 20);
        out.mode = mode == 3 ? compute_mode::exclusive : mode == 2 ? compute_mode::prohibited : compute_mode::shared;
        std::array<char, 24> pci{};
        std::snprintf(pci.data(), pci.size(), "%04x:%02x:%02x.0", static_cast<unsigned>(attribute(handle, 50)),
                      static_cast<unsigned>(attribute(handle, 33)), static_cast<unsigned>(attribute(handle, 34)));
        out.pci = text<16>(pci.data());
        return success;
    }

private:
    template <class Function, class... Args>
    [[nodiscard]] status call(char const* name, Args... args) const noexcept {
        auto* const function = library_.find<Function>(name);
        return function != nullptr ? function(args...) : not_supported;
    }

    /// An attribute of a device; 0 if the driver does not report it.
    [[nodiscard]] int attribute(device handle, int which) const noexcept {
        int out = 0;
        return call<status(int*, int, device)>("cuDeviceGetAttribute", &out, which, handle) == success ? out : 0;
    }

    /// Reads the name. Only the second version of the function names a MIG instance; the first
    /// returns the name of its GPU. The driver does not report which of the two a name is, but the
    /// model of an instance contains MIG and its profile: "NVIDIA A100-SXM4-40GB MIG 1g.5gb".
    void read_identity(device handle, driver_device& out) const noexcept {
        std::array<std::uint8_t, 16> uuid{};
        bool const mig = out.model.view().find(" MIG ") != std::string_view::npos;
        status code = call<status(std::uint8_t*, device)>("cuDeviceGetUuid_v2", uuid.data(), handle);
        if (code == not_supported && !mig)
            code = call<status(std::uint8_t*, device)>("cuDeviceGetUuid", uuid.data(), handle);
        if (code == success && uuid != std::array<std::uint8_t, 16>{})
            out.id = device_id(mig ? device_kind::mig : device_kind::gpu, uuid);
    }
};

namespace detail {

inline constexpr int most_devices = 256;

/// The progress of the child, the driver's code there, and the number of devices that follow.
struct driver_words {
    enum class stage : std::uint8_t { load, initialise, count, device, done };
    stage reached = stage::load;
    int code = 0, version = 0, devices = 0;
};
static_assert(std::is_trivially_copyable_v<driver_words> && std::is_trivially_copyable_v<driver_device>,
              "both go through a pipe between two copies of one program");

/// Changes the environment: NAME=VALUE sets a variable, NAME alone removes it.
inline void change_environment(std::span<std::string const> changes) noexcept {
    for (std::string const& change : changes) {
        auto const equals = change.find('=');
        std::string const name = change.substr(0, equals);
        equals == std::string::npos ? ::unsetenv(name.c_str()) : ::setenv(name.c_str(), change.c_str() + equals + 1, 1);
    }
}

/// Hides an MPS daemon. A driver that finds one makes it start a server and becomes its client,
/// which a query must not do.
inline void stay_away_from_mps() noexcept { ::setenv("CUDA_MPS_PIPE_DIRECTORY", "/proc/self/no-mps", 1); }

/// Writes all bytes, or ends the child.
inline void write_all(int to, void const* data, std::size_t size) noexcept {
    auto const* at = static_cast<char const*>(data);
    while (size > 0) {
        ssize_t const n = ::write(to, at, size);
        if (n <= 0) ::_exit(1);
        at += n;
        size -= static_cast<std::size_t>(n);
    }
}

/// The child: loads the driver, and writes what it reports.
inline void report_driver(int to) noexcept {
    driver_words words;
    std::vector<driver_device> devices;
    if (auto const loaded = driver::load()) {
        words.reached = driver_words::stage::initialise;
        words.version = loaded->version();
        words.code = loaded->initialise();
        if (words.code == driver::success) {
            words.reached = driver_words::stage::count;
            words.code = loaded->count(words.devices);
        } else if (words.code == driver::no_device) {
            words.code = driver::success;  // the result of an empty mask
        }
        for (int i = 0; words.code == driver::success && i < std::min(words.devices, most_devices); ++i) {
            words.reached = driver_words::stage::device;
            words.code = loaded->read(i, devices.emplace_back());
        }
        if (words.code == driver::success) words.reached = driver_words::stage::done;
    }
    words.devices = static_cast<int>(devices.size());
    write_all(to, &words, sizeof words);
    write_all(to, devices.data(), devices.size() * sizeof(driver_device));
}

/// True if a text whose bytes came from outside has a size that fits and a zero byte behind its characters.
template <std::size_t Capacity>
[[nodiscard]] bool is_terminated(text<Capacity> const& one) noexcept {
    std::size_t const size = one.view().size();
    return size <= Capacity && one.c_str()[size] == '\0';
}

/// Parses the devices in the child's answer; empty if their number differs, or if a text has no
/// end.
[[nodiscard]] inline std::optional<std::vector<driver_device>> read_driver_devices(std::string_view bytes, int count) {
    if (count < 0 || count > most_devices || bytes.size() != static_cast<std::size_t>(count) * sizeof(driver_device))
        return std::nullopt;
    std::vector<driver_device> out(static_cast<std::size_t>(count));
    if (count > 0) std::memcpy(static_cast<void*>(out.data()), bytes.data(), bytes.size());
    bool const whole = std::ranges::all_of(
        out, [](driver_device const& one) { return is_terminated(one.model) && is_terminated(one.pci); });
    return whole ? std::optional(std::move(out)) : std::nullopt;
}

/// Parses the answer of the child, in which the driver may have overwritten anything.
[[nodiscard]] inline result<driver_view> read_driver_words(std::string_view reply) noexcept {
    static constexpr char const* operations[] = {"load the NVIDIA driver", "initialise CUDA", "count CUDA devices",
                                                 "ask the CUDA driver about a device"};
    driver_words words;
    bool const whole = reply.size() >= sizeof words;
    if (whole) std::memcpy(&words, reply.data(), sizeof words);
    auto devices = whole ? read_driver_devices(reply.substr(sizeof words), words.devices) : std::nullopt;
    if (!devices || words.reached > driver_words::stage::done)
        return error{.code = errc::io,
                     .operation = "ask the CUDA driver",
                     .subject = "libcuda.so.1",
                     .remedy = "the driver ended the process that asked: check dmesg for messages of nvidia"};
    if (words.reached == driver_words::stage::load) return library::missing("libcuda.so.1");
    if (words.reached != driver_words::stage::done)
        return driver_failure(words.code, operations[static_cast<std::size_t>(words.reached)], "libcuda.so.1");
    return driver_view{.version = words.version, .devices = std::move(*devices)};
}

}  // namespace detail

/// The devices that a process with this environment would see. The driver is queried in a child
/// process, since it reads a mask only once, and since this process must not initialise CUDA.
/// `changes` modify the environment: NAME=VALUE sets a variable, NAME alone removes it;
/// `device_mask::environment()` can be passed.
///
/// No device is not an error. No MPS daemon is used unless `changes` name its
/// CUDA_MPS_PIPE_DIRECTORY, since the driver would make it start a server. Precondition: this
/// process has not initialised CUDA, which does not survive fork.
///
/// Errors: `not_supported` (no driver); those of `driver_failure`; `timed_out`, also if another
/// thread held a lock of the C library during fork (retry). It takes as long as the driver needs to
/// wake up the GPUs: seconds without a persistence daemon.
[[nodiscard]] inline result<driver_view> visible_to_driver(std::span<std::string const> changes,
                                                           nanoseconds at_most = seconds(30)) noexcept {
    question const about{"ask the CUDA driver", "libcuda.so.1",
                         "the driver does not answer: try nvidia-smi, and check dmesg for messages of nvidia"};
    auto const reply = detail::ask(about, at_most, [changes](int to) {
        detail::stay_away_from_mps();
        detail::change_environment(changes);
        detail::report_driver(to);
    });
    return reply ? detail::read_driver_words(reply->text) : result<driver_view>(reply.failure());
}

}  // namespace ration::cuda
