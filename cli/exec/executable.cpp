#include "cli/exec/executable.hpp"

#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weft::cli {

namespace {

// Of an executable: its headers lie there. Of a script: its first line.
constexpr std::size_t kHeadBytes = 4096;

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#else
constexpr unsigned kMachine = EM_NONE;  // not known: any will do
#endif

std::string head_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kHeadBytes, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

/// The dynamic linker that an executable of 64 bits names; empty where there is none.
std::string linker_of(const std::string& head, const Elf64_Ehdr& header) {
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    const std::size_t at = header.e_phoff + i * header.e_phentsize;
    if (at > head.size() || head.size() - at < sizeof part) break;
    std::memcpy(&part, head.data() + at, sizeof part);
    if (part.p_type != PT_INTERP || part.p_offset > head.size()) continue;
    if (part.p_filesz > head.size() - part.p_offset) continue;
    const std::string name = head.substr(part.p_offset, part.p_filesz);
    return name.substr(0, name.find('\0'));
  }
  return {};
}

/// The first word that env takes for a program, and all behind it.
std::vector<std::string> started_by_env(std::vector<std::string> words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string& word = words[i];
    if (word.starts_with("-S") && word.size() > 2) word = word.substr(2);
    if (word == "-u" || word == "-C") ++i;
    if (word.starts_with("-") || word.find('=') != word.npos) continue;
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
    return words;
  }
  return {};
}

}  // namespace

std::vector<std::string> interpreter_words(const std::string& first_line) {
  std::istringstream line(first_line.substr(2, first_line.find('\n') - 2));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  const bool is_env = !words.empty() && std::filesystem::path(words.front()).filename() == "env";
  return is_env ? started_by_env(std::move(words)) : words;
}

Executable read_executable(const std::string& path) {
  Executable found;
  const std::string head = head_of(path);
  if (head.starts_with("#!")) {
    found.interpreter = interpreter_words(head);
    return found;
  }
  Elf64_Ehdr header{};
  if (!head.starts_with(ELFMAG) || head.size() < sizeof header) return found;
  std::memcpy(&header, head.data(), sizeof header);
  found.is_elf = true;
  found.is_foreign =
      head[EI_CLASS] != ELFCLASS64 || (kMachine != EM_NONE && header.e_machine != kMachine);
  if (!found.is_foreign) found.linker = linker_of(head, header);
  return found;
}

}  // namespace weft::cli
