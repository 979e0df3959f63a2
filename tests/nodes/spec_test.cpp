// SPDX-License-Identifier: BSL-1.0
// The nodes that the command line names, and how they divide this machine.
#include <string>
#include <vector>

#include "nodes/cluster_spec.hpp"
#include "nodes/slurm_allocation.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

namespace {

[[nodiscard]] run_config with_devices(std::uint32_t count) {
    run_config config;
    config.cpus = 1;
    config.devices.count = count;
    config.devices.each = {250};
    return config;
}

[[nodiscard]] std::string fault(std::string_view word, std::vector<std::string> const& hosts, run_config const& config,
                                std::vector<std::string> const& gpus = {}) {
    auto const read = read_nodes(word, hosts, config, gpus, "/bin/ration");
    return read ? "" : read.failure().file + ": " + read.failure().text;
}

}  // namespace

TEST_CASE("local nodes divide the devices of this machine") {
    auto const nodes = read_nodes("local:3", {}, with_devices(8), {}, "/bin/ration");
    REQUIRE(nodes);
    REQUIRE(nodes->size() == 3);
    CHECK((*nodes)[0].name == "local-1");
    CHECK((*nodes)[0].command == std::vector<std::string>{"/bin/ration", "node"});
    CHECK((*nodes)[0].devices == 3u);
    CHECK((*nodes)[1].devices == 3u);
    CHECK((*nodes)[2].devices == 2u);
    CHECK((*nodes)[2].cpus == 1u);

    auto const gpus = read_nodes("local:2", {}, run_config{}, {"GPU-a", "GPU-b", "GPU-c"}, "/bin/ration");
    REQUIRE(gpus);
    CHECK((*gpus)[0].environment == std::vector<std::string>{"CUDA_VISIBLE_DEVICES=GPU-a,GPU-b"});
    CHECK((*gpus)[1].environment == std::vector<std::string>{"CUDA_VISIBLE_DEVICES=GPU-c"});
    CHECK(!(*gpus)[0].devices);
}

TEST_CASE("a command runs once for each host") {
    auto const nodes = read_nodes("ssh {host} 'cd /home/{host}; ration node'", {"a", "u@b-1.c"}, {}, {}, "ration");
    REQUIRE(nodes);
    REQUIRE(nodes->size() == 2);
    CHECK((*nodes)[1].name == "u@b-1.c");
    CHECK((*nodes)[1].command ==
          std::vector<std::string>{"/bin/sh", "-c", "ssh u@b-1.c 'cd /home/u@b-1.c; ration node'"});
}

TEST_CASE("wrong nodes cost one sentence") {
    CHECK(fault("local:2", {"a"}, with_devices(4)) == "--hosts: local nodes have no hosts; leave it out");
    CHECK(
        fault("local:5", {}, with_devices(4)) ==
        "--nodes: 5 nodes cannot divide 4 devices; name fewer nodes, or write devices = { count = 10, cpu = 0.5 } into "
        "the jobs file");
    CHECK(fault("ssh {host}", {}, {}) == "--nodes: its {host} has no value; name the hosts: --hosts a,b");
    CHECK(fault("ssh {host}", {"a", "a"}, {}) == "--hosts: 'a' is there twice; name it once");
    for (std::string const host : {"a;rm", "-oProxyCommand=x", "$(x)", "a b", ""})
        CHECK(fault("ssh {host}", {host}, {}) ==
              "--hosts: '" + host + "' is not the name of a host; write letters, digits, '.', '-', '_' and '@'");
    run_config shares;
    shares.devices.count = 4;
    shares.devices.per_mille = 250;
    CHECK(fault("local:2", {}, shares, {"GPU-a/0"}) ==
          "--nodes: local nodes cannot divide shares of a GPU; write devices = \"gpus\" or CPU devices");
    CHECK(!check_nodes("local:1025"));
    CHECK(!check_nodes("local:2x"));
    CHECK(!check_nodes("ssh n1 ration node"));
    CHECK(check_nodes("local:1"));
    CHECK(check_nodes("slurm"));
    CHECK(!check_nodes("slurm:2"));
}

TEST_CASE("the CPUs of an allocation are those of each of its nodes") {
    using counts = std::vector<std::uint32_t>;
    CHECK(read_cpus_per_node("13,1(x3)") == counts{13, 1, 1, 1});
    CHECK(read_cpus_per_node("2(x2),4") == counts{2, 2, 4});
    for (auto const* const wrong :
         {"", "x", "1,", "0", "1(x0)", "1(x2", "1(2)", "1(x2)3", "1(x1025)", "-1", "1(x", "99999999999"}) {
        INFO(wrong);
        CHECK(read_cpus_per_node(wrong).empty());
    }
}

TEST_CASE("the jobs of an allocation are saved before its end, and not before half of it is over") {
    CHECK(time_to_save(seconds(150), seconds(3600)) == seconds(150));
    CHECK(time_to_save(seconds(150), seconds(100)) == seconds(50));
    CHECK(time_to_save(seconds(150), {}) == nanoseconds{});
}
