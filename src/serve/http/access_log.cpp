// Records as JSON.
#include "serve/http/access_log.h"

#include <ctime>
#include <nlohmann/json.hpp>

namespace sinter::serve {
namespace {

std::string cut(const std::string &text) {
  constexpr size_t kMost = 512;
  return text.substr(0, kMost);
}

std::string timeText(std::chrono::system_clock::time_point time) {
  using std::chrono::milliseconds;
  const auto sinceEpoch = std::chrono::duration_cast<milliseconds>(time.time_since_epoch());
  const auto seconds = static_cast<std::time_t>(sinceEpoch.count() / 1000);
  std::tm utc = {};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  char milli[8];
  std::snprintf(milli, sizeof milli, ".%03d", static_cast<int>(sinceEpoch.count() % 1000));
  return std::string(text) + milli + "Z";
}

} // namespace

std::string accessLogLine(const RequestRecord &record) {
  nlohmann::ordered_json line;
  line["time"] = timeText(record.received);
  line["client"] = record.client;
  if (!record.keyName.empty())
    line["key"] = record.keyName;
  line["method"] = cut(record.method);
  line["path"] = cut(record.path);
  line["route"] = record.route;
  line["status"] = record.answer.status;
  line["request_bytes"] = record.requestBytes;
  line["response_bytes"] = record.answer.bodyBytes;
  line["seconds"] = std::round(record.seconds * 1e6) / 1e6;
  line["user_agent"] = cut(record.userAgent);
  line["end"] = record.answer.broken ? "broken" : record.answer.gone ? "gone" : "whole";
  return line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

} // namespace sinter::serve
