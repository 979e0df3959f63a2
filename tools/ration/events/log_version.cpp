// SPDX-License-Identifier: BSL-1.0
#include "events/log_version.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "events/events.hpp"

namespace ration::program {

std::int64_t schema_of(nlohmann::json const& run) {
    auto const schema = run.find("schema");
    return schema != run.end() && schema->is_number_integer() ? schema->get<std::int64_t>() : 0;
}

result<void, diagnostic> check_schema(std::int64_t schema) {
    if (schema >= oldest_log_schema && schema <= log_schema) return {};
    return diagnostic{
        .text = fmt::format("the log has {}, and this ration reads {} to {}; use the ration that wrote the log",
                            schema == 0 ? std::string("no schema") : fmt::format("schema {}", schema),
                            oldest_log_schema, log_schema)};
}

}  // namespace ration::program
