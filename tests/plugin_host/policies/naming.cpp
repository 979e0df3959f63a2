// SPDX-License-Identifier: BSL-1.0
// Grants the numbers that `prepare` found for memory.soft, batch and gpu.sm: -1 if the host lacks the resource.
#include <array>
#include <cstdint>

#include <ration/plugin/export.hpp>
#include <ration/setting.hpp>

namespace test_policies {

struct naming {
    using policy_concept = ration::policy_tag;
    using inputs = ration::columns<>;
    static constexpr ration::meta about{
        .id = "org.example.test-naming", .version = "1.0.0", .summary = "reports numbers of resources"};

    [[nodiscard]] ration::status prepare(ration::limits const& most) noexcept {
        std::size_t row = 0;
        for (auto const* const name : {"memory.soft", "batch", "gpu.sm"}) {
            auto const found = ration::find_resource(most, name);
            numbers_[row++] = found ? static_cast<std::int64_t>(*found) : -1;
        }
        return ration::status::ok;
    }

    [[nodiscard]] ration::status decide(ration::tick<inputs> const&, ration::grants& out) noexcept {
        for (std::uint32_t row = 0; row < numbers_.size(); ++row)
            if (!out.set(row, 0, ration::resource_id::cpu, numbers_[row])) return ration::status::capacity;
        return ration::status::ok;
    }

private:
    std::array<std::int64_t, 3> numbers_{};
};

}  // namespace test_policies

RATION_EXPORT_POLICY(test_policies::naming)
