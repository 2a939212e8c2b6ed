// SPDX-License-Identifier: Apache-2.0
#include "tributary_layout.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/utilities/object_registry.h"

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

namespace {

using namespace ROCKSDB_NAMESPACE;

constexpr size_t kVtableHead = 2 * sizeof(void*);  // offset to top, typeinfo

// What an Itanium pointer to a virtual member function holds: 1 + the offset of
// its slot from where an object's vtable pointer points to.
template <typename Member>
size_t SlotOf(Member member) {
  static_assert(sizeof member >= sizeof(uintptr_t), "not this ABI");
  uintptr_t word = 0;
  memcpy(&word, &member, sizeof word);
#if defined(__aarch64__) || defined(__arm__)
  return word;
#else
  return word - 1;
#endif
}

// One more virtual function stands behind all those of the base.
template <typename Base>
struct Longer : Base {
  virtual void Last();
};

template <typename Base>
size_t VtableBytes() {
  return kVtableHead + SlotOf(&Longer<Base>::Last);
}

struct Class {
  const char* name;
  size_t vtable_bytes;
};

struct Function {
  const char* class_name;
  const char* name;
  size_t slot;
};

// "_ZTVN7rocksdb10FileSystemE" of "FileSystem", and the like.
std::string Mangled(const char* prefix, const char* name, const char* suffix) {
  const std::string space =
      std::to_string(strlen(TEXT(ROCKSDB_NAMESPACE))) + TEXT(ROCKSDB_NAMESPACE);
  return prefix + space + std::to_string(strlen(name)) + name + suffix;
}

const void* ImageOf(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

struct Exported {
  const char* address = nullptr;
  size_t bytes = 0;
};

// The host's, not this plugin's own copy of what the headers define.
Exported Find(const std::string& name) {
  Exported found;
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  void* const address = dlsym(RTLD_DEFAULT, name.c_str());
  if (address == nullptr ||
      dladdr1(address, &info,
              reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)),
              RTLD_DL_SYMENT) == 0 ||
      symbol == nullptr ||
      info.dli_fbase ==
          ImageOf(reinterpret_cast<const void*>(&TributarySameLayout))) {
    return found;
  }
  found.address = static_cast<const char*>(address);
  found.bytes = symbol->st_size;
  return found;
}

bool Differ(const std::string& what, size_t here, size_t there,
            std::string* why) {
  if (here == there) return false;
  *why = what + ": " + std::to_string(here) + " bytes in its headers, " +
         std::to_string(there) + " in the library";
  return true;
}

bool VtablesFit(const std::vector<Class>& classes, std::string* why) {
  for (const Class& one : classes) {
    const Exported vtable = Find(Mangled("_ZTVN", one.name, "E"));
    if (vtable.address != nullptr &&
        Differ(std::string("vtable of ") + one.name, one.vtable_bytes,
               vtable.bytes, why)) {
      return false;
    }
  }
  return true;
}

// The function that stands in the slot, if the host exports it.
bool FunctionsFit(const std::vector<Function>& functions, std::string* why) {
  for (const Function& one : functions) {
    const Exported vtable = Find(Mangled("_ZTVN", one.class_name, "E"));
    if (vtable.address == nullptr ||
        kVtableHead + one.slot + sizeof(void*) > vtable.bytes) {
      continue;
    }
    const void* function = nullptr;
    Dl_info info;
    memcpy(&function, vtable.address + kVtableHead + one.slot, sizeof function);
    const std::string own_class = Mangled("_ZNK", one.class_name, ""),
                      whole_class = Mangled("_ZN", one.class_name, "");
    if (dladdr(function, &info) == 0 || info.dli_sname == nullptr ||
        info.dli_saddr != function) {
      continue;
    }
    std::string name = info.dli_sname;
    size_t behind = 0;
    if (name.rfind(whole_class, 0) == 0) behind = whole_class.size();
    if (name.rfind(own_class, 0) == 0) behind = own_class.size();
    if (behind == 0) continue;  // another class's: one body for both
    const std::string wanted = std::to_string(strlen(one.name)) + one.name;
    if (name.compare(behind, wanted.size(), wanted) != 0) {
      *why = std::string(one.class_name) + "::" + one.name +
             " stands where the library has " + name;
      return false;
    }
  }
  return true;
}

// How far the host's constructor writes. Two patterns, because what it writes
// may look like one of them.
size_t ConstructedBytes(void (*construct)(void*), void (*destroy)(void*)) {
  constexpr size_t kRoom = 16384;
  alignas(64) static char objects[2][kRoom];
  size_t end = 0;
  for (int i = 0; i < 2; ++i) {
    const char pattern = i == 0 ? '\xa5' : '\x5a';
    memset(objects[i], pattern, kRoom);
    construct(objects[i]);
    for (size_t at = 0; at < kRoom; ++at) {
      if (objects[i][at] != pattern && at >= end) end = at + 1;
    }
    destroy(objects[i]);
  }
  return (end + alignof(void*) - 1) / alignof(void*) * alignof(void*);
}

bool SizeFits(const char* name, size_t here, std::string* why) {
  const Exported construct = Find(Mangled("_ZN", name, "C2Ev")),
                 destroy = Find(Mangled("_ZN", name, "D2Ev"));
  if (construct.address == nullptr || destroy.address == nullptr) return true;
  void (*constructor)(void*) = nullptr;
  void (*destructor)(void*) = nullptr;
  memcpy(&constructor, &construct.address, sizeof constructor);
  memcpy(&destructor, &destroy.address, sizeof destructor);
  return !Differ(std::string("an object of ") + name, here,
                 ConstructedBytes(constructor, destructor), why);
}

}  // namespace

bool TributarySameLayout(std::string* why) {
  if (ImageOf(reinterpret_cast<const void*>(&ObjectLibrary::Default)) ==
      ImageOf(reinterpret_cast<const void*>(&TributarySameLayout))) {
    return true;
  }
  if (Find(Mangled("_ZTVN", "FileSystem", "E")).address == nullptr) {
    *why = "the library does not export FileSystem's vtable";
    return false;
  }
  using Wrapper = FileSystemWrapper;
  using Writable = FSWritableFileWrapper;
  const std::vector<Class> classes = {
      {"FileSystem", VtableBytes<FileSystem>()},
      {"FileSystemWrapper", VtableBytes<FileSystemWrapper>()},
      {"FSWritableFile", VtableBytes<FSWritableFile>()},
      {"FSWritableFileWrapper", VtableBytes<FSWritableFileWrapper>()},
      {"FSWritableFileOwnerWrapper", VtableBytes<FSWritableFileOwnerWrapper>()},
      {"FSRandomRWFile", VtableBytes<FSRandomRWFile>()},
      {"FSRandomRWFileOwnerWrapper", VtableBytes<FSRandomRWFileOwnerWrapper>()},
      {"Env", VtableBytes<Env>()},
      {"Logger", VtableBytes<Logger>()},
  };
  const std::vector<Function> functions = {
      {"FileSystemWrapper", "NewWritableFile",
       SlotOf(&Wrapper::NewWritableFile)},
      {"FileSystemWrapper", "ReopenWritableFile",
       SlotOf(&Wrapper::ReopenWritableFile)},
      {"FileSystemWrapper", "ReuseWritableFile",
       SlotOf(&Wrapper::ReuseWritableFile)},
      {"FileSystemWrapper", "NewRandomRWFile",
       SlotOf(&Wrapper::NewRandomRWFile)},
      {"FileSystemWrapper", "DeleteFile", SlotOf(&Wrapper::DeleteFile)},
      {"FileSystemWrapper", "RenameFile", SlotOf(&Wrapper::RenameFile)},
      {"FileSystemWrapper", "Truncate", SlotOf(&Wrapper::Truncate)},
      {"FileSystemWrapper", "NewLogger", SlotOf(&Wrapper::NewLogger)},
      {"FSWritableFileWrapper", "Truncate", SlotOf(&Writable::Truncate)},
      {"FSWritableFileWrapper", "Close", SlotOf(&Writable::Close)},
      {"FSWritableFileWrapper", "Sync", SlotOf(&Writable::Sync)},
      {"FSWritableFileWrapper", "Fsync", SlotOf(&Writable::Fsync)},
      {"FSWritableFileWrapper", "RangeSync", SlotOf(&Writable::RangeSync)},
  };
  return VtablesFit(classes, why) && FunctionsFit(functions, why) &&
         SizeFits("FileSystem", sizeof(FileSystem), why);
}
