// SPDX-License-Identifier: BSL-1.0
// The precompiled header of the misbehaving plugins belongs to a target, and a target needs a source.
