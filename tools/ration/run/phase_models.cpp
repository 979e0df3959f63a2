// SPDX-License-Identifier: BSL-1.0
#include "run/phase_models.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include <ration/process/input_file.hpp>

#include "common/printable.hpp"
#include "events/json_reader.hpp"
#include "events/json_writer.hpp"

namespace ration::program {
namespace {

using estimators::phase_model;

constexpr char const* models_remedy = "name a file that 'ration measure phases --json' wrote";
constexpr std::size_t most_model_bytes = std::size_t{4} << 20;

void write_scale(json_writer& json, std::string_view name, phase_model::scale const& scale) {
    json.key(name).object([&] {
        json.member("mean", scale.mean);
        json.member("deviation", scale.deviation);
    });
}

void write_numbers(json_writer& json, std::string_view name, std::span<double const> numbers) {
    json.key(name).array([&] {
        for (double const number : numbers) json.value(number);
    });
}

void write_model(json_writer& json, std::string const& name, phase_model const& model) {
    json.object([&] {
        json.member("class", name);
        json.member("period", model.period);
        json.member("horizon", model.horizon);
        write_scale(json, "cpu", model.cpu);
        write_scale(json, "memory", model.memory);
        json.key("phases").array([&] {
            for (std::size_t i = 0; i < model.count; ++i)
                json.object([&] {
                    auto const& phase = model.phases.at(i);
                    json.member("samples", phase.samples);
                    write_numbers(json, "centre", phase.centre);
                    write_numbers(json, "cpu", phase.cpu);
                    write_numbers(json, "memory", phase.memory);
                });
        });
    });
}

// These throw what nlohmann-json throws.

[[nodiscard]] phase_model::scale scale_in(nlohmann::json const& from) {
    return {.mean = from.at("mean").get<double>(), .deviation = from.at("deviation").get<double>()};
}

template <std::size_t N>
[[nodiscard]] bool read_numbers(nlohmann::json const& from, std::array<double, N>& into) {
    if (from.size() != N) return false;
    for (std::size_t i = 0; i < N; ++i) into.at(i) = from.at(i).get<double>();
    return true;
}

[[nodiscard]] std::optional<phase_model> model_in(nlohmann::json const& from) {
    phase_model model;
    model.period = from.at("period").get<double>();
    model.horizon = from.at("horizon").get<double>();
    model.cpu = scale_in(from.at("cpu"));
    model.memory = scale_in(from.at("memory"));
    auto const& phases = from.at("phases");
    if (!phases.is_array() || phases.size() > phase_model::most_phases) return std::nullopt;
    for (auto const& one : phases) {
        auto& phase = model.phases.at(model.count++);
        auto const& samples = one.at("samples");
        if (!samples.is_number_unsigned() || samples.get<std::uint64_t>() > 0xFFFF'FFFF) return std::nullopt;
        phase.samples = samples.get<std::uint32_t>();
        if (!read_numbers(one.at("centre"), phase.centre) || !read_numbers(one.at("cpu"), phase.cpu) ||
            !read_numbers(one.at("memory"), phase.memory))
            return std::nullopt;
    }
    return model.is_valid() ? std::optional(model) : std::nullopt;
}

[[nodiscard]] diagnostic damaged(std::string_view what) { return {.text = fmt::format("{}; {}", what, models_remedy)}; }

}  // namespace

std::uint32_t phase_models::class_of(std::string_view name) const noexcept {
    return static_cast<std::uint32_t>(std::distance(classes.begin(), std::ranges::find(classes, name)));
}

std::string phase_models_json(phase_models const& all) {
    std::string out;
    json_writer json(out);
    json.object([&] {
        json.key("classes").array([&] {
            for (std::size_t i = 0; i < all.models.size(); ++i) write_model(json, all.classes[i], all.models[i]);
        });
    });
    return out;
}

result<phase_models, diagnostic> parse_phase_models(std::string_view text) {
    auto const document = parse_json(text);
    if (!document.is_object() || !document.contains("classes") || !document["classes"].is_array())
        return damaged("it has no list 'classes'");
    if (document["classes"].size() > most_phase_classes)
        return damaged(fmt::format("it has more than {} classes", most_phase_classes));
    phase_models all;
    try {
        for (auto const& one : document["classes"]) {
            auto name = one.at("class").get<std::string>();
            auto const model = model_in(one);
            if (!model) return damaged(fmt::format("class {} has impossible values", quoted(name)));
            if (std::ranges::find(all.classes, name) != all.classes.end())
                return damaged(fmt::format("class {} is there twice", quoted(name)));
            all.classes.push_back(std::move(name));
            all.models.push_back(*model);
        }
    } catch (nlohmann::json::exception const&) {
        return damaged("a class has a missing or a wrong value");
    }
    if (all.empty()) return damaged("it has no class");
    return all;
}

result<phase_models, diagnostic> phase_models_of(run_config const& config) {
    auto const* const given = config.parameters_of("phases");
    if (given == nullptr) return phase_models{};
    auto const at = [&](position where, std::string text) {
        return diagnostic{.file = config.file, .line = where.line, .column = where.column, .text = std::move(text)};
    };
    constexpr char const* example = "write phases = { models = \"phases.json\" }";
    for (auto const& p : given->parameters)
        if (p.name != "models")
            return at(p.name_at, fmt::format("'phases' has no key {}; {}", quoted(p.name), example));
    auto const* const file =
        given->parameters.empty() ? nullptr : std::get_if<std::string>(&given->parameters.front().value);
    if (file == nullptr) return at(given->at, fmt::format("'phases' names no file of models; {}", example));
    auto const path = (std::filesystem::path(config.file).parent_path() / *file).string();
    auto const text = process::read_input(
        path, {.remedy = models_remedy, .most_bytes = most_model_bytes, .too_large = "is larger than 4 MiB"});
    if (!text) return at(given->parameters.front().value_at, process::input_sentence(text.failure()));
    auto models = parse_phase_models(*text);
    if (!models) return in_file(path, models.failure());
    return models;
}

}  // namespace ration::program
