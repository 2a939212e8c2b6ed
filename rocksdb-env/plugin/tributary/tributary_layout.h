// SPDX-License-Identifier: Apache-2.0
// Are RocksDB's classes laid out in this process as in the headers that the
// plugin was built with? A version number is not enough: a vendor's branch has
// the number of the release that it was taken from.
//
// Compared are, of the classes that are derived from or wrapped: the number of
// virtual functions (the size of the vtable that the host exports), where the
// overridden ones stand in it (the names of the functions there), and the size
// of the base of a file system (what the host's constructor fills in). What the
// host does not export cannot be compared and does not count, but for
// FileSystem itself, without which nothing is known.
//
// Thread safety: any thread. At registration: asks the loader.
#pragma once

#include <string>

// True: they are, or the plugin is part of the library that it would be
// compared with. Else one difference in *why.
bool TributarySameLayout(std::string* why);
