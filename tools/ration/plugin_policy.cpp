// SPDX-License-Identifier: BSL-1.0
#include "plugin_policy.hpp"

#include <filesystem>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <ration/plugin/host.hpp>
#include <ration/plugin/host/worker_main.hpp>

#include "error_text.hpp"

namespace ration::program {
namespace {

/// The host takes whole paths only, and no links: what a path means must not change between the check and the load.
[[nodiscard]] std::string whole_path(std::string_view path) {
    std::error_code failed;
    auto const found = std::filesystem::canonical(path, failed);
    return failed ? std::filesystem::absolute(path).lexically_normal().string() : found.string();
}

/// The parameters of the file as the plugin takes them: one flat object.
[[nodiscard]] std::string as_json(policy_parameters const* given) {
    if (given == nullptr) return {};
    auto json = nlohmann::ordered_json::object();
    for (auto const& p : given->parameters)
        std::visit([&](auto const& value) { json[p.name] = value; }, p.value);
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

int plugin_worker() { return plugin::worker_main(); }

result<plugin_description> describe_plugin(std::string const& path) {
    auto const file = plugin::plugin_file::open(whole_path(path));
    if (!file) return file.failure();
    auto const text = [](auto const& field) { return std::string(plugin::detail::text_in(field)); };
    auto const& m = file->manifest;
    plugin_description about{.path = path, .name = text(m.name), .id = text(m.id), .version = text(m.version), .vendor = text(m.vendor),
                             .license = text(m.license), .summary = text(m.summary), .parameters = text(m.parameters), .needs = {}};
    for (auto const line : plugin::detail::lines_of(plugin::detail::text_in(m.needs))) about.needs.emplace_back(line);
    return about;
}

std::unique_ptr<decider> open_plugin(std::string_view path, position at, policy_parameters const* parameters,
                                     std::vector<problem>& problems) {
    std::string const config = as_json(parameters);
    auto opened = plugin::open(whole_path(path), {.where = plugin::isolation::worker,
                                                  .config = config,
                                                  .worker = {.program = {"/proc/self/exe", {std::string(worker_word)}}},
                                                  .strikes = {}});
    if (opened) return std::move(opened).value();
    bool const its_own_words = std::string_view(opened.failure().operation) == plugin::start_operation;
    problems.push_back({its_own_words && parameters != nullptr ? parameters->at : at,
                        fmt::format("{}: {}", path, its_own_words ? opened.failure().subject.c_str() : to_text(opened.failure()))});
    return nullptr;
}

std::string trouble_of(decider const& policy) {
    auto const* const guarded = dynamic_cast<plugin::guarded_policy const*>(&policy);
    if (guarded == nullptr || guarded->last_fault().kind == plugin::fault_kind::none) return {};
    if (!guarded->quarantined()) return guarded->last_fault().what.c_str();
    return fmt::format("{}; it is not asked any more", std::string_view(guarded->last_fault().what));
}

}  // namespace ration::program
