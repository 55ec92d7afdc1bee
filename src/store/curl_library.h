// libcurl, opened when it is needed first.
#pragma once

#include "base/status.h"

#include <curl/curl.h>

namespace sinter::store {

// Its functions, by their own names.
struct CurlLibrary {
  decltype(&::curl_global_init) globalInit = nullptr;
  decltype(&::curl_easy_init) init = nullptr;
  decltype(&::curl_easy_setopt) setopt = nullptr;
  decltype(&::curl_easy_perform) perform = nullptr;
  decltype(&::curl_easy_getinfo) getinfo = nullptr;
  decltype(&::curl_easy_cleanup) cleanup = nullptr;
  decltype(&::curl_easy_reset) reset = nullptr;
  decltype(&::curl_easy_strerror) strerror = nullptr;
  decltype(&::curl_slist_append) append = nullptr;
  decltype(&::curl_slist_free_all) freeAll = nullptr;
};

// Opened once, from any thread; stays until the process ends. Unsupported: there is none.
Result<const CurlLibrary *> curlLibrary();

} // namespace sinter::store
