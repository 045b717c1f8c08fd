// Precedence climbing over bash's integer operators.
#include "launch/shell_arith.hpp"

#include <charconv>
#include <limits>
#include <vector>

namespace culprit::launch::shell {

namespace {

using Number = std::optional<std::int64_t>;

struct BinaryOperator {
  std::string_view text;
  int precedence;
};
// Longer operators first, so that "<<" is not read as "<".
constexpr BinaryOperator kBinaryOperators[] = {{"**", 12}, {"<<", 9}, {">>", 9}, {"<=", 8}, {">=", 8},
                                      {"==", 7},  {"!=", 7}, {"&&", 3}, {"||", 2}, {"*", 11},
                                      {"/", 11},  {"%", 11}, {"+", 10}, {"-", 10}, {"<", 8},
                                      {">", 8},   {"&", 6},  {"^", 5},  {"|", 4}};
constexpr std::string_view kAssign[] = {"=", "+=", "-=", "*=", "/=", "%="};

Number power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0 || exponent > 62) return std::nullopt;
  std::int64_t result = 1;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
  }
  return result;
}

Number apply(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (op == "+") return __builtin_add_overflow(a, b, &result) ? Number() : Number(result);
  if (op == "-") return __builtin_sub_overflow(a, b, &result) ? Number() : Number(result);
  if (op == "*") return __builtin_mul_overflow(a, b, &result) ? Number() : Number(result);
  if (op == "/" || op == "%") {
    if (b == 0 || (a == std::numeric_limits<std::int64_t>::min() && b == -1)) return std::nullopt;
    return op == "/" ? a / b : a % b;
  }
  if (op == "**") return power(a, b);
  if (op == "<<" || op == ">>") {
    if (b < 0 || b > 62 || a < 0) return std::nullopt;
    if (op == ">>") return a >> b;
    return a > (std::numeric_limits<std::int64_t>::max() >> b) ? Number() : Number(a << b);
  }
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  if (op == "<=") return a <= b;
  if (op == ">=") return a >= b;
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "&") return a & b;
  if (op == "|") return a | b;
  if (op == "^") return a ^ b;
  if (op == "&&") return a != 0 && b != 0;
  return a != 0 || b != 0;  // ||
}

class ArithParser {
 public:
  ArithParser(std::string_view text, const ArithContext& context)
      : text_(text), context_(context) {}

  Number parse() {
    Number value = expression();
    while (ok_ && take(",")) value = expression();
    skip();
    return ok_ && at_ == text_.size() ? value : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  Number fail() {
    ok_ = false;
    return std::nullopt;
  }

  Number expression() {
    if (++depth_ > 60) return fail();
    Number value = ternary();
    --depth_;
    return value;
  }

  Number ternary() {
    const Number condition = binary(2);
    if (!ok_ || !take("?")) return condition;
    const Number yes = expression();
    if (!ok_ || !take(":")) return fail();
    const Number no = expression();
    if (!condition) return yes == no ? yes : std::nullopt;
    return *condition != 0 ? yes : no;
  }

  const BinaryOperator* operator_ahead() {
    skip();
    for (const BinaryOperator& op : kBinaryOperators) {
      if (text_.substr(at_, op.text.size()) != op.text) continue;
      const std::size_t after = at_ + op.text.size();
      const bool assigns = after < text_.size() && text_[after] == '=' && op.precedence >= 9;
      return assigns ? nullptr : &op;
    }
    return nullptr;
  }

  Number binary(int lowest) {
    Number left = unary();
    while (ok_) {
      const BinaryOperator* op = operator_ahead();
      if (op == nullptr || op->precedence < lowest) break;
      at_ += op->text.size();
      if (++depth_ > 60) return fail();
      const Number right = binary(op->text == "**" ? op->precedence : op->precedence + 1);
      --depth_;
      left = left && right ? apply(op->text, *left, *right) : Number();
    }
    return left;
  }

  Number unary() {
    if (++depth_ > 60) return fail();
    Number value;
    if (take("++") || take("--")) {
      const bool up = text_[at_ - 1] == '+';
      value = assign_step(up, /*after=*/false);
    } else if (take("!")) {
      const Number inner = unary();
      if (inner) value = *inner == 0;
    } else if (take("-")) {
      const Number inner = unary();
      if (inner) value = apply("-", 0, *inner);
    } else if (take("+")) {
      value = unary();
    } else if (take("~")) {
      const Number inner = unary();
      if (inner) value = ~*inner;
    } else {
      value = primary();
    }
    --depth_;
    return value;
  }

  std::string name() {
    skip();
    std::string word;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      word.push_back(text_[at_++]);
    }
    return word;
  }

  Number assign_step(bool up, bool after) {
    const std::string variable = name();
    if (variable.empty()) return fail();
    return step(variable, up, after);
  }

  Number step(const std::string& variable, bool up, bool after) {
    const Number before = context_.lookup(variable);
    const Number next = before ? apply(up ? "+" : "-", *before, 1) : Number();
    context_.assign(variable, next);
    return after ? before : next;
  }

  Number primary() {
    if (take("(")) {
      const Number inner = expression();
      return ok_ && take(")") ? inner : fail();
    }
    skip();
    const std::string word = name();
    if (word.empty()) return fail();
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) {
      const Number number = parse_integer(word);
      return number ? number : fail();
    }
    if (take("++")) return step(word, /*up=*/true, /*after=*/true);
    if (take("--")) return step(word, /*up=*/false, /*after=*/true);
    skip();
    for (const std::string_view op : kAssign) {
      if (text_.substr(at_, op.size()) != op || text_.substr(at_, 2) == "==") continue;
      at_ += op.size();
      const Number right = expression();
      Number value = right;
      if (op != "=") {
        const Number left = context_.lookup(word);
        value = left && right ? apply(op.substr(0, 1), *left, *right) : Number();
      }
      context_.assign(word, value);
      return value;
    }
    return context_.lookup(word);
  }

  std::string_view text_;
  const ArithContext& context_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool ok_ = true;
};

}  // namespace

std::optional<std::int64_t> evaluate_arith(std::string_view text, const ArithContext& context) {
  if (text.size() > 4096) return std::nullopt;
  return ArithParser(text, context).parse();
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return negative ? -value : value;
}

}  // namespace culprit::launch::shell
