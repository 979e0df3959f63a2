// SPDX-License-Identifier: BSL-1.0
#include "measure/search_space.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <functional>
#include <optional>

#include "common/printable.hpp"
#include "common/suggestion.hpp"
#include "common/trimmed.hpp"
#include "config/parameters.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> out;
    for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? 0 : end + 1)) {
        end = text.find(separator);
        out.push_back(trimmed(text.substr(0, end)));
    }
    return out;
}

[[nodiscard]] std::optional<double> number_of(std::string_view word) {
    double value = 0;
    auto const [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (failure != std::errc() || end != word.data() + word.size() || !(value >= 0 && value <= 1e15))
        return std::nullopt;
    return value;
}

/// A launch could not read such a value from the jobs file.
[[nodiscard]] bool is_refused(char c) noexcept {
    return c == '{' || c == '}' || c == '\x7f' || static_cast<unsigned char>(c) < ' ';
}

/// The product of a rule for one setting. Errors: a value is not a number.
[[nodiscard]] result<double, diagnostic> product_of(fit_rule const& rule, std::vector<parameter_values> const& space,
                                                    parameter_setting const& one) {
    double product = rule.factor;
    for (auto const& name : rule.names) {
        auto const at = std::ranges::find(space, name, &parameter_values::name) - space.begin();
        auto const& value = one[static_cast<std::size_t>(at)];
        auto const number = number_of(value);
        if (!number)
            return diagnostic{.file = "--fit",
                              .text = fmt::format("the value {} of parameter '{}' is not a number from 0; use the "
                                                  "rule for parameters with numbers",
                                                  quoted(value), name)};
        product *= *number;
    }
    return product;
}

[[nodiscard]] result<bool, diagnostic> fits(std::vector<fit_rule> const& rules,
                                            std::vector<parameter_values> const& space, parameter_setting const& one) {
    for (auto const& rule : rules) {
        auto const product = product_of(rule, space, one);
        if (!product) return product.failure();
        if (*product > rule.most) return false;
    }
    return true;
}

[[nodiscard]] result<void, diagnostic> check_names(std::vector<parameter_values> const& space,
                                                   std::vector<fit_rule> const& rules) {
    std::vector<std::string_view> names;
    for (auto const& one : space) {
        if (std::ranges::find(names, one.name) != names.end())
            return diagnostic{.file = "--try",
                              .text = fmt::format("parameter '{}' has two lists; join them", one.name)};
        names.emplace_back(one.name);
    }
    for (auto const& rule : rules)
        for (auto const& name : rule.names)
            if (std::ranges::find(names, name) == names.end())
                return diagnostic{.file = "--fit",
                                  .text = fmt::format("no --try has values of '{}'{}", name, suggestion(name, names))};
    return {};
}

/// The setting with this number, whose digits are the indices of the values.
[[nodiscard]] parameter_setting setting_at(std::vector<parameter_values> const& space, std::size_t number) {
    parameter_setting one(space.size());
    for (std::size_t i = space.size(); i-- > 0; number /= space[i].values.size())
        one[i] = space[i].values[number % space[i].values.size()];
    return one;
}

}  // namespace

result<parameter_values, diagnostic> parse_parameter_values(std::string_view word) {
    auto const equals = word.find('=');
    parameter_values out{.name = std::string(trimmed(word.substr(0, equals))), .values = {}};
    if (equals == word.npos || !is_parameter_name(out.name))
        return diagnostic{.text = fmt::format("{} is not a list of values; write NAME=VALUE,VALUE, such as threads=1,2",
                                              quoted(word))};
    for (auto const value : split(word.substr(equals + 1), ',')) {
        if (value.empty() || std::ranges::any_of(value, is_refused))
            return diagnostic{.text = fmt::format("parameter '{}' has an empty value, or one with a brace or a control "
                                                  "character; write NAME=VALUE,VALUE",
                                                  out.name)};
        if (std::ranges::find(out.values, value) != out.values.end())
            return diagnostic{
                .text = fmt::format("parameter '{}' has the value {} twice; write it once", out.name, quoted(value))};
        out.values.emplace_back(value);
    }
    return out;
}

result<fit_rule, diagnostic> parse_fit_rule(std::string_view word) {
    constexpr auto form = "write a product and a limit, such as 'ranks * threads <= 8'";
    auto const sign = word.find("<=");
    auto const most = sign == word.npos ? std::nullopt : number_of(trimmed(word.substr(sign + 2)));
    if (!most) return diagnostic{.text = fmt::format("{} has no '<=' with a number behind it; {}", quoted(word), form)};
    fit_rule out{.names = {}, .factor = 1, .most = *most};
    for (auto const factor : split(word.substr(0, sign), '*'))
        if (auto const number = number_of(factor))
            out.factor *= *number;
        else if (is_parameter_name(factor))
            out.names.emplace_back(factor);
        else
            return diagnostic{.text = fmt::format("{} is neither a parameter nor a number; {}", quoted(factor), form)};
    return out;
}

result<std::vector<parameter_setting>, diagnostic> settings_of(std::vector<parameter_values> const& space,
                                                               std::vector<fit_rule> const& rules) {
    if (auto const named = check_names(space, rules); !named) return named.failure();
    std::size_t count = 1;
    for (auto const& one : space) {
        count *= one.values.size();
        if (count > most_settings)
            return diagnostic{.file = "--try",
                              .text = fmt::format("there are more than {} settings; try fewer values", most_settings)};
    }
    std::vector<parameter_setting> out;
    for (std::size_t i = 0; i < count; ++i) {
        auto one = setting_at(space, i);
        auto const fit = fits(rules, space, one);
        if (!fit) return fit.failure();
        if (*fit) out.push_back(std::move(one));
    }
    if (out.empty()) return diagnostic{.file = "--fit", .text = "no setting fits; try smaller values"};
    return out;
}

std::string setting_text(std::vector<parameter_values> const& space, parameter_setting const& one) {
    std::string out;
    for (std::size_t i = 0; i < space.size(); ++i)
        out += fmt::format("{}{}={}", i == 0 ? "" : " ", space[i].name, one[i]);
    return out;
}

}  // namespace ration::program
