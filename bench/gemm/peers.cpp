// oneDNN and OpenBLAS through their C interfaces, which do not throw.
#include "peers.h"

#include <cblas.h>
#include <dlfcn.h>
#include <dnnl.h>

#include <string>

namespace sinter::bench {
namespace {

class OpenBlas : public PeerGemm {
public:
  explicit OpenBlas(const Gemm &product) : p_(product) {}
  Result<void> run() override {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<blasint>(p_.m),
                static_cast<blasint>(p_.n), static_cast<blasint>(p_.k), 1, p_.a,
                static_cast<blasint>(p_.k), p_.b, static_cast<blasint>(p_.n), 0, p_.out,
                static_cast<blasint>(p_.n));
    return {};
  }

private:
  Gemm p_;
};

Result<void> dnnl(dnnl_status_t status, const char *what) {
  if (status == dnnl_success)
    return {};
  return fail(Code::Internal,
              std::string("oneDNN: ") + what + " failed with " + std::to_string(status));
}

// A matmul primitive whose weights lie plainly or in the layout it asked for.
class OneDnn : public PeerGemm {
public:
  OneDnn(const Gemm &product, bool packed) : p_(product), packed_(packed) {}
  ~OneDnn() override {
    dnnl_primitive_destroy(matmul_);
    for (dnnl_memory_t memory : {a_, b_, out_})
      dnnl_memory_destroy(memory);
    dnnl_stream_destroy(stream_);
    dnnl_engine_destroy(engine_);
  }

  Result<void> prepare() {
    SINTER_TRY(dnnl(dnnl_engine_create(&engine_, dnnl_cpu, 0), "making an engine"));
    SINTER_TRY(
        dnnl(dnnl_stream_create(&stream_, engine_, dnnl_stream_default_flags), "making a stream"));
    SINTER_ASSIGN(const dnnl_memory_desc_t a, describe(p_.m, p_.k, dnnl_ab));
    SINTER_ASSIGN(const dnnl_memory_desc_t b,
                  describe(p_.k, p_.n, packed_ ? dnnl_format_tag_any : dnnl_ab));
    SINTER_ASSIGN(const dnnl_memory_desc_t out, describe(p_.m, p_.n, dnnl_ab));
    dnnl_matmul_desc_t desc;
    SINTER_TRY(dnnl(dnnl_matmul_desc_init(&desc, &a, &b, nullptr, &out), "describing a matmul"));
    dnnl_primitive_desc_t kind = nullptr;
    SINTER_TRY(dnnl(dnnl_primitive_desc_create(&kind, &desc, nullptr, engine_, nullptr),
                    "choosing a matmul"));
    const dnnl_memory_desc_t wanted = *dnnl_primitive_desc_query_md(kind, dnnl_query_weights_md, 0);
    Result<void> made = dnnl(dnnl_primitive_create(&matmul_, kind), "making a matmul");
    dnnl_primitive_desc_destroy(kind);
    SINTER_TRY(std::move(made));
    SINTER_ASSIGN(a_, memoryOf(a, const_cast<float *>(p_.a)));
    SINTER_ASSIGN(out_, memoryOf(out, p_.out));
    return packed_ ? reorder(wanted) : plain(b);
  }

  Result<void> run() override {
    const dnnl_exec_arg_t args[] = {
        {DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, out_}};
    SINTER_TRY(dnnl(dnnl_primitive_execute(matmul_, stream_, 3, args), "a matmul"));
    return dnnl(dnnl_stream_wait(stream_), "waiting");
  }

private:
  Result<dnnl_memory_desc_t> describe(int64_t rows, int64_t columns, dnnl_format_tag_t tag) {
    const dnnl_dims_t dims = {rows, columns};
    dnnl_memory_desc_t desc;
    SINTER_TRY(dnnl(dnnl_memory_desc_init_by_tag(&desc, 2, dims, dnnl_f32, tag), "a layout"));
    return desc;
  }
  Result<dnnl_memory_t> memoryOf(const dnnl_memory_desc_t &desc, void *data) {
    dnnl_memory_t memory = nullptr;
    SINTER_TRY(dnnl(dnnl_memory_create(&memory, &desc, engine_, data), "making a memory"));
    return memory;
  }
  Result<void> plain(const dnnl_memory_desc_t &desc) {
    SINTER_ASSIGN(b_, memoryOf(desc, const_cast<float *>(p_.b)));
    return {};
  }
  Result<void> reorder(const dnnl_memory_desc_t &wanted) {
    SINTER_ASSIGN(const dnnl_memory_desc_t given, describe(p_.k, p_.n, dnnl_ab));
    SINTER_ASSIGN(const dnnl_memory_t from, memoryOf(given, const_cast<float *>(p_.b)));
    SINTER_ASSIGN(b_, memoryOf(wanted, DNNL_MEMORY_ALLOCATE));
    dnnl_primitive_desc_t kind = nullptr;
    dnnl_primitive_t move = nullptr;
    SINTER_TRY(
        dnnl(dnnl_reorder_primitive_desc_create(&kind, &given, engine_, &wanted, engine_, nullptr),
             "choosing a reorder"));
    SINTER_TRY(dnnl(dnnl_primitive_create(&move, kind), "making a reorder"));
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, b_}};
    SINTER_TRY(dnnl(dnnl_primitive_execute(move, stream_, 2, args), "a reorder"));
    SINTER_TRY(dnnl(dnnl_stream_wait(stream_), "waiting"));
    dnnl_primitive_destroy(move);
    dnnl_primitive_desc_destroy(kind);
    dnnl_memory_destroy(from);
    return {};
  }

  Gemm p_;
  bool packed_;
  dnnl_engine_t engine_ = nullptr;
  dnnl_stream_t stream_ = nullptr;
  dnnl_primitive_t matmul_ = nullptr;
  dnnl_memory_t a_ = nullptr, b_ = nullptr, out_ = nullptr;
};

Result<std::unique_ptr<PeerGemm>> makeOneDnn(const Gemm &product, bool packed) {
  auto made = std::make_unique<OneDnn>(product, packed);
  SINTER_TRY(made->prepare());
  return made;
}

} // namespace

void setPeerThreads(int threads) {
  openblas_set_num_threads(threads);
  // oneDNN takes its threads from the OpenMP runtime that the distribution linked it to.
  using SetThreads = void (*)(int);
  if (auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads")))
    set(threads);
}

std::string openBlasKernels() {
  return openblas_get_corename();
}

std::unique_ptr<PeerGemm> openBlasGemm(const Gemm &product) {
  return std::make_unique<OpenBlas>(product);
}

Result<std::unique_ptr<PeerGemm>> oneDnnGemm(const Gemm &product) {
  return makeOneDnn(product, false);
}

Result<std::unique_ptr<PeerGemm>> oneDnnPackedGemm(const Gemm &product) {
  return makeOneDnn(product, true);
}

} // namespace sinter::bench
