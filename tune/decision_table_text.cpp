// The JSON form of decision tables, read and written.
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json_value.hpp"
#include "tune/decision_table.hpp"

namespace weft::tune {

namespace {

constexpr std::size_t kMostFileBytes = 1 << 20;

std::uint64_t read_end(const JsonValue& rule, bool last) {
  const bool ends = rule.has("up_to_bytes");
  if (last && ends) {
    rule.at("up_to_bytes").refuse_path("the last rule has none, as it is for all that is larger");
  }
  if (last) return Rule::kAnyBytes;
  const JsonValue end = rule.at("up_to_bytes");
  if (!end.json().is_number_unsigned() || end.json() == Rule::kAnyBytes) {
    end.refuse("must be a whole number");
  }
  return end.json().get<std::uint64_t>();
}

std::string read_algorithm(const JsonValue& value, plan::Collective collective) {
  try {
    return Algorithm::parse(collective, value.text()).name();
  } catch (const UsageError& error) {
    value.refuse_path(error.what());
  }
}

std::vector<Rule> read_rules(const JsonValue& list, plan::Collective collective) {
  if (!list.json().is_array() || list.json().empty()) list.refuse("must be a list of rules");
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < list.json().size(); ++i) {
    const JsonValue entry = list.at(i);
    entry.require_keys({"up_to_bytes", "algorithm"});
    Rule rule;
    rule.up_to_bytes = read_end(entry, i + 1 == list.json().size());
    if (!rules.empty() && rule.up_to_bytes <= rules.back().up_to_bytes) {
      entry.at("up_to_bytes").refuse("must be above that of the rule before");
    }
    rule.algorithm = read_algorithm(entry.at("algorithm"), collective);
    rules.push_back(std::move(rule));
  }
  return rules;
}

DecisionTable read_table(const JsonValue& root) {
  root.require_keys({"schema", "machine", "adapter", "date", "collectives"});
  const JsonValue schema = root.at("schema");
  if (schema.json() != DecisionTable::kSchema) {
    schema.refuse("this weft reads {} only", DecisionTable::kSchema);
  }
  DecisionTable table;
  table.machine = root.at("machine").text();
  table.adapter = root.at("adapter").text();
  table.date = root.at("date").text();
  const JsonValue collectives = root.at("collectives");
  if (!collectives.json().is_object()) collectives.refuse("must be an object");
  for (const auto& [name, rules] : collectives.json().items()) {
    plan::Collective collective{};
    try {
      collective = plan::parse_collective(name);
    } catch (const UsageError& error) {
      collectives.refuse_path(error.what());
    }
    table.set(collective, read_rules(collectives.at(name), collective));
  }
  return table;
}

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
  const Json root = parse_json(where, json);
  return read_table(JsonValue(where, root));
}

DecisionTable load_table(const std::string& path) {
  return parse_table(path, read_text_file(path, kMostFileBytes, "decision table"));
}

DecisionTable load_set_table(const std::string& path) {
  try {
    return load_table(path);
  } catch (const Error& error) {
    throw_usage("WEFT_TABLE={}: {}", path, error.what());
  }
}

}  // namespace weft::tune
