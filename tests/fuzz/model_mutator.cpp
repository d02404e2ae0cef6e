// Mutations of model files that go past their lengths: half of them change one value of a document and put header and
// offsets right again.
#include "base/storage/safetensors.h"
#include "support/model_mutants.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

using namespace tessera::mutants;

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  Random random(seed);
  if (random() % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  try {
    tessera::SafeTensors file = tessera::parse_safetensors({reinterpret_cast<const char*>(data), size}, "input");
    Json document = Json::parse(file.metadata["tessera"]);
    for (unsigned n = 1 + static_cast<unsigned>(random() % 3); n > 0; --n) mutate(document, random);
    file.metadata["tessera"] = document.dump(-1, ' ', false, Json::error_handler_t::replace);
    file.metadata.erase("checksum");
    if (random() % 4 == 0 && !file.tensors.empty()) {  // a tensor of another length, or with other values
      auto at = file.tensors.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(random() % file.tensors.size()));
      tessera::SafeTensor& t = at->second;
      if (random() % 2 == 0) {
        t.bytes.resize(8 * (random() % 9));
        const int64_t element = t.dtype == "F64" || t.dtype == "I64" ? 8 : 4;
        t.shape = {static_cast<int64_t>(t.bytes.size()) / element};
      } else if (t.bytes.size() >= 4) {
        LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(t.bytes.data()), t.bytes.size(), t.bytes.size());
      }
    }
    const std::string out = tessera::format_safetensors(file);
    if (out.size() <= most) {
      std::memcpy(data, out.data(), out.size());
      return out.size();
    }
  } catch (const std::exception&) {}
  return LLVMFuzzerMutate(data, size, most);
}
