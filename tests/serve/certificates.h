// Certificates of a test's own.
#pragma once

#include <cstdio>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string>

namespace sinter::serve {

struct Files {
  std::string certificate, key;
};

// Writes a certificate of its own key, good for an hour.
inline Files writeCertificate(const std::string &folder, const std::string &name) {
  const Files files = {folder + "/" + name + ".pem", folder + "/" + name + ".key"};
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME *subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char *>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  X509_sign(certificate, key, EVP_sha256());
  FILE *file = std::fopen(files.certificate.c_str(), "w");
  PEM_write_X509(file, certificate);
  std::fclose(file);
  file = std::fopen(files.key.c_str(), "w");
  PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return files;
}

} // namespace sinter::serve
