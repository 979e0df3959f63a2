// SPDX-License-Identifier: BSL-1.0
// Loading, the vtable, and the first instance.
#include <cstddef>
#include <cstring>
#include <fmt/core.h>
#include <optional>

#include "finding.hpp"
#include "guarded.hpp"
#include "library.hpp"
#include "plugin_instance.hpp"
#include "probe.hpp"

namespace ration::conformance {
namespace {

constexpr std::size_t most_table_bytes = 4096;

void load(subject const& s) { library const loaded(s); }

void expect_table(subject const& s) {
    library const loaded(s);
    auto const size = loaded.size();
    std::size_t const least =
        s.is_estimator() ? sizeof(ration_estimator) : offsetof(ration_policy, extension) + sizeof(void*);
    if (size < least || size > most_table_bytes || size % sizeof(void*) != 0)
        broken(fmt::format("the vtable states a size of {} bytes; set struct_size = sizeof({})", size,
                           s.is_estimator() ? "ration_estimator" : "ration_policy"));
    auto const& table = loaded.table();
    if (table.flags != s.manifest.flags)
        broken(fmt::format("the vtable has flags {:#x}, the manifest {:#x}", table.flags, s.manifest.flags));
    if (table.create == nullptr) broken("create is null");
    if (table.destroy == nullptr) broken("destroy is null");
    if (table.bind == nullptr) broken("bind is null");
    if (s.is_estimator() && loaded.estimate() == nullptr) broken("estimate is null");
    if (!s.is_estimator() && table.decide == nullptr) broken("decide is null");
    if ((table.save == nullptr) != (table.load == nullptr)) broken("it has one of save and load without the other");
}

void create_one(subject const& s) {
    library const loaded(s);
    guest instance(loaded, s);
    instance.destroy();
}

/// Text that no policy takes for its configuration.
constexpr char wrong_config[] = "{\"no such parameter, and no end";

void expect_bounded_text(std::int32_t code, char const* err, std::size_t size, char const* function) {
    if (!is_known_code(code)) broken(fmt::format("{} returned {}", function, name_of_code(code)));
    if (code != RATION_OK && std::memchr(err, 0, size) == nullptr)
        broken(fmt::format("{} left no zero byte in an err of {} bytes", function, size));
}

/// Space that is full of something, right in front of a guard.
[[nodiscard]] char* full(guarded& space, std::size_t size) {
    auto* const err = reinterpret_cast<char*>(space.place(size, 1));
    std::memset(err, '#', size);
    return err;
}

void refuse_within(ration_policy const& policy, subject const& s, guarded& space, std::size_t size) {
    auto const host = host_of_probes();
    void* self = nullptr;
    char* err = full(space, size);
    auto code = call_plugin(
        "create", [&] { return policy.create(&host, wrong_config, std::strlen(wrong_config), &self, err, size); });
    expect_bounded_text(code, err, size, "create");
    if (code == RATION_OK) policy.destroy(self);
    self = nullptr;
    if (policy.create(&host, s.config.c_str(), s.config.size(), &self, full(space, size), size) != RATION_OK) return;
    tables const offered(s, s.seed);
    schema_image const nothing(offered.columns(), {.empty = true});
    std::uint64_t scratch = 0;
    err = full(space, size);
    code = call_plugin("bind", [&] { return policy.bind(self, &nothing.get(), &scratch, err, size); });
    expect_bounded_text(code, err, size, "bind");
    policy.destroy(self);
}

void keep_within_err(subject const& s) {
    library const loaded(s);
    guarded space("err", 256);
    for (std::size_t const size : {256, 8, 1}) refuse_within(loaded.table(), s, space, size);
}

constexpr probe loading_probes[] = {
    {"load/open", "take out what runs while the file is loaded, such as constructors of globals; link what is missing",
     &load, then::stop},
    {"load/table", "fill in the vtable as RATION_EXPORT_POLICY does", &expect_table, then::stop},
    {"life/create", "catch everything in create and return a code and a sentence", &create_one, then::stop},
    {"life/err", "write at most err_size bytes into err, the last one zero", &keep_within_err},
};

}  // namespace

std::span<probe const> probes_of_loading() noexcept { return loading_probes; }

}  // namespace ration::conformance
