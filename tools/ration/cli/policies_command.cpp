// SPDX-License-Identifier: BSL-1.0
#include "cli/policies_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/ranges.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "common/suggestion.hpp"
#include "events/json_reader.hpp"
#include "policies/plugin_policy.hpp"
#include "policies/policy_registry.hpp"
#include "run/live_estimators.hpp"

namespace ration::program {
namespace {

/// A policy as it is listed, wherever it comes from; or an estimator from a file.
struct listed {
    std::string name, id, version, summary, vendor, license;
    std::string place;                    ///< "compiled in", or the file
    std::string schema;                   ///< of its parameters; empty when it takes none
    std::vector<std::string> reads;       ///< names of columns
    std::string_view isolation;           ///< "worker", "worker only"; "none" when it is compiled in
    std::vector<std::string> computes{};  ///< names of columns; only of an estimator
};

[[nodiscard]] listed as_listed(known_policy const& p) {
    listed one{std::string(p.name),
               std::string(p.about.id),
               std::string(p.about.version),
               std::string(p.about.summary),
               "ration",
               "BSL-1.0",
               "compiled in",
               p.schema,
               {},
               "none"};
    for (auto const& column : p.reads) one.reads.emplace_back(column.name);
    return one;
}

[[nodiscard]] listed as_listed(plugin_description const& p) {
    listed one{p.name,    p.id,   p.version,    p.summary, p.vendor,
               p.license, p.path, p.parameters, {},        p.worker_only ? "worker only" : "worker"};
    for (auto const& line : p.needs) one.reads.push_back(line.substr(0, line.find(' ')));
    one.computes = p.computes;
    return one;
}

/// The files of a folder that may be plugins, or the file itself.
[[nodiscard]] std::vector<std::string> files_of(std::string const& path) {
    std::error_code failed;
    if (!std::filesystem::is_directory(path, failed)) return {path};
    std::vector<std::string> files;
    for (auto const& entry : std::filesystem::directory_iterator(path, failed))
        if (entry.path().extension() == ".so") files.push_back(entry.path().string());
    std::ranges::sort(files);
    return files;
}

[[nodiscard]] std::vector<listed> list(std::vector<std::string> const& paths, exit_code& code) {
    std::vector<listed> all;
    for (auto const& p : known_policies()) all.push_back(as_listed(p));
    for (auto const& path : paths)
        for (auto const& file : files_of(path)) {
            if (auto const described = describe_plugin(file)) {
                all.push_back(as_listed(*described));
            } else {
                std::fprintf(stderr, "ration: %s\n",
                             printable(fmt::format("{}: {}", file, to_text(described.failure()))).c_str());
                code = exit_code::bad_input;
            }
        }
    return all;
}

/// The columns that it reads and that `ration run` estimates.
[[nodiscard]] std::vector<std::string> estimated_for(listed const& p) {
    std::vector<std::string> names;
    std::ranges::copy_if(p.reads, std::back_inserter(names), [](std::string const& name) {
        return std::ranges::find(estimated_columns, name) != estimated_columns.end();
    });
    return names;
}

[[nodiscard]] nlohmann::ordered_json as_json(listed const& p) {
    auto const schema = parse_json<nlohmann::ordered_json>(p.schema);
    nlohmann::ordered_json json{{"name", p.name},
                                {"id", p.id},
                                {"version", p.version},
                                {"summary", p.summary},
                                {"vendor", p.vendor},
                                {"license", p.license},
                                {"where", p.place},
                                {"isolation", p.isolation},
                                {"reads", p.reads},
                                {"estimated_in_runs", estimated_for(p)},
                                {"parameters", schema.is_discarded() ? nlohmann::ordered_json(nullptr) : schema}};
    if (!p.computes.empty()) json["computes"] = p.computes;
    return json;
}

/// The value after `key` of one parameter's schema, as people write it; empty when there is none.
[[nodiscard]] std::string text_of(nlohmann::ordered_json const& parameter, char const* key) {
    auto const found = parameter.find(key);
    if (found == parameter.end()) return {};
    return found->is_string() ? found->get<std::string>() : found->dump();
}

/// A line with texts that a file may have brought.
void report(std::string const& line) { std::puts(printable(line).c_str()); }

[[nodiscard]] std::string_view vouching(listed const& p) {
    return p.vendor.empty() ? "an unnamed vendor" : std::string_view(p.vendor);
}

/// Where it runs, and from where it comes.
[[nodiscard]] std::string whereabouts(listed const& p) {
    if (p.isolation == "none") return p.place;
    bool const only = p.isolation == "worker only";
    return fmt::format("runs in a worker process{}: {}",
                       only ? " only" : ", or in-process if the jobs file requests it", p.place);
}

void show(listed const& p) {
    report(fmt::format("{} {}: {}", p.name, p.version, p.summary));
    report(fmt::format("  {}; by {} ({}); {}", p.id, vouching(p), p.license.empty() ? "no license named" : p.license,
                       whereabouts(p)));
    report(fmt::format("  reads {}", fmt::join(p.reads, ", ")));
    if (!p.computes.empty()) report(fmt::format("  an estimator: computes {}", fmt::join(p.computes, ", ")));
    if (auto const estimated = estimated_for(p); !estimated.empty())
        report(fmt::format("  in ration run, estimators compute {}", fmt::join(estimated, ", ")));
    auto const schema = parse_json<nlohmann::ordered_json>(p.schema);
    if (!schema.contains("properties") || !schema["properties"].is_object()) return;
    for (auto const& [name, parameter] : schema["properties"].items()) {
        std::string const words = text_of(parameter, "enum"), least = text_of(parameter, "minimum"),
                          most = text_of(parameter, "maximum");
        report(fmt::format(
            "  {:<16} = {:<14} {}{}{}", name, parameter.contains("default") ? parameter["default"].dump() : "",
            text_of(parameter, "description"), words.empty() ? "" : " " + words,
            least.empty() && most.empty()
                ? ""
                : fmt::format(" [{}, {}]", least.empty() ? "-inf" : least, most.empty() ? "inf" : most)));
    }
}

/// By its name, or by the path of its file.
[[nodiscard]] exit_code show_one(std::vector<listed> const& all, std::string const& name) {
    auto const found = std::ranges::find(all, name, is_plugin_path(name) ? &listed::place : &listed::name);
    if (found != all.end()) {
        show(*found);
        return exit_code::ok;
    }
    std::vector<std::string_view> names;
    names.reserve(all.size());
    for (auto const& p : all) names.push_back(p.name);
    std::fprintf(stderr, "ration: %s\n",
                 printable(fmt::format("unknown policy {}{}", program::quoted(name), suggestion(name, names))).c_str());
    return exit_code::bad_input;
}

}  // namespace

void add_options(CLI::App& to, policies_options& into, option_context& context) {
    to.add_flag("--json", into.json, "As JSON");
    auto* const show =
        to.add_option("--show", into.show, "Describe one policy and its parameters; the path of a .so does as well");
    show->type_name("NAME");
    context.offers[show] = {.words = context.policies};
    to.add_option("PATH", into.paths, "Plugins, or folders of plugins, to list as well")->type_name("");
}

exit_code list_policies(policies_options const& options) {
    auto code = exit_code::ok;
    bool const shows_a_file = is_plugin_path(options.show);
    auto const all = list(shows_a_file ? std::vector{options.show} : options.paths, code);
    if (shows_a_file && code != exit_code::ok) return code;
    if (!options.show.empty()) return show_one(all, options.show);
    if (options.json) {
        auto json = nlohmann::ordered_json::array();
        for (auto const& p : all) json.push_back(as_json(p));
        std::puts(json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).c_str());
        return code;
    }
    for (auto const& p : all)
        report(fmt::format(
            "{:<18} {:<8} {}{}{}", p.name, p.version, p.computes.empty() ? "" : "estimator: ", p.summary,
            p.isolation == "none" ? "" : fmt::format("  ({}, by {}: {})", p.isolation, vouching(p), p.place)));
    report("'ration policies --show NAME' prints the parameters of a policy");
    if (auto const why = why_workers_read_all(); !why.empty() && all.back().isolation != "none")
        report(std::string(why));
    return code;
}

}  // namespace ration::program
