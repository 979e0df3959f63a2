// SPDX-License-Identifier: BSL-1.0
// A list of jobs in a separate folder, for the tests of the list.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "serve/job_store.hpp"
#include "support/catch.hpp"
#include "temporary_folder.hpp"

namespace ration::program {

struct folder : temporary_folder {
    [[nodiscard]] std::string file() const { return path + "/jobs.db"; }
    [[nodiscard]] job_store open() const {
        auto store = job_store::open(file(), 1);
        REQUIRE(store);
        return std::move(store).value();
    }
};

[[nodiscard]] inline submission job(std::string key, std::int64_t uid = 1000) {
    return {.uid = uid,
            .tenant = "lab",
            .key = std::move(key),
            .name = "vae",
            .definition = "[[job]]",
            .directory = "/data",
            .environment = {"PATH=/bin", "EMPTY=", std::string("BYTES=\xff\n")},
            .priority = -3,
            .retries = 2,
            .time_limit_ms = 5000,
            .after = {3, 17},
            .umask = 077,
            .command = {"cat", "\xff"}};
}

[[nodiscard]] inline stage_change to(std::int64_t id, stage what, std::int64_t at = 2) {
    return {.job = id, .to = what, .at_ms = at, .why = {}, .end = {}, .boot = "boot"};
}

[[nodiscard]] inline std::int64_t add(job_store& store, std::string key) {
    auto const added = store.submit(job(std::move(key)), 1);
    REQUIRE(added);
    REQUIRE(added->is_new);
    return added->job;
}

inline void move(job_store& store, std::int64_t id, std::vector<stage> const& through) {
    for (auto const s : through) REQUIRE(store.advance(to(id, s)));
}

}  // namespace ration::program
