// SPDX-License-Identifier: BSL-1.0
// A libnvidia-ml.so.1 with scripted GPUs (script.hpp), for machines without any. Structures and codes: NVIDIA NVML API
// Reference Guide.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "script.hpp"

using ration::fake_driver::device;
using ration::fake_driver::here;

namespace {

constexpr int success = 0, invalid_argument = 2, not_supported = 3, not_found = 6, too_small = 7, timed_out = 10;

struct pci_info {
    char legacy_name[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char name[32];
};

struct memory_info {
    unsigned long long total, free, used;
};

struct process_info {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

int copy_text(std::string const& text, char* out, unsigned size) {
    if (text.size() >= size) return too_small;
    std::memcpy(out, text.c_str(), text.size() + 1);
    return success;
}

int read_pci(std::string const& name, pci_info* out) {
    *out = {};
    if (std::sscanf(name.c_str(), "%x:%x:%x", &out->domain, &out->bus, &out->device) != 3) return invalid_argument;
    std::snprintf(out->name, sizeof out->name, "%08X:%02X:%02X.0", out->domain, out->bus, out->device);
    return success;
}

/// As a driver that has to wake GPUs up.
void wait_while_held(std::string const& file) {
    if (std::error_code none; file.empty() || !std::filesystem::exists(file, none)) return;
    std::ofstream(file, std::ios::app) << '.';
    while (std::filesystem::exists(file)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
    here() = ration::fake_driver::read_script();
    wait_while_held(here().hold);
    return here().init;
}

int nvmlShutdown() { return success; }

int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = static_cast<unsigned>(here().gpus.size());
    return success;
}

/// A GPU that fell off the bus has no handle.
int nvmlDeviceGetHandleByIndex_v2(unsigned index, device** out) {
    if (index >= here().gpus.size()) return invalid_argument;
    *out = &here().gpus[index];
    return (*out)->broken();
}

int nvmlDeviceGetPciInfo_v3(device* one, pci_info* out) { return read_pci(one->value("pci"), out); }
int nvmlDeviceGetUUID(device* one, char* out, unsigned size) { return copy_text(one->value("uuid"), out, size); }
int nvmlDeviceGetName(device* one, char* out, unsigned size) {
    return copy_text(one->value("model", "Fake"), out, size);
}

int nvmlDeviceGetMemoryInfo(device* one, memory_info* out) {
    *out = {};
    out->total = out->free = std::stoull(one->value("memory", "85899345920"));
    return success;
}

int nvmlDeviceGetComputeMode(device* one, unsigned* mode) {
    *mode = one->value("mode") == "exclusive" ? 3 : 0;
    return success;
}

int nvmlDeviceGetMigMode(device* one, unsigned* now, unsigned* pending) {
    *now = *pending = one->instances.empty() && one->value("mode") != "mig" ? 0 : 1;
    return success;
}

int nvmlDeviceGetMaxMigDeviceCount(device*, unsigned* most) {
    *most = 7;
    return success;
}

int nvmlDeviceGetMigDeviceHandleByIndex(device* one, unsigned index, device** out) {
    if (index >= one->instances.size()) return not_found;
    *out = &one->instances[index];
    return success;
}

int read_number(device* one, char const* key, unsigned* out) {
    if (one->value(key).empty()) return not_supported;
    *out = static_cast<unsigned>(std::stoul(one->value(key)));
    return success;
}

int nvmlDeviceGetMinorNumber(device* one, unsigned* out) { return read_number(one, "minor", out); }
int nvmlDeviceGetGpuInstanceId(device* one, unsigned* out) { return read_number(one, "gi", out); }
int nvmlDeviceGetComputeInstanceId(device* one, unsigned* out) { return read_number(one, "ci", out); }

/// Below one switch where both have the same `switch`, otherwise in one machine.
int nvmlDeviceGetTopologyCommonAncestor(device* one, device* other, unsigned* level) {
    *level = !one->value("switch").empty() && one->value("switch") == other->value("switch") ? 10 : 50;
    return success;
}

int nvmlDeviceGetComputeRunningProcesses_v3(device* one, unsigned* count, process_info* out) {
    auto const users = one->list("users");
    bool const fits = users.size() <= *count;
    for (std::size_t i = 0; fits && i < users.size(); ++i)
        out[i] = {static_cast<unsigned>(std::stoul(users[i])), 0, 0, 0};
    *count = static_cast<unsigned>(users.size());
    return fits ? success : too_small;
}

int nvmlDeviceGetNvLinkState(device* one, unsigned link, unsigned* active) {
    *active = link < one->list("links").size();
    return success;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(device* one, unsigned link, pci_info* out) {
    auto const links = one->list("links");
    return link < links.size() ? read_pci(links[link], out) : not_supported;
}

struct event_data {
    device* from;
    unsigned long long kind, number;
    unsigned gpu_instance, compute_instance;
};

static device* registered[64];  // as they were when they were registered; null also for those whose Xid was returned

int nvmlEventSetCreate(void** out) {
    *out = registered;
    return success;
}
int nvmlEventSetFree(void*) { return success; }

int nvmlDeviceRegisterEvents(device* one, unsigned long long kinds, void*) {
    auto const at = static_cast<std::size_t>(one - here().gpus.data());
    if (kinds != 8 || at >= std::size(registered)) return not_supported;
    registered[at] = one;
    return success;
}

/// Each call reads the script again: an Xid that it contains at that time is returned once.
int nvmlEventSetWait_v2(void*, event_data* out, unsigned) {
    auto const now = ration::fake_driver::read_script();
    for (std::size_t i = 0; i < now.gpus.size() && i < std::size(registered); ++i) {
        if (now.gpus[i].value("xid").empty() || registered[i] == nullptr) continue;
        *out = {registered[i], 8, std::stoull(now.gpus[i].value("xid")), 0, 0};
        registered[i] = nullptr;
        return success;
    }
    return timed_out;
}

}  // extern "C"
