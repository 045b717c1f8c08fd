// How values, weights and blocks are named in a reproduction.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/model_program.hpp"

namespace culprit {

// How a block's number is written: itself, or by the stage that runs it.
struct BlockNumber {
  int number = 0;
  bool by_stage = false;
  int blocks_a_stage = 1;

  std::string text(int offset = 0) const;
};

// "col3.0" of block 3 as "col#.0": one text for the weights of all blocks. The name itself if it
// has no number.
std::string name_pattern(const std::string& name, int block);

// With a point, as a floating-point literal.
std::string decimal(double value);

// The names of a routine's values. A result takes the name of an input that nothing needs any more.
class Names {
 public:
  // Values of `kept` keep their name to the end: a block captures them.
  Names(const Routine& routine, const std::vector<int>& kept);
  // A name that stands for nothing that is still needed. `now`: 0 before the first call, 1 at it,
  // and so on. `keep`: as in the constructor.
  const std::string& give_fresh(int id, std::size_t now, bool keep);
  // `declared`: whether the name stood for something before.
  const std::string& give_result(const OperatorCall& call, std::size_t now, bool& declared);
  void declare(const std::string& name) { used_.insert(name); }
  const std::string& of(int id) const { return names_.at(id); }

 private:
  bool is_needed_after(int id, std::size_t now) const;

  std::map<int, std::string> names_;
  std::map<int, std::size_t> last_use_;
  std::set<int> kept_;
  std::set<std::string> used_;
};

}  // namespace culprit
