// SPDX-License-Identifier: BSL-1.0
#include <string>

#include <ration/adapt_policies.hpp>
#include <ration/plugin/manifest_of.hpp>

#include "support/catch.hpp"

using namespace ration;
using policies::tradl_parameters;
using policies::tradl_scenario;
using reader = parameter_access<tradl_parameters>;

namespace {

struct mixed {
    double real = -0.125;
    std::int64_t whole = 7;
    bool flag = true;
    [[nodiscard]] static std::string_view problem() noexcept { return {}; }
};

[[nodiscard]] std::string refusal(std::string_view json) {
    tradl_parameters given;
    text<255> wrong;
    CHECK_FALSE(reader::read(json, given, wrong));
    return wrong.c_str();
}

}  // namespace

BOOST_HANA_ADAPT_STRUCT(mixed, real, whole, flag);

TEST_CASE("parameters are read from a flat object, and what it does not name keeps its default", "[parameters]") {
    tradl_parameters given;
    text<255> wrong;
    REQUIRE(reader::read("{\"scenario\":\"AO\",\"alpha\":0.75}", given, wrong));
    CHECK(given.alpha == 0.75);
    CHECK(given.dead_band == tradl_parameters{}.dead_band);
    CHECK(given.scenario == tradl_scenario::AO);
    mixed all;
    REQUIRE(parameter_access<mixed>::read("{\"whole\":-9,\"flag\":false,\"real\":1e-3}", all, wrong));
    CHECK((all.whole == -9 && !all.flag && all.real == 1e-3));
}

TEST_CASE("a wrong parameter is refused with its name and what it may be", "[parameters]") {
    CHECK(refusal("{\"alpa\":1}") == "there is no parameter 'alpa'");
    CHECK(refusal("{\"alpha\":\"x\"}") == "alpha must be a number");
    CHECK(refusal("{\"alpha\":1.0.0}") == "alpha must be a number");
    CHECK(refusal("{\"alpha\":1e999}") == "alpha must be a number");
    CHECK(refusal("{\"alpha\":2}") == "alpha is out of its range: the machine counts as full from this use on, above 0 and at most 1");
    CHECK(refusal("{\"scenario\":\"XX\"}") == "scenario must be one of \"AO\", \"FT\", \"NA\"");
    CHECK(refusal("{\"scenario\":1}") == "scenario must be one of \"AO\", \"FT\", \"NA\"");
    CHECK(refusal("[]") == "the parameters must be one JSON object: {\"name\": value, ...}");
    mixed all;
    text<255> wrong;
    CHECK_FALSE(parameter_access<mixed>::read("{\"whole\":1.5}", all, wrong));
    CHECK(wrong == "whole must be a whole number");
    text<255> truth;
    CHECK_FALSE(parameter_access<mixed>::read("{\"flag\":1}", all, truth));
    CHECK(truth == "flag must be true or false");
}

TEST_CASE("the schema says types, defaults, meaning and range", "[parameters]") {
    constexpr auto schema = [] {
        std::array<char, 512> text{};
        char space[512] = {};
        parameter_access<mixed>::write_schema(plugin::field_writer(space));
        for (std::size_t i = 0; i < text.size(); ++i) text[i] = space[i];
        return text;
    }();
    CHECK(std::string(schema.data()) ==
          "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"real\":{\"type\":\"number\",\"default\":-0.125},"
          "\"whole\":{\"type\":\"integer\",\"default\":7},\"flag\":{\"type\":\"boolean\",\"default\":true}}}");
    constexpr auto manifest = plugin::manifest_of<policies::tradl>();
    std::string const whole = manifest.parameters;
    CHECK(whole.find("\"alpha\":{\"type\":\"number\",\"default\":0.9,\"description\":") != whole.npos);
    CHECK(whole.find("\"scenario\":{\"enum\":[\"AO\",\"FT\",\"NA\"],\"default\":\"FT\"") != whole.npos);
    CHECK(whole.find("\"minimum\":0,\"maximum\":1}") != whole.npos);
}
