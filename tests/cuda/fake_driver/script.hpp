// SPDX-License-Identifier: BSL-1.0
// The GPUs that the fake driver has: read from the file that RATION_STAND_IN_GPUS names, a line for each GPU or MIG
// instance, KEY=VALUE behind blanks.
//   gpu uuid=GPU-... pci=0000:17:00.0 [memory=BYTES] [model=NAME] [mode=exclusive|prohibited|mig] [broken=CODE]
//   [users=PID,PID] [links=PCI,PCI]
//       [sms=COUNT] [cc=MAJOR.MINOR] [minor=N] [switch=N] [xid=N]
//   mig uuid=MIG-... [sms=COUNT] [gi=N] [ci=N]      an instance of the GPU above it
//   init CODE                         what nvmlInit_v2 answers
//   hold FILE                         nvmlInit_v2 appends a byte to FILE, and answers when that is gone
//   cuinit CODE|hang|crash            what cuInit answers, or does instead
//   current CODE                      what cuCtxSetCurrent answers
//   driver VERSION                    what cuDriverGetVersion answers
//   runtime VERSION DRIVER CODE       what libcudart answers: its version, the driver's, and the code of counting
//   devices
#pragma once

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace ration::fake_driver {

struct device {
    std::map<std::string, std::string> reports;
    std::vector<device> instances{};

    [[nodiscard]] std::string value(std::string const& key, std::string const& otherwise = "") const {
        auto const at = reports.find(key);
        return at == reports.end() ? otherwise : at->second;
    }
    [[nodiscard]] int broken() const { return std::stoi(value("broken", "0")); }
    [[nodiscard]] std::vector<std::string> list(std::string const& key) const {
        std::vector<std::string> out;
        std::istringstream items(value(key));
        for (std::string item; std::getline(items, item, ',');) out.push_back(item);
        return out;
    }
};

struct machine {
    int init = 0, driver = 13000, set_current = 0;
    std::string cuda_init = "0", hold;
    int runtime = 13000, runtime_sees = 13000, runtime_code = 0;
    std::vector<device> gpus;
};

[[nodiscard]] inline machine read_script() {
    machine out;
    char const* const file = std::getenv("RATION_STAND_IN_GPUS");
    std::ifstream in(file != nullptr ? file : "/dev/null");
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string kind, word;
        words >> kind;
        if (kind == "init") words >> out.init;
        if (kind == "hold") words >> out.hold;
        if (kind == "cuinit") words >> out.cuda_init;
        if (kind == "current") words >> out.set_current;
        if (kind == "driver") words >> out.driver;
        if (kind == "runtime") words >> out.runtime >> out.runtime_sees >> out.runtime_code;
        if (kind != "gpu" && kind != "mig") continue;
        device one;
        while (words >> word) one.reports[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
        (kind == "gpu" ? out.gpus : out.gpus.at(out.gpus.size() - 1).instances).push_back(one);
    }
    return out;
}

/// Each initialisation reads the script into it again, for the calling thread.
[[nodiscard]] inline machine& here() {
    static thread_local machine the_machine;
    return the_machine;
}

}  // namespace ration::fake_driver
