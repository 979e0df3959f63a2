// SPDX-License-Identifier: BSL-1.0
#include "nodes/cluster_spec.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <span>

#include <ration/process/cpus.hpp>

#include "common/printable.hpp"
#include "nodes/node_name.hpp"

namespace ration::program {
namespace {

constexpr std::string_view local_word = "local:", host_mark = "{host}";

/// N of "local:N".
[[nodiscard]] std::optional<std::size_t> count_of(std::string_view word) {
    if (!word.starts_with(local_word)) return std::nullopt;
    word.remove_prefix(local_word.size());
    std::size_t count = 0;
    auto const read = std::from_chars(word.data(), word.data() + word.size(), count);
    bool const whole = read.ec == std::errc() && read.ptr == word.data() + word.size();
    return whole && count >= 1 && count <= most_nodes ? std::optional(count) : std::nullopt;
}

[[nodiscard]] std::string with_host(std::string_view command, std::string_view host) {
    std::string out(command);
    for (auto at = out.find(host_mark); at != out.npos; at = out.find(host_mark, at + host.size()))
        out.replace(at, host_mark.size(), host);
    return out;
}

/// The share of node `at` of `count` things, the first nodes one more.
[[nodiscard]] std::size_t share_of(std::size_t things, std::size_t count, std::size_t at) noexcept {
    return things / count + (at < things % count ? 1 : 0);
}

[[nodiscard]] result<std::vector<node_spec>, diagnostic> local_nodes(std::size_t count, run_config const& config,
                                                                     std::vector<std::string> const& gpus,
                                                                     std::string const& program) {
    if (config.devices.of_shares())
        return diagnostic{.file = "--nodes",
                          .text = "local nodes cannot divide shares of a GPU; write devices = \"gpus\" or CPU devices"};
    std::size_t const devices = config.devices.of_cpu() ? config.devices.count : gpus.size();
    if (devices < count)
        return diagnostic{.file = "--nodes",
                          .text = fmt::format("{} nodes cannot divide {} device{}; name fewer nodes, or write devices "
                                              "= {{ count = {}, cpu = 0.5 }} into the jobs file",
                                              count, devices, devices == 1 ? "" : "s", 2 * count)};
    auto const here = static_cast<std::size_t>(process::cpu_set::of_thread(0).size());
    std::size_t const cpus = std::min<std::size_t>(here, config.cpus.value_or(static_cast<std::uint32_t>(here)));
    std::vector<node_spec> out;
    std::span<std::string const> left = gpus;
    for (std::size_t i = 0; i < count; ++i) {
        auto const mine = share_of(devices, count, i);
        node_spec node{.name = fmt::format("local-{}", i + 1), .command = {program, "node"}};
        node.cpus = static_cast<std::uint32_t>(std::max<std::size_t>(1, share_of(cpus, count, i)));
        if (config.devices.of_cpu()) {
            node.devices = static_cast<std::uint32_t>(mine);
        } else {
            node.environment.push_back(fmt::format("CUDA_VISIBLE_DEVICES={}", fmt::join(left.first(mine), ",")));
            left = left.subspan(mine);
        }
        out.push_back(std::move(node));
    }
    return out;
}

}  // namespace

result<void, diagnostic> check_nodes(std::string_view word) {
    bool const is_template = word.find(host_mark) != word.npos && !word.starts_with(local_word);
    if (is_template || count_of(word) || word == slurm_nodes) return {};
    return diagnostic{.text = fmt::format("{} names no nodes; write local:2, slurm, or a command such as 'ssh {{host}} "
                                          "ration node'",
                                          quoted(word))};
}

result<std::vector<node_spec>, diagnostic> read_nodes(std::string_view word, std::vector<std::string> const& hosts,
                                                      run_config const& config, std::vector<std::string> const& gpus,
                                                      std::string const& program) {
    if (auto const count = count_of(word)) {
        if (!hosts.empty()) return diagnostic{.file = "--hosts", .text = "local nodes have no hosts; leave it out"};
        return local_nodes(*count, config, gpus, program);
    }
    if (hosts.empty())
        return diagnostic{.file = "--nodes", .text = "its {host} has no value; name the hosts: --hosts a,b"};
    if (hosts.size() > most_nodes)
        return diagnostic{.file = "--hosts", .text = fmt::format("more than {} hosts; name fewer", most_nodes)};
    std::vector<node_spec> out;
    for (auto const& host : hosts) {
        if (!is_node_name(host))
            return diagnostic{.file = "--hosts",
                              .text = fmt::format("{} is not the name of a host; write letters, digits, '.', '-', '_' "
                                                  "and '@'",
                                                  quoted(host))};
        if (std::ranges::find(out, host, &node_spec::name) != out.end())
            return diagnostic{.file = "--hosts", .text = fmt::format("{} is there twice; name it once", quoted(host))};
        out.push_back({.name = host, .command = {"/bin/sh", "-c", with_host(word, host)}});
    }
    return out;
}

}  // namespace ration::program
