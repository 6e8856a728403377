// The JSON form of decision tables, read and written.
#include <set>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "tune/decision_table.hpp"

namespace weft::tune {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostFileBytes = 1 << 20;
constexpr std::size_t kMostValueBytes = 60;

class Reader {
 public:
  Reader(std::string_view where, std::string_view text) : where_(where) {
    try {
      root_ = Json::parse(text, [this](int, Json::parse_event_t event, const Json& parsed) {
        return note_key(event, parsed);
      });
    } catch (const Json::exception& error) {
      throw_usage("{}: no JSON: {}", where_, error.what());
    }
  }

  DecisionTable read() const {
    require_keys("", root_, {"schema", "machine", "adapter", "date", "collectives"});
    const Json& schema = at("", root_, "schema");
    if (schema != DecisionTable::kSchema) {
      refuse("schema", schema, fmt::format("this weft reads {} only", DecisionTable::kSchema));
    }
    DecisionTable table;
    table.machine = text("machine", at("", root_, "machine"));
    table.adapter = text("adapter", at("", root_, "adapter"));
    table.date = text("date", at("", root_, "date"));
    const Json& collectives = at("", root_, "collectives");
    if (!collectives.is_object()) refuse("collectives", collectives, "must be an object");
    for (const auto& [name, rules] : collectives.items()) {
      plan::Collective collective{};
      try {
        collective = plan::parse_collective(name);
      } catch (const UsageError& error) {
        throw_usage("{}: collectives: {}", where_, error.what());
      }
      table.set(collective, read_rules(name, collective, rules));
    }
    return table;
  }

 private:
  [[noreturn]] void refuse(std::string_view path, const Json& value, std::string_view why) const {
    std::string shown = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (shown.size() > kMostValueBytes) shown = shown.substr(0, kMostValueBytes) + "...";
    throw_usage("{}: {}{}{}: {}", where_, path, path.empty() ? "" : " = ", shown, why);
  }

  /// A key that is there twice would count once without a word.
  bool note_key(Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys_.back().insert(parsed.get<std::string>()).second) {
      throw_usage("{}: {}: is there twice", where_, parsed.get_ref<const std::string&>());
    }
    return true;
  }

  static std::string join(std::string_view path, std::string_view key) {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
  }
  void require_keys(std::string_view path, const Json& value,
                    const std::vector<std::string_view>& keys) const {
    if (!value.is_object()) {
      refuse(path, value, fmt::format("must be an object of {}", fmt::join(keys, ", ")));
    }
    for (const auto& [key, ignored] : value.items()) {
      if (std::ranges::find(keys, key) != keys.end()) continue;
      throw_usage("{}: {}: unknown; here are allowed: {}", where_, join(path, key),
                  fmt::join(keys, ", "));
    }
  }
  const Json& at(std::string_view path, const Json& value, std::string_view key) const {
    const auto found = value.find(key);
    if (found == value.end()) throw_usage("{}: {}: is missing", where_, join(path, key));
    return *found;
  }
  std::string text(std::string_view path, const Json& value) const {
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) {
      refuse(path, value, "must be a text that says something");
    }
    return value.get<std::string>();
  }

  std::vector<Rule> read_rules(const std::string& name, plan::Collective collective,
                               const Json& list) const {
    if (!list.is_array() || list.empty()) refuse(name, list, "must be a list of rules");
    std::vector<Rule> rules;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string path = fmt::format("{}[{}]", name, i);
      require_keys(path, list[i], {"up_to_bytes", "algorithm"});
      Rule rule;
      rule.up_to_bytes = read_end(path + ".up_to_bytes", list[i], i + 1 == list.size());
      if (!rules.empty() && rule.up_to_bytes <= rules.back().up_to_bytes) {
        refuse(path + ".up_to_bytes", list[i]["up_to_bytes"],
               "must be above that of the rule before");
      }
      const std::string algorithm = text(path + ".algorithm", at(path, list[i], "algorithm"));
      try {
        rule.algorithm = Algorithm::parse(collective, algorithm).name();
      } catch (const UsageError& error) {
        throw_usage("{}: {}.algorithm: {}", where_, path, error.what());
      }
      rules.push_back(std::move(rule));
    }
    return rules;
  }

  std::uint64_t read_end(const std::string& path, const Json& rule, bool last) const {
    const auto end = rule.find("up_to_bytes");
    if (last != (end == rule.end())) {
      throw_usage("{}: {}: {}", where_, path,
                  last ? "the last rule has none, as it is for all that is larger" : "is missing");
    }
    if (last) return Rule::kAnyBytes;
    if (!end->is_number_unsigned() || *end == Rule::kAnyBytes) {
      refuse(path, *end, "must be a whole number");
    }
    return end->get<std::uint64_t>();
  }

  std::string_view where_;
  Json root_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are being parsed
};

}  // namespace

std::string to_json(const DecisionTable& table) {
  Json json = {{"schema", DecisionTable::kSchema},
               {"machine", table.machine},
               {"adapter", table.adapter},
               {"date", table.date},
               {"collectives", Json::object()}};
  for (const plan::Collective collective : plan::all_collectives()) {
    for (const Rule& rule : table.rules(collective)) {
      Json entry = Json::object();
      if (rule.up_to_bytes != Rule::kAnyBytes) entry["up_to_bytes"] = rule.up_to_bytes;
      entry["algorithm"] = rule.algorithm;
      json["collectives"][std::string(to_string(collective))].push_back(entry);
    }
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

DecisionTable parse_table(std::string_view where, std::string_view json) {
  return Reader(where, json).read();
}

DecisionTable load_table(const std::string& path) {
  return parse_table(path, read_text_file(path, kMostFileBytes, "decision table"));
}

}  // namespace weft::tune
