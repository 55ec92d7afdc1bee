// The access log: one JSON object a line for each request.
#pragma once

#include "serve/http/server.h"

namespace sinter::serve {

// {"time":"2026-01-31T12:00:00.123Z","client":"127.0.0.1","key":"name","method":"GET",
// "path":"/health","route":"/health","status":200,"request_bytes":0,"response_bytes":15,
// "seconds":0.0001,"user_agent":"curl/8","end":"whole"}
// status 0: the client went before there was one. end: "whole", "gone" (the client went) or
// "broken" (the answer was given up). What a client sent is cut to 512 bytes a field. No query, no
// key.
std::string accessLogLine(const RequestRecord &record);

} // namespace sinter::serve
