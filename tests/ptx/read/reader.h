// What names of a PTX text stand for while it is read. Internal to the reader.
#pragma once
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/machine/module.h"
#include "ptx/read/source.h"

namespace tessera::ptx {

struct Symbol {  // what has an address
  Space space = Space::global;
  uint64_t address = 0;
  int array = -1;  // of shared memory
};
struct Register {
  uint32_t first = 0;  // byte offset of its group's first, or the number of a predicate
  uint32_t bytes = 0;  // 0: a predicate
  uint32_t count = 1;
};
struct Header {
  std::string name;
  bool entry = false;
  std::vector<Declaration> parameters, results;
  std::vector<uint32_t> parameter_at, result_at;  // offsets in the launch's parameters, or in the memory of calls
  size_t body = 0, end = 0;                       // its statements; none: declared only
};
struct Extent {
  uint32_t registers = 0, predicates = 0, local = 0;
};

uint32_t rounded(uint32_t x, uint32_t to);
uint32_t size_of(const Declaration& d);

// A module under construction: headers, arrays and constants.
class Reader {
 public:
  explicit Reader(const std::string& text);
  Module read();

  std::vector<Statement> all;
  Module module;
  std::map<std::string, Header> headers;
  std::map<std::string, Symbol> symbols;  // of the module, or of the body that is read
  std::vector<Array> arrays;              // of shared memory
  Extent now;

  uint32_t constant(uint64_t bits, uint32_t bytes);  // its operand
  void declare_array(const std::string& text, int line);

 private:
  void find_headers();
  size_t read_header(size_t at);
  void close_calls();
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> constants_;
  std::map<std::string, std::pair<std::set<std::string>, std::set<int>>> uses_;  // a function's calls and arrays
  std::vector<std::string> in_order_;
  uint32_t shared_end_ = 0;
  friend class Body;
};

// One function's statements to instructions.
class Body {
 public:
  Body(Reader& reader, const Header& header) : r_(reader), header_(header) {}
  void read();

 private:
  void read_one(size_t at);
  void declare_registers(const std::string& text, int line);
  void declare_call(size_t at, const Declaration& d);
  void instruction(const Statement& s);
  void operands(Instruction& i, const std::string& opcode, std::string arguments, const Statement& s);
  void memory(Instruction& i, const std::string& opcode, const std::vector<std::string>& a, const Statement& s);
  void matrix(Instruction& i, const std::string& opcode, const std::vector<std::string>& a, const Statement& s);
  void copy(Instruction& i, const std::vector<std::string>& a, const Statement& s);
  void address_space(Instruction& i, const std::string& opcode, const std::vector<std::string>& a, const Statement& s);
  void moves(Instruction& i, const std::string& opcode, const std::vector<std::string>& a, const Statement& s);
  void computes(Instruction& i, const std::string& opcode, const std::vector<std::string>& a, const Statement& s);
  void operand(Instruction& i, int k, const std::string& text, uint32_t bytes, const Statement& s);
  void address(Instruction& i, int k, const std::string& text, int64_t& offset, const Statement& s);
  const Register* find(const std::string& name, uint32_t& at) const;
  uint32_t predicate(const std::string& name, const Statement& s) const;
  Symbol* symbol(const std::string& name);

  Reader& r_;
  const Header& header_;
  std::unordered_map<std::string, Register> groups_;  // "%r" of %r<94>, or a name
  std::map<std::string, Symbol> own_;                 // parameters, local memory, parameters of the calls it makes
  std::map<std::string, uint32_t> labels_;
  std::vector<std::pair<size_t, std::string>> branches_;
  std::vector<std::pair<size_t, std::string>> calls_;
};

}  // namespace tessera::ptx
