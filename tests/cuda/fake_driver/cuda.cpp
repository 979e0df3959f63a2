// SPDX-License-Identifier: BSL-1.0
// A libcuda.so.1 with scripted GPUs (script.hpp), for machines without any. It reads CUDA_VISIBLE_DEVICES and
// CUDA_DEVICE_ORDER once, at cuInit, by driver_rules.hpp. Of a GPU that is cut a process uses one instance, the first
// where none is named. Structures and codes: CUDA Driver API reference. OLD_DRIVER leaves out what came with CUDA 12.4
// and later.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include "../driver_rules.hpp"
#include "script.hpp"

using ration::fake_driver::device;
using ration::fake_driver::here;

namespace {

constexpr int success = 0, invalid_value = 1, not_initialised = 3, no_device = 100, invalid_device = 101,
              unavailable = 46, invalid_configuration = 915;

struct shown {
    device const* what;
    device const* whole;  // the GPU that it is, or is a part of
};

bool initialised = false;
std::vector<shown> devices;

[[nodiscard]] std::vector<device const*> in_order() {
    std::vector<device const*> out;
    for (auto const& gpu : here().gpus)
        if (gpu.broken() == 0) out.push_back(&gpu);  // one that fell off the bus is not counted
    char const* const order = std::getenv("CUDA_DEVICE_ORDER");
    if (order != nullptr && std::string(order) == "PCI_BUS_ID")
        std::stable_sort(out.begin(), out.end(),
                         [](device const* a, device const* b) { return a->value("pci") < b->value("pci"); });
    return out;  // otherwise the fastest first: the script's order
}

void read_mask() {
    char const* const value = std::getenv("CUDA_VISIBLE_DEVICES");
    std::optional<std::string> mask;
    if (value != nullptr) mask = value;
    std::vector<std::string> gpus, instances;
    auto const all = in_order();
    for (auto const* gpu : all) {
        gpus.push_back(gpu->value("uuid"));
        for (auto const& instance : gpu->instances) instances.push_back(instance.value("uuid"));
    }
    bool mig = false;
    devices.clear();
    for (std::string const& name : ration::test::driver_reads(gpus, instances, mask)) {
        for (auto const* gpu : all) {
            bool const cut = !gpu->instances.empty() || gpu->value("mode") == "mig";
            if (!cut && gpu->value("uuid") == name) devices.push_back({gpu, gpu});
            for (auto const& instance : gpu->instances) {
                bool const meant = instance.value("uuid") == name ||
                                   (gpu->value("uuid") == name && &instance == &gpu->instances.front());
                if (meant && !mig) {
                    devices.push_back({&instance, gpu});
                    mig = true;
                }
            }
        }
    }
}

[[nodiscard]] shown const* at(int handle) {
    return handle >= 0 && handle < static_cast<int>(devices.size()) ? &devices[static_cast<std::size_t>(handle)]
                                                                    : nullptr;
}

/// The 16 bytes behind GPU- or MIG-; zeros if the name is not a UUID.
void uuid_bytes(std::string const& name, unsigned char* out) {
    std::string digits;
    for (char const c : name.substr(std::min<std::size_t>(4, name.size())))
        if (c != '-') digits += c;
    std::memset(out, 0, 16);
    if (digits.size() != 32 || digits.find_first_not_of("0123456789abcdef") != std::string::npos) return;
    for (std::size_t i = 0; i < 16; ++i)
        out[i] = static_cast<unsigned char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
}

/// The control file of the fake nvidia-cuda-mps-control; empty where none listens, and then no client is recorded.
[[nodiscard]] std::string mps_daemon() {
    char const* const folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
    std::string const control = std::string(folder != nullptr ? folder : "/tmp/nvidia-mps") + "/control";
    return ::access(control.c_str(), W_OK) == 0 ? control : std::string();
}

void become_a_client() {
    if (std::string const daemon = mps_daemon(); !daemon.empty())
        std::ofstream(daemon, std::ios::app) << "server 100\nclient 100 " << ::getpid() << '\n';
}

[[nodiscard]] int sms_of(shown const& one) {
    int const all = std::stoi(one.what->value("sms", one.whole->value("sms", "132")));
    char const* const percent = std::getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    return percent != nullptr && !mps_daemon().empty() ? all * std::atoi(percent) / 100 / 2 * 2 : all;
}

[[nodiscard]] int attribute(shown const& one, int which) {
    unsigned domain = 0, bus = 0, slot = 0;
    std::sscanf(one.whole->value("pci").c_str(), "%x:%x:%x", &domain, &bus, &slot);
    std::string const cc = one.whole->value("cc", "9.0"), mode = one.whole->value("mode");
    switch (which) {
        case 16: return sms_of(one);
        case 20: return mode == "exclusive" ? 3 : mode == "prohibited" ? 2 : 0;
        case 33: return static_cast<int>(bus);
        case 34: return static_cast<int>(slot);
        case 50: return static_cast<int>(domain);
        case 75: return std::stoi(cc);
        case 76: return std::stoi(cc.substr(cc.find('.') + 1));
        default: return 0;
    }
}

}  // namespace

extern "C" {

int cuInit(unsigned flags) {
    here() = ration::fake_driver::read_script();
    if (here().cuda_init == "hang")
        for (;;) ::pause();
    if (here().cuda_init == "crash") std::abort();
    if (int const code = std::stoi(here().cuda_init); code != 0) return code;
    if (!initialised) read_mask();
    if (devices.empty()) return no_device;
    if (!initialised) become_a_client();
    initialised = true;
    return flags == 0 ? success : invalid_value;
}

int cuDriverGetVersion(int* version) {
    *version = ration::fake_driver::read_script().driver;
    return success;
}

int cuDeviceGetCount(int* count) {
    *count = static_cast<int>(devices.size());
    return initialised ? success : not_initialised;
}

int cuDeviceGet(int* handle, int ordinal) {
    *handle = ordinal;
    return !initialised ? not_initialised : at(ordinal) != nullptr ? success : invalid_device;
}

int cuDeviceGetName(char* out, int size, int handle) {
    auto const* const one = at(handle);
    if (one == nullptr) return invalid_device;
    std::snprintf(out, static_cast<std::size_t>(size), "%s%s", one->whole->value("model", "Fake").c_str(),
                  one->what == one->whole ? "" : " MIG 1g.10gb");
    return success;
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int handle) {
    auto const* const one = at(handle);
    if (one != nullptr) *bytes = std::stoull(one->what->value("memory", "85899345920"));
    return one != nullptr ? success : invalid_device;
}

int cuDeviceGetAttribute(int* out, int which, int handle) {
    auto const* const one = at(handle);
    if (one != nullptr) *out = attribute(*one, which);
    return one != nullptr ? success : invalid_device;
}

int cuDeviceGetUuid(unsigned char* out, int handle) {
    auto const* const one = at(handle);
    if (one != nullptr) uuid_bytes(one->whole->value("uuid"), out);
    return one != nullptr ? success : invalid_device;
}

#ifndef OLD_DRIVER

int cuDeviceGetUuid_v2(unsigned char* out, int handle) {
    auto const* const one = at(handle);
    if (one != nullptr) uuid_bytes(one->what->value("uuid"), out);
    return one != nullptr ? success : invalid_device;
}

struct resource {
    int type;
    unsigned char reserved[92];
    unsigned sms, least, step;
    unsigned char rest[36];
};
static_assert(sizeof(resource) == 144);

static resource described;
static int green_contexts = 0;
static void* current = nullptr;

int cuDeviceGetDevResource(int handle, resource* out, int type) {
    auto const* const one = at(handle);
    if (one == nullptr || type != 1) return one == nullptr ? invalid_device : invalid_value;
    int const major = attribute(*one, 75);
    *out = {};
    out->type = 1;
    out->sms = static_cast<unsigned>(sms_of(*one));
    if (here().driver >= 13000) {  // older drivers leave both to the documentation
        out->least = major >= 9 ? 8 : major == 8 ? 4 : 2;
        out->step = major >= 9 ? 8 : 2;
    }
    return success;
}

/// One group of at least `least` SMs, rounded up to a size that the architecture can cut off.
int cuDevSmResourceSplitByCount(resource* out, unsigned* groups, resource const* in, resource* remaining, unsigned,
                                unsigned least) {
    int const major = attribute(devices.front(), 75);
    unsigned const step = major >= 9 ? 8 : 2, smallest = major >= 9 ? 8 : major == 8 ? 4 : 2;
    unsigned const size = std::max(smallest, (least + step - 1) / step * step);
    if (in->type != 1 || out == nullptr || *groups != 1) return invalid_value;
    if (size > in->sms) return invalid_configuration;
    *out = *in;
    out->sms = size;
    if (remaining != nullptr) {
        *remaining = *in;
        remaining->sms = in->sms - size;
    }
    return success;
}

int cuDevResourceGenerateDesc(resource** out, resource* resources, unsigned count) {
    described = resources[0];
    *out = &described;
    return count == 1 ? success : invalid_value;
}

int cuGreenCtxCreate(void** out, resource* what, int handle, unsigned flags) {
    auto const* const one = at(handle);
    if (one == nullptr || flags != 1) return one == nullptr ? invalid_device : invalid_value;
    if (one->whole->value("mode") == "prohibited" ||
        (one->whole->value("mode") == "exclusive" && !one->whole->list("users").empty()))
        return unavailable;
    ++green_contexts;
    *out = what;
    return success;
}

int cuGreenCtxDestroy(void*) {
    --green_contexts;
    return success;
}

int cuCtxFromGreenCtx(void** out, void* green) {
    *out = green;
    return success;
}

int cuCtxSetCurrent(void* context) {
    if (here().set_current != 0) return here().set_current;
    current = context;
    return success;
}

int cuCtxGetCurrent(void** out) {
    *out = current;
    return success;
}

int cuDevicePrimaryCtxRetain(void** out, int handle) {
    static resource whole;
    auto const* const one = at(handle);
    if (one == nullptr) return invalid_device;
    whole.sms = static_cast<unsigned>(sms_of(*one));
    *out = &whole;
    return success;
}

int cuModuleLoadData(void** out, char const* text) {
    *out = described.reserved;
    // CUDA_ERROR_INVALID_PTX
    return std::string(text).find(".visible .entry burn(") != std::string::npos ? success : 218;
}

int cuModuleGetFunction(void** out, void* module, char const*) {
    *out = module;
    return success;
}

int cuMemAlloc_v2(unsigned long long* out, std::size_t) {
    *out = 4096;
    return success;
}

static double work = 0;  // thread-rounds that were launched

/// A kernel whose second argument is the number of rounds of each thread.
int cuLaunchKernel(void*, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned, void*,
                   void** arguments, void**) {
    work += static_cast<double>(blocks) * threads * *static_cast<unsigned*>(arguments[1]);
    return current != nullptr ? success : 201;  // CUDA_ERROR_INVALID_CONTEXT
}

/// Each SM of the context goes round a billion times a second.
int cuCtxSynchronize() {
    timespec const busy{0, static_cast<long>(std::min(work / static_cast<resource*>(current)->sms, 9e8))};
    ::nanosleep(&busy, nullptr);
    work = 0;
    return success;
}

/// Not of the driver: for tests, how many green contexts there are.
int fake_driver_green_contexts() { return green_contexts; }

#endif

}  // extern "C"
