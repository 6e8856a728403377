#include "cli/run/program_image.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/error.hpp"

namespace weft::cli {

namespace {

// A tag that no linker knows, so that it skips the entry.
constexpr ElfW(Sxword) kNoTag = 0x60000042;

#if defined(__x86_64__)
constexpr unsigned long kCopy = R_X86_64_COPY;
constexpr ElfW(Half) kMachine = EM_X86_64;
constexpr bool is_address(unsigned long type) {
  return type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT || type == R_X86_64_64;
}
#elif defined(__aarch64__)
constexpr unsigned long kCopy = R_AARCH64_COPY;
constexpr ElfW(Half) kMachine = EM_AARCH64;
constexpr bool is_address(unsigned long type) {
  return type == R_AARCH64_GLOB_DAT || type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_ABS64;
}
#else
constexpr unsigned long kCopy = ~0ul;
constexpr ElfW(Half) kMachine = EM_NONE;
constexpr bool is_address(unsigned long) {
  return false;
}
#endif

/// The bytes of an ELF file. All offsets in them are checked before use.
class Elf {
 public:
  Elf(std::string path, std::string bytes) : path_(std::move(path)), bytes_(std::move(bytes)) {
    const auto header = at<ElfW(Ehdr)>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) refuse("is no program");
    header_ = *header;
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_machine != kMachine) {
      refuse("is for another machine");
    }
    if (header_.e_type != ET_DYN) refuse("is not position independent: compile it with -fPIE -pie");
  }

  /// Removes the mark of a program, and the constructors, whose offsets are written to `init`,
  /// `init_array` and `bytes`; these are unchanged where there are no constructors.
  void make_loadable(std::uintptr_t& init, std::uintptr_t& init_array, std::size_t& bytes) {
    const auto dynamic = segment(PT_DYNAMIC);
    if (!dynamic || !segment(PT_INTERP)) refuse("is linked statically: its libraries are needed");
    for (std::uint64_t offset = dynamic->p_offset;; offset += sizeof(ElfW(Dyn))) {
      auto entry = at<ElfW(Dyn)>(offset);
      if (!entry || entry->d_tag == DT_NULL) return;
      const auto take = [&entry](auto& into) {
        into = entry->d_un.d_val;
        entry->d_tag = kNoTag;
      };
      if (entry->d_tag == DT_FLAGS_1) {
        entry->d_un.d_val &= ~static_cast<ElfW(Xword)>(DF_1_PIE);
      } else if (entry->d_tag == DT_INIT) {
        take(init);
      } else if (entry->d_tag == DT_INIT_ARRAY) {
        take(init_array);
      } else if (entry->d_tag == DT_INIT_ARRAYSZ) {
        take(bytes);
      }
      std::memcpy(bytes_.data() + offset, &*entry, sizeof *entry);
    }
  }

  std::uintptr_t find_main() const {
    for (const unsigned kind : {SHT_SYMTAB, SHT_DYNSYM}) {
      for (unsigned number = 0; number < header_.e_shnum; ++number) {
        const auto table = section(number);
        if (!table || table->sh_type != kind) continue;
        const auto names = section(table->sh_link);
        if (!names) continue;
        for (std::uint64_t at = 0; at + sizeof(ElfW(Sym)) <= table->sh_size;
             at += sizeof(ElfW(Sym))) {
          const auto symbol = this->at<ElfW(Sym)>(table->sh_offset + at);
          if (!symbol) break;
          const bool function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != 0;
          if (function && text(names->sh_offset + symbol->st_name) == "main") {
            return symbol->st_value;
          }
        }
      }
    }
    refuse("has no symbols that say where its main() is: link it with -rdynamic, or do not strip");
  }

  const std::string& bytes() const { return bytes_; }

 private:
  [[noreturn]] void refuse(std::string_view why) const { throw_usage("{}: {}", path_, why); }

  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string_view text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const std::string_view rest = std::string_view(bytes_).substr(offset);
    return rest.substr(0, rest.find('\0'));
  }
  std::optional<ElfW(Phdr)> segment(unsigned kind) const {
    for (unsigned number = 0; number < header_.e_phnum; ++number) {
      const auto found = at<ElfW(Phdr)>(header_.e_phoff + number * sizeof(ElfW(Phdr)));
      if (found && found->p_type == kind) return found;
    }
    return std::nullopt;
  }
  std::optional<ElfW(Shdr)> section(std::uint64_t number) const {
    if (number >= header_.e_shnum) return std::nullopt;
    return at<ElfW(Shdr)>(header_.e_shoff + number * sizeof(ElfW(Shdr)));
  }

  std::string path_;
  std::string bytes_;
  ElfW(Ehdr) header_{};
};

std::string read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file && bytes.empty()) throw_errno(fmt::format("open({})", path));
  return bytes;
}

/// The relocation tables of one object. glibc has added the load address to their addresses.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  std::span<const ElfW(Rela)> data, calls;

  explicit Tables(const link_map& object) {
    const ElfW(Rela) * first[2] = {};
    std::size_t bytes[2] = {};
    for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
      const auto value = entry->d_un.d_ptr;
      switch (entry->d_tag) {
        case DT_SYMTAB:
          symbols = reinterpret_cast<const ElfW(Sym)*>(value);
          break;
        case DT_STRTAB:
          names = reinterpret_cast<const char*>(value);
          break;
        case DT_RELA:
          first[0] = reinterpret_cast<const ElfW(Rela)*>(value);
          break;
        case DT_RELASZ:
          bytes[0] = value;
          break;
        case DT_JMPREL:
          first[1] = reinterpret_cast<const ElfW(Rela)*>(value);
          break;
        case DT_PLTRELSZ:
          bytes[1] = value;
          break;
        default:
          break;
      }
    }
    if (first[0] != nullptr) data = {first[0], bytes[0] / sizeof(ElfW(Rela))};
    if (first[1] != nullptr) calls = {first[1], bytes[1] / sizeof(ElfW(Rela))};
  }
};

/// Objects of the system, which are not part of the program, and whose tables may have other
/// addresses.
bool is_systems(const link_map& object) {
  const std::string_view name = object.l_name;
  constexpr auto kNames =
      std::to_array<std::string_view>({"linux-vdso", "/ld-linux", "/ld-2", "/libc.so"});
  return std::ranges::any_of(kNames,
                             [&](std::string_view one) { return name.find(one) != name.npos; });
}

const link_map& map_of(void* handle) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) throw Error(::dlerror());
  return *map;
}

/// The address of a variable in the first library that defines it; null where none does.
const void* find_in_libraries(const link_map& program, Lmid_t space, const char* name) {
  for (const link_map* one = program.l_next; one != nullptr; one = one->l_next) {
    void* library = ::dlmopen(space, one->l_name, RTLD_NOLOAD | RTLD_NOW);
    if (library == nullptr) continue;
    const void* found = ::dlsym(library, name);
    ::dlclose(library);
    if (found != nullptr) return found;
  }
  return nullptr;
}

/// This process's memory. Written through it, as what the dynamic linker has done with (tables, and
/// variables that never change) is read-only.
File own_memory() {
  File memory(::open("/proc/self/mem", O_RDWR | O_CLOEXEC));
  if (!memory) throw_errno("open(/proc/self/mem)");
  return memory;
}

void write_to(const File& memory, std::uintptr_t place, const void* from, std::size_t bytes) {
  const ssize_t written = ::pwrite(memory.get(), from, bytes, static_cast<off_t>(place));
  if (written != static_cast<ssize_t>(bytes)) throw_errno("write(/proc/self/mem)");
}

void rebind_object(const link_map& object, std::span<const Binding> bindings, const File& memory) {
  const Tables tables(object);
  if (tables.symbols == nullptr || tables.names == nullptr) return;
  for (const auto& table : {tables.data, tables.calls}) {
    for (const ElfW(Rela) & relocation : table) {
      if (!is_address(ELF64_R_TYPE(relocation.r_info))) continue;
      const auto& symbol = tables.symbols[ELF64_R_SYM(relocation.r_info)];
      const std::string_view name = tables.names + symbol.st_name;
      for (const Binding& binding : bindings) {
        if (name != binding.name) continue;
        write_to(memory, object.l_addr + relocation.r_offset, &binding.function, sizeof(void*));
      }
    }
  }
}

}  // namespace

ProgramImage::ProgramImage(const std::string& path) {
  Elf elf(path, read_file(path));
  elf.make_loadable(entries_.init, entries_.init_array, entries_.init_array_bytes);
  entries_.main = elf.find_main();
  copy_ = File(::memfd_create("weft-program", MFD_CLOEXEC));
  if (!copy_) throw_errno("memfd_create(weft-program)");
  const std::string_view bytes(reinterpret_cast<const char*>(elf.bytes().data()),
                               elf.bytes().size());
  if (!write_all(copy_.get(), bytes)) throw_errno("write(weft-program)");
}

std::string ProgramImage::loadable() const {
  return fmt::format("/proc/self/fd/{}", copy_.get());
}

void ProgramImage::construct(void* handle, int argc, char** argv, char** environment) const {
  using Constructor = void(int, char**, char**);
  const std::uintptr_t base = map_of(handle).l_addr;
  if (entries_.init != 0) {
    reinterpret_cast<Constructor*>(base + entries_.init)(argc, argv, environment);
  }
  auto* const* constructors = reinterpret_cast<Constructor* const*>(base + entries_.init_array);
  for (std::size_t i = 0; i < entries_.init_array_bytes / sizeof *constructors; ++i) {
    constructors[i](argc, argv, environment);
  }
}

int ProgramImage::run_main(void* handle, int argc, char** argv, char** environment) const {
  using Main = int(int, char**, char**);
  return reinterpret_cast<Main*>(map_of(handle).l_addr + entries_.main)(argc, argv, environment);
}

void copy_variables(void* handle) {
  const link_map& program = map_of(handle);
  const File memory = own_memory();
  Lmid_t space = LM_ID_BASE;
  if (::dlinfo(handle, RTLD_DI_LMID, &space) != 0) throw Error(::dlerror());
  const Tables tables(program);
  for (const ElfW(Rela) & relocation : tables.data) {
    if (ELF64_R_TYPE(relocation.r_info) != kCopy) continue;
    const auto& symbol = tables.symbols[ELF64_R_SYM(relocation.r_info)];
    const std::uintptr_t place = program.l_addr + relocation.r_offset;
    const auto* copy = reinterpret_cast<const std::byte*>(place);
    // A library's constructor may have written a newer value already.
    if (std::any_of(copy, copy + symbol.st_size, [](auto one) { return one != std::byte{0}; })) {
      continue;
    }
    const void* first = find_in_libraries(program, space, tables.names + symbol.st_name);
    if (first != nullptr) write_to(memory, place, first, symbol.st_size);
  }
}

void rebind(void* handle, std::span<const Binding> bindings) {
  const link_map* object = &map_of(handle);
  const File memory = own_memory();
  while (object->l_prev != nullptr) object = object->l_prev;
  for (; object != nullptr; object = object->l_next) {
    if (!is_systems(*object)) rebind_object(*object, bindings, memory);
  }
}

}  // namespace weft::cli
