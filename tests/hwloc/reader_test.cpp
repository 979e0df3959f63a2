// SPDX-License-Identifier: BSL-1.0
// The reader turns recorded machines, synthetic ones and this one into plain data; it refuses input without a machine.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <ration/hwloc/placement.hpp>
#include <ration/hwloc/reader.hpp>

#include "support/catch.hpp"

using namespace ration;
using namespace ration::hwloc;
namespace fs = std::filesystem;

namespace {

[[nodiscard]] machine recorded(std::string const& name) {
    auto read = read_xml(fs::path(RATION_MACHINES) / (name + ".xml"));
    if (!read) FAIL(read.failure().subject.view() << ": " << read.failure().remedy);
    return std::move(*read);
}

/// A file with this text, as long as it is needed.
class written {
    fs::path path_ = fs::temp_directory_path() / ("ration-machine-" + std::to_string(::getpid()) + ".xml");

public:
    explicit written(std::string const& text) { std::ofstream(path_) << text; }
    ~written() { fs::remove(path_); }
    written(written const&) = delete;
    written& operator=(written const&) = delete;
    [[nodiscard]] fs::path const& path() const { return path_; }
};

[[nodiscard]] std::string content_of(fs::path const& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

template <class T>
[[nodiscard]] std::string refusal(result<T> const& r) {
    return r ? "accepted" : std::string(name_of(r.failure().code)) + ": " + r.failure().remedy;
}

constexpr auto no_machine =
    "invalid value: this is not a machine that this version of hwloc reads: write it again with lstopo machine.xml";

}  // namespace

TEST_CASE("GPUs are named by the bus, whatever their number is elsewhere, and a console is none") {
    machine const m = recorded("dgx_1");
    REQUIRE(m.gpus.size() == 8);
    CHECK(m.gpus[0].pci == "0000:06:00.0");
    CHECK(m.gpus[7].pci == "0000:8a:00.0");
    for (std::size_t i = 0; i < 8; ++i) {
        CHECK(m.gpus[i].node == i / 4);
        CHECK(m.gpus[i].package == i / 4);
        CHECK(m.gpus[i].pcie_switch == i / 2);
    }
    CHECK(m.nvlink[0 * 8 + 3] == 50'000);  // nvml7 and nvml4 there
    CHECK(m.nvlink[0 * 8 + 1] == 25'000);
    CHECK(m.nvlink[0 * 8 + 5] == 0);
    CHECK(m.nvlink[0] == 0);
    CHECK(m.cores.size() == 40);
    CHECK(m.cores[20].pus == std::vector<std::uint32_t>{20, 60});
    CHECK(m.latency == std::vector<std::uint32_t>{10, 21, 21, 10});
}

TEST_CASE("GPUs behind NVSwitches have what they can send through all of them") {
    machine const m = recorded("nvswitch");
    REQUIRE(m.nvlink.size() == 16);
    for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 4; ++j) CHECK(m.nvlink[i * 4 + j] == (i == j ? 0 : 300'000));
}

TEST_CASE("cores below one cache belong to the memory of their cluster, never to HBM or to memory without CPUs") {
    machine const m = recorded("sub_numa");
    REQUIRE(m.nodes.size() == 17);
    for (std::size_t i = 0; i < m.cores.size(); ++i) {
        CHECK(m.nodes[m.cores[i].node].number == i / 14);
        CHECK(m.cores[i].l3 == i / 56);
    }
    for (numa_node const& one : m.nodes)
        CHECK(one.kind == (one.number < 8    ? memory_kind::normal
                           : one.number < 16 ? memory_kind::high_bandwidth
                                             : memory_kind::without_cpus));
    CHECK(m.nodes[0].memory.count == std::int64_t{32} << 30);
    CHECK(m.gpus[1].node == 2);
    auto const on = placer::of(m);
    REQUIRE(on);
    CHECK(on->map().domains().size() == 8);
}

TEST_CASE("cores belong to normal memory also where HBM has the lower number") {
    std::string text = content_of(fs::path(RATION_MACHINES) / "sub_numa.xml");
    auto const first = text.find("os_index=\"0\"", text.find("\"NUMANode\""));
    text.insert(first + 12, " subtype=\"HBM\"");
    text.erase(text.find(" subtype=\"HBM\"", text.find("os_index=\"8\" subtype")), 14);
    written const file(text);
    auto const m = read_xml(file.path());
    REQUIRE(m);
    CHECK(m->nodes[0].kind == memory_kind::high_bandwidth);
    CHECK(m->nodes[m->cores[0].node].number == 8);
    CHECK(m->nodes[m->cores[14].node].number == 1);
}

TEST_CASE("a node around the others has no CPUs, also where nobody says what it is") {
    std::string text = content_of(fs::path(RATION_MACHINES) / "sub_numa.xml");
    text.erase(text.find(" subtype=\"CXL-DRAM\""), 19);
    written const file(text);
    auto const m = read_xml(file.path());
    REQUIRE(m);
    CHECK(m->nodes.back().kind == memory_kind::without_cpus);
}

TEST_CASE("kinds of cores are ordered by speed") {
    machine const m = recorded("hybrid");
    REQUIRE(m.cores.size() == 24);
    CHECK(m.cores[7].kind == 1);
    CHECK(m.cores[7].pus.size() == 2);
    CHECK(m.cores[8].kind == 0);
    CHECK(m.gpus.size() == 1);
    CHECK(recorded("desktop").cores[0].kind == 0);
}

TEST_CASE("a synthetic machine has what its description says") {
    auto const m = read_synthetic("Package:2 [NUMANode(memory=64GiB)] L3Cache:2(size=32MiB) Core:4 PU:2");
    REQUIRE(m);
    CHECK(m->cores.size() == 16);
    CHECK(m->nodes.size() == 2);
    CHECK(m->nodes[1].memory.count == std::int64_t{64} << 30);
    CHECK(m->cores[15].l3 == 3);
    CHECK(m->cores[15].node == 1);
    CHECK(m->cores[15].pus == std::vector<std::uint32_t>{30, 31});
    CHECK(m->gpus.empty());
    CHECK(read_synthetic("Package:2 PU:3")->cores.size() == 6);  // without cores, CPUs are
}

TEST_CASE("a synthetic description that is wrong or too large is refused before it is built") {
    std::string const wrong =
        "invalid value: write levels with their counts: Package:2 [NUMANode(memory=64GiB)] L3Cache:2 Core:4 PU:2";
    std::string const large = "out of range: a machine has 65536 CPUs at most";
    CHECK(refusal(read_synthetic("")) == wrong);
    CHECK(refusal(read_synthetic("Package:two PU:1")) == wrong);
    CHECK(refusal(read_synthetic("Package:2 Lake:4")) == wrong);
    CHECK(refusal(read_synthetic("Package:65537 PU:1")) == large);
    CHECK(refusal(read_synthetic("Package:4096 Core:4096 PU:2")) == large);
    CHECK(refusal(read_synthetic("4096 4096")) == large);
    CHECK(refusal(read_synthetic("Package:99999999999999999999 PU:1")) == large);
    CHECK(refusal(read_synthetic("Package:2 Core:0x7fffffff PU:1")) == wrong);
    CHECK(refusal(read_synthetic("Package:2 Core:-1 PU:1")) == wrong);
    CHECK(refusal(read_synthetic("Package:2 ) Core:4096 PU:4096")) == wrong);
    CHECK(refusal(read_synthetic("Package:2 [NUMANode(memory=1GiB) Core:4096 PU:4096")) == wrong);
    CHECK(detail::cpus_of("Package:2(indexes=0,1:99999) [NUMANode(memory=64GiB)] Core:300 PU:2", 65'537) == 1200U);
    CHECK(detail::cpus_of("Package:2 Core:32768 PU:1", 65'537) == 65'536U);
    CHECK(detail::cpus_of("Package:2 Core:32768 PU:2", 65'537) == 65'537U);
    CHECK(detail::cpus_of("Package:0 Core:32768 PU:65536 PU:65536 PU:65536 PU:65536 PU:65536", 65'537) == 0U);
}

TEST_CASE("a file that is no machine is refused when it is loaded, not later") {
    fs::path const pipe = fs::temp_directory_path() / ("ration-machine-" + std::to_string(::getpid()));
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    // And does not wait for a writer
    CHECK(refusal(read_xml(pipe)) == "invalid value: name a file that lstopo wrote: lstopo machine.xml");
    fs::remove(pipe);
    CHECK(refusal(read_xml("/dev/zero")) == "invalid value: name a file that lstopo wrote: lstopo machine.xml");
    CHECK(refusal(read_xml("/nonexistent/machine.xml")) ==
          "not found: name a file that lstopo wrote: lstopo machine.xml");
    CHECK(refusal(read_xml(written("").path())) == no_machine);
    CHECK(refusal(read_xml(written("<topology version=\"2.0\"></topology>").path())) == no_machine);
    CHECK(refusal(read_xml(written("not XML at all").path())) == no_machine);
    std::string const whole = content_of(fs::path(RATION_MACHINES) / "hybrid.xml");
    for (std::size_t part = 1; part < 8; ++part) {
        written const file(whole.substr(0, whole.size() * part / 8));
        CHECK_FALSE(read_xml(file.path()));
    }
}

TEST_CASE("objects without their sets, or with broken ones, never reach hwloc") {
    std::string const whole = content_of(fs::path(RATION_MACHINES) / "hybrid.xml");
    CHECK(detail::has_all_sets(whole));
    for (std::string const set : {" cpuset=", " complete_cpuset=", " nodeset=", " complete_nodeset="}) {
        std::string without = whole, broken = whole;
        auto const core = whole.find("type=\"Core\"");
        without.replace(whole.find(set, core), set.size(), " none=");
        broken.insert(whole.find(set, core) + set.size() + 4, "=");
        CHECK(refusal(read_xml(written(without).path())) == no_machine);
        CHECK(refusal(read_xml(written(broken).path())) == no_machine);
    }
    CHECK_FALSE(detail::has_all_sets("<object gp_index=\"1\">"));
    CHECK(detail::has_all_sets("<object gp_index=\"1\" type=\"Misc\"/>"));
}

TEST_CASE("this machine is read whole, and not what hwloc is told to show instead") {
    auto const m = read_this_machine();
    REQUIRE(m);
    CHECK(check(*m));
    std::size_t cpus = 0;
    for (core const& one : m->cores) cpus += one.pus.size();
    CHECK(cpus == static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
    ::setenv("HWLOC_SYNTHETIC", "Package:3 PU:1", 1);
    std::string const reply = refusal(read_this_machine());
    ::unsetenv("HWLOC_SYNTHETIC");
    CHECK(reply == "conflict: hwloc shows another machine: unset HWLOC_XMLFILE, HWLOC_SYNTHETIC and HWLOC_FSROOT");
}
