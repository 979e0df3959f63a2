// SPDX-License-Identifier: BSL-1.0
/// The part of JSON Schema 2020-12 that the schemas of `ration decide` use. An unsupported keyword is a misfit, so that
/// no part of a schema goes unchecked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace ration::program::testing {

class json_schema {
    using json = nlohmann::json;
    json root_;

public:
    explicit json_schema(json root) : root_(std::move(root)) {}

    [[nodiscard]] json const& root() const noexcept { return root_; }
    /// The place and the keyword of the first misfit; empty if the value fits.
    [[nodiscard]] std::string misfit(json const& value) const { return misfit(value, root_, ""); }

private:
    [[nodiscard]] std::string misfit(json const& value, json const& schema, std::string const& at) const {
        for (auto const& [keyword, rule] : schema.items())
            if (auto wrong = misfit_of(value, keyword, rule, schema, at); !wrong.empty()) return wrong;
        return {};
    }

    [[nodiscard]] std::string misfit_of(json const& value, std::string const& keyword, json const& rule,
                                        json const& schema, std::string const& at) const {
        auto const no = at + " misfits " + keyword;
        auto const yes_if = [&](bool fits) { return fits ? std::string() : no; };
        if (keyword == "$schema" || keyword == "title" || keyword == "description" || keyword == "$defs") return {};
        if (keyword == "$ref")
            return misfit(value, root_.at(json::json_pointer(rule.get<std::string>().substr(1))), at);
        if (keyword == "type") return yes_if(is_of(value, rule.get<std::string>()));
        if (keyword == "const") return yes_if(value == rule);
        if (keyword == "enum") return yes_if(std::ranges::find(rule, value) != rule.end());
        if (keyword == "anyOf" || keyword == "oneOf") {
            auto const fits =
                std::ranges::count_if(rule, [&](auto const& one) { return misfit(value, one, at).empty(); });
            return yes_if(keyword == "oneOf" ? fits == 1 : fits > 0);
        }
        if (value.is_number())
            return keyword == "minimum" ? yes_if(value >= rule) : keyword == "maximum" ? yes_if(value <= rule) : no;
        if (value.is_string()) {
            std::size_t const size = value.get_ref<std::string const&>().size();
            return keyword == "minLength" ? yes_if(size >= rule) : keyword == "maxLength" ? yes_if(size <= rule) : no;
        }
        if (value.is_array()) return misfit_of_array(value, keyword, rule, at);
        return misfit_of_object(value, keyword, rule, schema, at);
    }

    [[nodiscard]] std::string misfit_of_array(json const& value, std::string const& keyword, json const& rule,
                                              std::string const& at) const {
        bool const bad_size =
            (keyword == "minItems" && value.size() < rule) || (keyword == "maxItems" && value.size() > rule);
        bool const is_known = keyword == "minItems" || keyword == "maxItems" || keyword == "items";
        if (bad_size || !is_known) return at + " misfits " + keyword;
        if (keyword != "items") return {};
        for (std::size_t i = 0; i < value.size(); ++i)
            if (auto wrong = misfit(value[i], rule, at + '/' + std::to_string(i)); !wrong.empty()) return wrong;
        return {};
    }

    [[nodiscard]] std::string misfit_of_object(json const& value, std::string const& keyword, json const& rule,
                                               json const& schema, std::string const& at) const {
        if (keyword == "required") {
            for (auto const& key : rule)
                if (!value.contains(key.get<std::string>())) return at + " misfits required " + key.dump();
            return {};
        }
        if (keyword == "additionalProperties") {
            for (auto const& [key, inner] : value.items())
                if (!schema.at("properties").contains(key)) return at + " has also " + key;
            return {};
        }
        if (keyword != "properties") return at + " misfits " + keyword;
        for (auto const& [key, inner] : value.items())
            if (auto const known = rule.find(key); known != rule.end())
                if (auto wrong = misfit(inner, *known, at + '/' + key); !wrong.empty()) return wrong;
        return {};
    }

    [[nodiscard]] static bool is_of(json const& value, std::string const& type) {
        return type == "object"    ? value.is_object()
               : type == "array"   ? value.is_array()
               : type == "integer" ? value.is_number_integer()
               : type == "number"  ? value.is_number()
               : type == "string"  ? value.is_string()
                                   : type == "null" && value.is_null();
    }
};

}  // namespace ration::program::testing
