// SPDX-License-Identifier: BSL-1.0
/// RATION_SANITIZED: 1 in a build with AddressSanitizer or ThreadSanitizer, else 0. Their run-time libraries take
/// terabytes of address space and replace malloc, so what limits or counts either has to know. GCC and clang tell it in
/// two ways.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RATION_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define RATION_SANITIZED 1
#endif
#endif
#ifndef RATION_SANITIZED
#define RATION_SANITIZED 0
#endif
