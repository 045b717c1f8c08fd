// Three-valued evaluation of shell tests.
#include "launch/shell_test.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "launch/shell_arith.hpp"

namespace culprit::launch::shell {

bool text_of(const Value& value, const GapTable& gaps, std::string& text, bool& assumed) {
  text.clear();
  assumed = assumed || value.assumed;
  for (std::size_t i = 0; i < value.text.size(); ++i) {
    if (!is_gap(value.from[i])) {
      text.push_back(value.text[i]);
    } else if (gaps.at(value.from[i]).kind == Gap::Kind::kUnset) {
      assumed = true;
    } else {
      return false;
    }
  }
  return true;
}

namespace {

constexpr std::array<std::string_view, 14> kBinaryTests = {
    "=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "=~", "<", ">", "-nt", "-ot"};
constexpr int kMaxDepth = 60;

Truth truth(bool value) { return value ? Truth::kTrue : Truth::kFalse; }

class Evaluator {
 public:
  Evaluator(const std::vector<TestItem>& items, bool double_bracket, const GapTable& gaps)
      : items_(items), double_bracket_(double_bracket), gaps_(gaps) {}

  TestResult run() {
    if (items_.empty()) return {Truth::kFalse, false};
    const Truth result = disjunction();
    return {ok_ && at_ == items_.size() ? result : Truth::kUnknown, assumed_};
  }

 private:
  bool is(std::size_t i, std::string_view token) const {
    if (i >= items_.size()) return false;
    return items_[i].op.empty() ? items_[i].value.text == token : items_[i].op == token;
  }
  bool take(std::string_view double_form, std::string_view single_form) {
    if (!is(at_, double_bracket_ ? double_form : single_form)) return false;
    ++at_;
    return true;
  }

  Truth disjunction() {
    Truth left = conjunction();
    while (ok_ && take("||", "-o")) {
      const Truth right = conjunction();
      if (left == Truth::kTrue || right == Truth::kTrue)
        left = Truth::kTrue;
      else if (left == Truth::kUnknown || right == Truth::kUnknown)
        left = Truth::kUnknown;
    }
    return left;
  }

  Truth conjunction() {
    Truth left = primary();
    while (ok_ && take("&&", "-a")) {
      const Truth right = primary();
      if (left == Truth::kFalse || right == Truth::kFalse)
        left = Truth::kFalse;
      else if (left == Truth::kUnknown || right == Truth::kUnknown)
        left = Truth::kUnknown;
    }
    return left;
  }

  bool binary_ahead() const {
    if (at_ + 2 >= items_.size()) return false;
    return std::any_of(kBinaryTests.begin(), kBinaryTests.end(),
                       [&](std::string_view op) { return is(at_ + 1, op); });
  }

  Truth primary() {
    if (at_ >= items_.size() || ++depth_ > kMaxDepth) {
      ok_ = false;
      return Truth::kUnknown;
    }
    Truth result = Truth::kUnknown;
    if (binary_ahead()) {
      result = binary();
    } else if (is(at_, "!") && at_ + 1 < items_.size()) {
      ++at_;
      result = negate(primary());
    } else if (is(at_, "(")) {
      ++at_;
      result = disjunction();
      ok_ = ok_ && is(at_, ")");
      ++at_;
    } else if (at_ + 1 < items_.size() && items_[at_].value.text.size() == 2 &&
               items_[at_].value.text[0] == '-' && !is(at_ + 1, "&&") && !is(at_ + 1, "||")) {
      result = unary();
    } else {
      result = non_empty(items_[at_++].value);
    }
    --depth_;
    return result;
  }

  Truth non_empty(const Value& value) {
    std::string text;
    if (text_of(value, gaps_, text, assumed_)) return truth(!text.empty());
    // A known byte beside the unknown part is enough.
    for (const std::uint32_t origin : value.from) {
      if (!is_gap(origin)) return Truth::kTrue;
    }
    return Truth::kUnknown;
  }

  Truth unary() {
    const char op = items_[at_].value.text[1];
    const Value& operand = items_[at_ + 1].value;
    at_ += 2;
    if (op == 'n') return non_empty(operand);
    if (op == 'z') return negate(non_empty(operand));
    return Truth::kUnknown;  // the file system and the terminal are not asked
  }

  Truth binary() {
    const TestItem& left = items_[at_];
    const std::string op =
        items_[at_ + 1].op.empty() ? items_[at_ + 1].value.text : items_[at_ + 1].op;
    const TestItem& right = items_[at_ + 2];
    at_ += 3;
    std::string a;
    std::string b;
    if (!text_of(left.value, gaps_, a, assumed_) || !text_of(right.value, gaps_, b, assumed_)) {
      return Truth::kUnknown;
    }
    if (op == "=" || op == "==") return truth(equal(a, b, right));
    if (op == "!=") return truth(!equal(a, b, right));
    if (op == "<") return truth(a < b);
    if (op == ">") return truth(a > b);
    if (op.size() != 3 || op == "-nt" || op == "-ot") return Truth::kUnknown;
    return compare_numbers(op, a, b);
  }

  bool equal(const std::string& text, const std::string& other, const TestItem& right) const {
    if (!double_bracket_ || right.value.has_gap()) return text == other;
    return glob_match(right.pattern, text);
  }

  Truth compare_numbers(const std::string& op, const std::string& a, const std::string& b) const {
    // `[ -eq 1 ]` is an error in bash, so not true; [[ ]] takes an empty word as 0.
    if (!double_bracket_ && (a.empty() || b.empty())) return Truth::kFalse;
    const auto x = a.empty() ? 0 : parse_integer(a);
    const auto y = b.empty() ? 0 : parse_integer(b);
    if (!x || !y) return Truth::kUnknown;
    if (op == "-eq") return truth(*x == *y);
    if (op == "-ne") return truth(*x != *y);
    if (op == "-lt") return truth(*x < *y);
    if (op == "-le") return truth(*x <= *y);
    if (op == "-gt") return truth(*x > *y);
    return truth(*x >= *y);
  }

  const std::vector<TestItem>& items_;
  bool double_bracket_;
  const GapTable& gaps_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool ok_ = true;
  bool assumed_ = false;
};

}  // namespace

TestResult evaluate_test(const std::vector<TestItem>& items, bool double_bracket,
                         const GapTable& gaps) {
  return Evaluator(items, double_bracket, gaps).run();
}

}  // namespace culprit::launch::shell
