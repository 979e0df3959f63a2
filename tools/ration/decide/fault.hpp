// SPDX-License-Identifier: BSL-1.0
/// The fault of a request, with its place in the line.
#pragma once

#include <string>

namespace ration::program {

/// "jobs/changed/3/loss" of a request cannot be used. `cause` reads after the object, `fix` is an imperative.
struct request_fault {
    std::string object;   ///< the subject of `cause`: "jobs[3].loss", "job 7", "the request"
    std::string cause;    ///< "is not a number"
    std::string fix;      ///< "write a number from 0 to 10"
    std::string pointer;  ///< JSON pointer (RFC 6901) of the value; empty: the whole line
};

}  // namespace ration::program
