#include "cli/plan/plan_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "base/error.hpp"
#include "plan/text.hpp"

namespace weft::cli {

namespace {

namespace fs = std::filesystem;

std::string read_stream(std::istream& stream, std::string_view source) {
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (stream.bad()) throw_usage("{}: cannot be read: {}", source, std::strerror(errno));
  return text;
}

std::vector<plan::Plan> read_one(const std::string& path) {
  if (path == "-") return parse_plans("standard input", read_stream(std::cin, "standard input"));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_usage("--file={}: cannot be read: {}", path, std::strerror(errno));
  return parse_plans(path, read_stream(file, path));
}

/// The files of a directory, by name; any other path alone.
std::vector<std::string> expand(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (auto entry = fs::directory_iterator(path, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->is_regular_file(error)) files.push_back(entry->path().string());
  }
  if (error) throw_usage("--file={}: cannot be read: {}", path, error.message());
  if (files.empty()) throw_usage("--file={}: a directory without files", path);
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::vector<plan::Plan> parse_plans(std::string_view source, std::string_view text) {
  constexpr std::string_view kFirstWord = "weft-plan";
  std::vector<plan::Plan> plans;
  const auto parse = [&](std::string_view part, std::size_t first_line) {
    try {
      plans.push_back(plan::parse(part, first_line));
    } catch (const UsageError& error) {
      throw_usage("{}: {}", source, error.what());
    }
  };
  std::size_t begin = 0;
  std::size_t begin_line = 1;
  std::size_t line = 1;
  bool any = false;
  for (std::size_t at = 0; at < text.size(); ++line) {
    if (text.substr(at).starts_with(kFirstWord)) {
      if (any) {
        parse(text.substr(begin, at - begin), begin_line);
        begin = at;
        begin_line = line;
      }
      any = true;
    }
    const auto newline = text.find('\n', at);
    at = newline == text.npos ? text.size() : newline + 1;
  }
  parse(text.substr(begin), begin_line);
  return plans;
}

std::vector<plan::Plan> read_plans(const std::vector<std::string>& paths) {
  std::vector<plan::Plan> plans;
  for (const std::string& path : paths) {
    for (const std::string& file : expand(path)) {
      auto more = read_one(file);
      std::ranges::move(more, std::back_inserter(plans));
    }
  }
  std::ranges::stable_sort(plans, {}, &plan::Plan::rank);
  return plans;
}

}  // namespace weft::cli
