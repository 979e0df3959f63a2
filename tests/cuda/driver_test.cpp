// SPDX-License-Identifier: BSL-1.0
// What a job would see: the fake driver is asked in a child process, as `visible_to_driver` asks the real one.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <ration/cuda/device_mask.hpp>
#include <ration/cuda/driver.hpp>
#include <ration/cuda/runtime.hpp>

#include "scene.hpp"
#include "support/catch.hpp"
#include "synthetic.hpp"

using namespace ration;
using namespace ration::cuda;
using ration::test::line;
using ration::test::names;
using ration::test::scene;
using ration::test::uuids;

namespace {

using changes = std::vector<std::string>;

[[nodiscard]] names seen(changes const& environment) {
    auto const view = visible_to_driver(environment);
    if (!view) return {std::string("? ") + view.failure().remedy};
    names out;
    for (auto const& device : view->devices) out.emplace_back(device.id.name().view());
    return out;
}

/// As a script for the fake. The GPUs are on the bus in the order of the list.
[[nodiscard]] std::string script_of(std::vector<gpu> const& machine) {
    std::string out;
    for (std::size_t i = 0; i < machine.size(); ++i) {
        out += "gpu uuid=" + std::string(machine[i].id.name().view()) + " pci=0000:" + std::to_string(10 + i) +
               ":00.0" + (machine[i].cut ? " mode=mig\n" : "\n");
        for (auto const& instance : machine[i].instances)
            out += "mig uuid=" + std::string(instance.name().view()) + '\n';
    }
    return out;
}

std::string const mig_a = "MIG-00000000-0000-4000-8000-00000000000a",
                  mig_b = "MIG-00000000-0000-4000-8000-00000000000b";

}  // namespace

TEST_CASE("what a job would see of eight GPUs of every kind") {
    std::string gpu_5 = "GPU-55555555-0000-4000-8000-000000000005", gpu_6 = "GPU-66666666-0000-4000-8000-000000000006";
    scene const machine(
        "driver 12080\n" + line(1, "0000:31:00.0", "mode=exclusive sms=108 cc=8.0 memory=42949672960 model=Second") +
        line(0, "0000:17:00.0") + line(2, "0000:4b:00.0", "broken=15") + "gpu uuid=GPU-what pci=0000:5c:00.0\n" +
        line(3, "0000:98:00.0") + "mig uuid=" + mig_a + " sms=16\nmig uuid=" + mig_b + " sms=32 memory=10737418240\n" +
        line(4, "0000:b1:00.0", "mode=prohibited") + "gpu uuid=" + gpu_5 + " pci=0000:ca:00.0\ngpu uuid=" + gpu_6 +
        " pci=0000:d8:00.0\n");
    auto const view = visible_to_driver(changes{"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=1,0,3"});
    REQUIRE(view);
    CHECK(view->version == 12080);
    REQUIRE(view->devices.size() == 3);
    auto const& second = view->devices[0];
    CHECK(second.id.name() == uuids[1]);
    CHECK((second.model == "Second" && second.pci == "0000:31:00.0" && second.memory.count == 42949672960));
    CHECK((second.multiprocessors == 108 && second.major == 8 && second.minor == 0 &&
           second.mode == compute_mode::exclusive));
    CHECK(view->devices[1].id.name() == uuids[0]);
    CHECK(view->devices[1].mode == compute_mode::shared);
    // The lost GPU is not counted; of a GPU that is cut one instance is used
    CHECK(view->devices[2].id.name() == mig_a);

    auto const instance = visible_to_driver(changes{"CUDA_VISIBLE_DEVICES=" + mig_b});
    REQUIRE((instance && instance->devices.size() == 1));
    CHECK(instance->devices[0].id.name() == mig_b);
    CHECK((instance->devices[0].multiprocessors == 32 && instance->devices[0].memory.count == 10737418240 &&
           instance->devices[0].pci == "0000:98:00.0"));

    CHECK(seen({"CUDA_VISIBLE_DEVICES=" + gpu_6 + ',' + std::string(uuids[4])}) == names{gpu_6, uuids[4]});
    CHECK(seen({"CUDA_VISIBLE_DEVICES=" + std::string(uuids[2])}).empty());  // lost
    CHECK(seen({"CUDA_VISIBLE_DEVICES="}).empty());
    CHECK(seen({"CUDA_VISIBLE_DEVICES=0,0"}).empty());
    CHECK(visible_to_driver(changes{"CUDA_VISIBLE_DEVICES"})->devices.size() == 7);
}

TEST_CASE("the order of the bus is what a mask says, not the driver's own") {
    scene const machine(line(1, "0000:b1:00.0") + line(0, "0000:17:00.0"));
    CHECK(seen({"CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES=0"}) == names{uuids[1]});
    CHECK(seen({"CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=0"}) == names{uuids[0]});
}

TEST_CASE("asking changes nothing here") {
    scene const machine(line(0, "0000:17:00.0") + line(1, "0000:31:00.0"));
    ::setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    CHECK(seen({"CUDA_VISIBLE_DEVICES=" + std::string(uuids[1])}) == names{uuids[1]});
    CHECK(std::string(std::getenv("CUDA_VISIBLE_DEVICES")) == "0");
    CHECK(seen({}) == names{uuids[0]});
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    CHECK(seen({}).size() == 2);  // read again: the mask was read in another process
}

TEST_CASE("a question makes no MPS daemon start a server, unless it is meant to") {
    scene const machine(line(0, "0000:17:00.0"));
    auto const folder = ration::test::fs::temp_directory_path() / ("ration-daemon-" + std::to_string(::getpid()));
    ration::test::fs::create_directories(folder);
    std::ofstream(folder / "control") << "protocol 2\n";
    auto const clients = [&folder] {
        std::ifstream file(folder / "control");
        std::string const text(std::istreambuf_iterator<char>(file), {});
        return text.find("client") != std::string::npos;
    };
    ::setenv("CUDA_MPS_PIPE_DIRECTORY", folder.c_str(), 1);
    CHECK(seen({}).size() == 1);
    CHECK(find_runtime());
    CHECK_FALSE(clients());
    CHECK(seen({"CUDA_MPS_PIPE_DIRECTORY=" + folder.string()}).size() == 1);
    CHECK(clients());
    ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    ration::test::fs::remove_all(folder);
}

TEST_CASE("what a mask says is what the driver shows, in 300 masks") {
    ration::test::maker make(20'261'123);
    int emitted = 0, several = 0, instances = 0;
    for (int round = 0; round < 300; ++round) {
        auto const machine = make.machine();
        scene const there(script_of(machine));
        names gpus, cut;
        for (auto const& one : machine) {
            gpus.emplace_back(one.id.name().view());
            for (auto const& instance : one.instances) cut.emplace_back(instance.name().view());
        }
        auto const mask = make.below(2) == 0 ? std::nullopt : make.mask(gpus, cut);
        auto const made = device_mask::of(make.request(visible_devices(machine, mask)), visible_devices(machine, mask));
        if (!made) continue;
        auto const environment = made->environment();
        CAPTURE(round, environment[1]);
        REQUIRE(seen({environment.begin(), environment.end()}) == ration::test::text_of(made->devices()));
        emitted += !made->devices().empty();
        several += made->devices().size() > 1;
        instances += !made->devices().empty() && made->devices()[0].kind() == device_kind::mig;
    }
    CHECK(emitted > 60);
    CHECK(several > 12);
    CHECK(instances > 3);
}

TEST_CASE("each code of the driver earns one sentence that says what to do") {
    struct refusal {
        int code;
        errc means;
        char const* part;
    };
    for (auto const& [code, means, part] :
         {refusal{34, errc::not_supported, "the toolkit's stub"},
          refusal{35, errc::not_supported, "older than the CUDA runtime"},
          refusal{46, errc::busy, "one process compute at a time"},
          refusal{802, errc::busy, "start nvidia-fabricmanager"}, refusal{803, errc::conflict, "restart the machine"},
          refusal{804, errc::not_supported, "compatibility package"},
          refusal{805, errc::not_found, "start nvidia-cuda-mps-control -d"}, refusal{806, errc::io, "server.log"},
          refusal{807, errc::busy, "end every job on its GPUs"}, refusal{808, errc::limit, "all the clients"},
          refusal{809, errc::limit, "CUDA_DEVICE_MAX_CONNECTIONS"}, refusal{810, errc::gone, "start the job again"},
          refusal{999, errc::io, "dmesg"}}) {
        scene const machine("cuinit " + std::to_string(code) + '\n' + line(0, "0000:17:00.0"));
        auto const view = visible_to_driver({});
        INFO(code);
        REQUIRE_FALSE(view);
        CHECK(view.failure().code == means);
        CHECK(view.failure().operation == std::string("initialise CUDA"));
        CHECK(std::string(view.failure().remedy).find(part) != std::string::npos);
    }
    scene const machine("cuinit 100\n" + line(0, "0000:17:00.0"));
    CHECK(seen({}).empty());
}

TEST_CASE("a driver that hangs or ends the process costs the question and nothing else") {
    {
        scene const machine("cuinit hang\n");
        auto const begin = process::now();
        auto const view = visible_to_driver({}, milliseconds(200));
        REQUIRE_FALSE(view);
        CHECK(view.failure().code == errc::timed_out);
        CHECK(process::now() - begin < seconds(10));
    }
    scene const machine("cuinit crash\n");
    auto const view = visible_to_driver({});
    REQUIRE_FALSE(view);
    CHECK(view.failure().code == errc::io);
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left, dead or alive
}

TEST_CASE("many threads may ask at once") {
    scene const machine(line(0, "0000:17:00.0") + line(1, "0000:31:00.0"));
    std::vector<names> answers(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < answers.size(); ++i)
        threads.emplace_back(
            [&answers, i] { answers[i] = seen({"CUDA_VISIBLE_DEVICES=" + std::string(uuids[i % 2])}); });
    for (auto& thread : threads) thread.join();
    for (std::size_t i = 0; i < answers.size(); ++i) CHECK(answers[i] == names{uuids[i % 2]});
}

TEST_CASE("the runtime tells no driver from too old a one") {
    auto const reply = [](std::string const& script) {
        scene const machine(script + line(0, "0000:17:00.0"));
        auto const view = find_runtime();
        REQUIRE(view);
        CHECK(view->library == "libcudart.so.13");
        CHECK(view->runtime == 13000);
        auto const fine = usable(*view);
        return fine ? std::to_string(view->devices) : std::string(fine.failure().remedy);
    };
    CHECK(reply("") == "1");
    CHECK(reply("runtime 13000 0 35\n") == "no NVIDIA driver is loaded: install it, or run jobs that need no GPU");
    CHECK(reply("runtime 13000 12020 35\n") ==
          "the driver is older than this runtime: update the driver, or use programs built for an older CUDA");
    CHECK(reply("runtime 13000 13000 100\n").starts_with("this mask and this container allow no GPU"));
}
