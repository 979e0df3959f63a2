// SPDX-License-Identifier: BSL-1.0
// Holds a log with every kind of event against the tables of docs/event-log.md.
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "events/event_log.hpp"
#include "sample_events.hpp"
#include "support/catch.hpp"
#include "temporary.hpp"

using namespace ration::program;
using nlohmann::json;

namespace {

using fields = std::map<std::string, std::string>;  // name to type

/// The tables of the document by the heading above them. A row may list several fields of one type.
[[nodiscard]] std::map<std::string, fields> documented() {
    std::map<std::string, fields> out;
    std::ifstream in(RATION_LOG_SCHEMA);
    std::string heading;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("## ") || line.starts_with("### ")) heading = line.substr(line.find(' ') + 1);
        if (!line.starts_with("| `")) continue;
        std::size_t const names_end = line.find(" | "), type = names_end + 3, type_end = line.find(" |", type);
        for (std::size_t begin = 2, end = 0; begin < names_end; begin = line.find('`', end + 1)) {
            end = line.find('`', begin + 1);
            out[heading][line.substr(begin + 1, end - begin - 1)] = line.substr(type, type_end - type);
        }
    }
    return out;
}

class checker {
    std::map<std::string, fields> tables_ = documented();

public:
    [[nodiscard]] bool knows(std::string const& table) const { return tables_.contains(table); }
    [[nodiscard]] std::map<std::string, fields> const& tables() const { return tables_; }

    /// Empty, or what does not fit.
    [[nodiscard]] std::string misfit(json const& v, std::string type) const {
        if (type.ends_with(" or null")) {
            if (v.is_null()) return {};
            type.resize(type.size() - 8);
        }
        if (type.starts_with("array of ")) return misfit_of_elements(v, type.substr(9));
        if (type == "texts") return misfit_of_elements(v, "text");
        if (type == "columns") return misfit_of_columns(v);
        if (type == "widths") return misfit_of_widths(v);
        if (type == "parameters") return misfit_of_parameters(v);
        if (tables_.contains(type)) return misfit_of_table(v, type, {});
        bool const fits = type == "text"      ? v.is_string()
                          : type == "integer" ? v.is_number_integer()
                          : type == "boolean" ? v.is_boolean()
                          : type == "number"  ? v.is_number() || v == "nan" || v == "inf" || v == "-inf"
                          : type == "amount"  ? v.is_number_integer() || v == "unlimited"
                                              : false;
        return fits ? std::string() : v.dump() + " is not of type " + type;
    }

    /// `besides`: fields that need not be in the table.
    [[nodiscard]] std::string misfit_of_table(json const& v, std::string const& name,
                                              std::set<std::string> const& besides) const {
        if (!v.is_object()) return name + " is no object";
        for (auto const& [field, type] : tables_.at(name)) {
            if (!v.contains(field)) return name + " lacks the documented field " + field;
            if (auto const m = misfit(v[field], type); !m.empty()) return name + "." + field + ": " + m;
        }
        for (auto const& [field, content] : v.items())
            if (!tables_.at(name).contains(field) && !besides.contains(field))
                return name + " has the undocumented field " + field;
        return {};
    }

private:
    [[nodiscard]] std::string misfit_of_elements(json const& v, std::string const& type) const {
        if (!v.is_array()) return "no array";
        for (auto const& element : v)
            if (auto const m = misfit(element, type); !m.empty()) return m;
        return {};
    }
    [[nodiscard]] std::string misfit_of_widths(json const& v) const {
        if (!v.is_object()) return "no object";
        for (auto const& [name, width] : v.items())
            if (auto const m = misfit(width, "integer"); !m.empty()) return name + ": " + m;
        return {};
    }
    [[nodiscard]] static std::string misfit_of_parameters(json const& v) {
        if (!v.is_object()) return "no object";
        for (auto const& [name, value] : v.items())
            if (value.is_structured() || value.is_null()) return name + " is no parameter";
        return {};
    }
    [[nodiscard]] std::string misfit_of_columns(json const& v) const {
        if (!v.is_object()) return "no object";
        for (auto const& [name, values] : v.items())
            if (auto const m = misfit_of_elements(values, "number"); !m.empty()) return name + ": " + m;
        return {};
    }
};

}  // namespace

TEST_CASE("event log schema: a log has the fields that are documented, and no others") {
    temporary_file const file;
    {
        sample_events const samples;
        auto log = event_log::open(file.path());
        REQUIRE(log);
        for (auto const& e : samples.all) log->write(e);
        CHECK(log->close().empty());
    }
    std::ofstream(file.path(), std::ios::app) << "{\"event\":\"lost\",\"t\":1,\"count\":5}\n";

    checker const schema;
    std::set<std::string> seen;
    std::ifstream in(file.path());
    for (std::string line; std::getline(in, line);) {
        auto const e = json::parse(line);
        std::string const name = e["event"];
        INFO(line);
        REQUIRE(schema.knows(name));
        CHECK(schema.misfit_of_table(e, name, {"event", "t"}) == "");
        CHECK(e["t"].is_number_integer());
        seen.insert(name);
    }
    for (auto const& [name, table] : schema.tables()) {
        bool const part = name == "machine" || name == "control" || name == "grant" || name == "summary";
        if (name != "The event log" && !name.empty() && !part) CHECK(seen.contains(name));
    }
    CHECK(seen.size() == std::variant_size_v<event_body> + 1);
}

TEST_CASE("event log schema: the checker can refuse a log") {
    checker const schema;
    json const good = json::parse(R"({"event":"lost","t":1,"count":5})");
    CHECK(schema.misfit_of_table(good, "lost", {"event", "t"}).empty());
    CHECK_FALSE(schema.misfit_of_table(json::parse(R"({"count":"5"})"), "lost", {}).empty());
    CHECK_FALSE(schema.misfit_of_table(json::parse(R"({})"), "lost", {}).empty());
    CHECK_FALSE(schema.misfit_of_table(json::parse(R"({"count":5,"more":1})"), "lost", {}).empty());
    CHECK_FALSE(schema.misfit(json::parse("null"), "integer").empty());
    CHECK(schema.misfit(json::parse("null"), "integer or null").empty());
    CHECK_FALSE(schema.misfit(json::parse("[1,\"x\"]"), "array of integer").empty());
    CHECK_FALSE(schema.misfit(json::parse("1"), "no such type").empty());
}
