// The flavours of libcurl differ in their TLS library alone.
#include "store/curl_library.h"

#include <dlfcn.h>

namespace sinter::store {
namespace {

constexpr const char *kLibraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

template <typename F> bool find(void *library, const char *name, F &function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

bool findAll(void *library, CurlLibrary &curl) {
  return find(library, "curl_global_init", curl.globalInit) &&
         find(library, "curl_easy_init", curl.init) &&
         find(library, "curl_easy_setopt", curl.setopt) &&
         find(library, "curl_easy_perform", curl.perform) &&
         find(library, "curl_easy_getinfo", curl.getinfo) &&
         find(library, "curl_easy_cleanup", curl.cleanup) &&
         find(library, "curl_easy_reset", curl.reset) &&
         find(library, "curl_easy_strerror", curl.strerror) &&
         find(library, "curl_slist_append", curl.append) &&
         find(library, "curl_slist_free_all", curl.freeAll);
}

Result<CurlLibrary> open() {
  for (const char *name : kLibraries) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
      continue;
    CurlLibrary curl;
    if (findAll(library, curl) && curl.globalInit(CURL_GLOBAL_DEFAULT) == CURLE_OK)
      return curl;
    dlclose(library);
  }
  return fail(Code::Unsupported, "models are fetched by libcurl, and this machine has no " +
                                     std::string(kLibraries[0]) + ": install the package libcurl4");
}

} // namespace

Result<const CurlLibrary *> curlLibrary() {
  static const Result<CurlLibrary> library = open();
  if (!library)
    return Fail(library.error());
  return &*library;
}

} // namespace sinter::store
