// SPDX-License-Identifier: BSL-1.0
// The file of phase models, and what becomes of damaged ones.
#include "run/phase_models.hpp"

#include <cstring>
#include <string>
#include <string_view>

#include "support/catch.hpp"

using namespace ration::program;

namespace {

constexpr std::string_view document =
    R"({"classes":[{"class":"vae","period":2,"horizon":60,"cpu":{"mean":500,"deviation":100},)"
    R"("memory":{"mean":1e9,"deviation":1e8},"phases":[{"samples":7,"centre":[1,2,3,4,5,6,7,8],)"
    R"("cpu":[1,2,3,4],"memory":[5,6,7,8.5]}]}]})";

/// The sentence on a document in which `from` is replaced by `to`.
[[nodiscard]] std::string refused(std::string_view from, std::string_view to) {
    std::string text(document);
    text.replace(text.find(from), from.size(), to);
    auto const read = parse_phase_models(text);
    return read ? "it is accepted" : read.failure().text;
}

[[nodiscard]] std::string sentence(std::string_view what) {
    return std::string(what) + "; name a file that 'ration measure phases --json' wrote";
}

}  // namespace

TEST_CASE("phase models: a file is read as it was written") {
    auto const read = parse_phase_models(document);
    REQUIRE(read);
    REQUIRE(read->models.size() == 1);
    CHECK(read->models[0].count == 1);
    CHECK(read->models[0].cpu.mean == 500);
    CHECK(read->models[0].phases[0].memory[3] == 8.5);
    CHECK(read->models[0].phases[0].samples == 7);
    auto const again = parse_phase_models(phase_models_json(*read));
    REQUIRE(again);
    CHECK(again->classes == read->classes);
    CHECK(std::memcmp(&again->models[0].phases, &read->models[0].phases, sizeof read->models[0].phases) == 0);
    CHECK(read->class_of("vae") == 0);
    CHECK(read->class_of("cnn") == 1);
}

TEST_CASE("phase models: damaged files are refused") {
    CHECK(refused("{", "[") == sentence("it has no list 'classes'"));
    CHECK(refused("\"classes\":[", "\"classes\":7,\"x\":[") == sentence("it has no list 'classes'"));
    CHECK(refused("\"period\":2", "\"period\":\"2\"") == sentence("a class has a missing or a wrong value"));
    CHECK(refused("\"horizon\":60,", "") == sentence("a class has a missing or a wrong value"));
    CHECK(refused("\"period\":2", "\"period\":0") == sentence("class 'vae' has impossible values"));
    CHECK(refused("\"deviation\":1e8", "\"deviation\":-1") == sentence("class 'vae' has impossible values"));
    CHECK(refused("[1,2,3,4]", "[4,3,2,1]") == sentence("class 'vae' has impossible values"));
    CHECK(refused("[1,2,3,4]", "[1,2,3]") == sentence("class 'vae' has impossible values"));
    CHECK(refused("\"phases\":[", "\"phases\":{},\"x\":[") == sentence("class 'vae' has impossible values"));
    CHECK(parse_phase_models("").failure().text == sentence("it has no list 'classes'"));
    CHECK(parse_phase_models(R"({"classes":[]})").failure().text == sentence("it has no class"));
    std::string twice(document);
    std::string const one = twice.substr(12, twice.size() - 14);
    CHECK(parse_phase_models(R"({"classes":[)" + one + ',' + one + "]}").failure().text ==
          sentence("class 'vae' is there twice"));
}
