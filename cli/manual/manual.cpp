#include "cli/manual/manual.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/installation.hpp"

namespace weft::cli {

namespace {

/// A line of text as such: nothing in it is a request or an escape.
std::string escaped(std::string_view line) {
  std::string text;
  if (line.starts_with('.') || line.starts_with('\'')) text = "\\&";
  for (const char c : line) {
    if (c == '\\') {
      text += "\\e";
    } else if (c == '-') {
      text += "\\-";
    } else {
      text += c;
    }
  }
  return text;
}

std::string upper(std::string_view text) {
  std::string made;
  for (const char c : text) made += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return made;
}

/// The parts of a text between empty lines.
std::vector<std::string> paragraphs_of(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find("\n\n", begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return parts;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Lines that are indented stay as they are, others are filled.
std::string paragraph(const std::string& text) {
  std::string made = ".PP\n";
  bool as_is = false;
  for (const std::string& line : lines_of(text)) {
    const bool indented = line.starts_with("  ");
    if (indented != as_is) made += indented ? ".PP\n.nf\n" : ".fi\n.PP\n";
    as_is = indented;
    made += escaped(line) + "\n";
  }
  return as_is ? made + ".fi\n" : made;
}

std::string examples(const std::string& text) {
  std::string made = ".SH EXAMPLES\n.nf\n";
  for (const std::string& line : lines_of(text)) {
    const auto begin = line.find_first_not_of(' ');
    if (line != "Examples:" && begin != line.npos) made += escaped(line.substr(begin)) + "\n";
  }
  return made + ".fi\n";
}

/// A footer of the help, in the order of manual pages.
struct Footer {
  std::string description;
  std::string exit_status;
  std::string examples;

  explicit Footer(const std::string& text) {
    for (const std::string& part : paragraphs_of(text)) {
      if (part.starts_with("Examples:")) {
        examples += cli::examples(part);
      } else if (part.starts_with("Ends with") || part.starts_with("Ends as")) {
        exit_status += ".SH EXIT STATUS\n" + paragraph(part);
      } else {
        description += paragraph(part);
      }
    }
  }
};

std::string tagged(const std::string& tag, const std::string& text) {
  std::string made = ".TP\n" + tag + "\n";
  for (const std::string& line : lines_of(text)) made += escaped(line) + "\n";
  return made;
}

std::string options(const std::vector<OptionText>& list) {
  std::string made = ".SH OPTIONS\n";
  for (const OptionText& option : list) {
    std::string tag;
    if (option.is_positional) {
      tag = "\\fI" + escaped(option.value) + "\\fR";
    } else {
      // "-h,--help"
      for (std::istringstream names(option.name); std::getline(names, tag, ',');) {
      }
      tag = "\\fB" + escaped(tag) + "\\fR";
      if (!option.value.empty()) tag += " \\fI" + escaped(option.value) + "\\fR";
    }
    made += tagged(tag, option.help);
  }
  return made;
}

std::string head(const std::string& name, const std::string& summary) {
  const std::string_view text = summary;
  const auto shown = text.substr(0, text.find_last_not_of('.') + 1);
  return fmt::format(".TH {} 1 \"\" \"weft {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
                     escaped(upper(name)), kVersion, escaped(name), escaped(shown));
}

std::string synopsis(const ToolText& tool, const CommandText& command) {
  std::string made = fmt::format(".SH SYNOPSIS\n\\fB{} {}\\fR [\\fIOPTIONS\\fR]",
                                 escaped(tool.name), escaped(command.name));
  for (const OptionText& option : command.options) {
    if (option.is_positional) made += fmt::format(" [\\fI{}\\fR]", escaped(option.value));
  }
  if (!command.rest.empty()) made += fmt::format(" \\fI{}\\fR", escaped(command.rest));
  return made + "\n";
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (!file) throw SystemError("write(" + path.string() + ")", errno);
}

}  // namespace

std::string manual_page(const ToolText& tool, std::span<const comm::Setting> settings) {
  const Footer footer(tool.footer);
  std::string page = head(tool.name, tool.summary);
  page += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n",
                      escaped(tool.name));
  page += ".SH DESCRIPTION\n" + escaped(tool.summary) + "\n" + footer.description;
  page += options(tool.options);
  page += ".SH COMMANDS\n";
  for (const CommandText& command : tool.commands) {
    page += tagged(fmt::format(R"(\fB{}\-{}\fR(1))", escaped(tool.name), escaped(command.name)),
                   command.summary);
  }
  page += footer.exit_status + ".SH ENVIRONMENT\n";
  for (const comm::Setting& setting : settings) {
    page += tagged("\\fB" + escaped(setting.name) + "\\fR",
                   fmt::format("{} [{}]", setting.meaning, setting.fallback));
  }
  return page + footer.examples;
}

std::string manual_page(const ToolText& tool, const CommandText& command) {
  const Footer footer(command.footer);
  return head(tool.name + "-" + command.name, command.summary) + synopsis(tool, command) +
         ".SH DESCRIPTION\n" + escaped(command.summary) + ".\n" + footer.description +
         options(command.options) + footer.exit_status + footer.examples +
         fmt::format(".SH SEE ALSO\n\\fB{}\\fR(1)\n", escaped(tool.name));
}

void write_manual(const ToolText& tool, const std::string& folder) {
  const std::filesystem::path path(folder);
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) throw SystemError("mkdir(" + folder + ")", failed.value());
  write(path / (tool.name + ".1"), manual_page(tool, comm::settings()));
  for (const CommandText& command : tool.commands) {
    write(path / (tool.name + "-" + command.name + ".1"), manual_page(tool, command));
  }
}

}  // namespace weft::cli
