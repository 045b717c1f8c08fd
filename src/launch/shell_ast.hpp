// Syntax tree of the part of bash that launch scripts use. Offsets are into the text that was
// parsed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "launch/launch_script.hpp"

namespace culprit::launch::shell {

struct ShellWord;

struct Part {
  enum class Kind {
    kText,     // literal bytes
    kParam,    // $NAME, ${NAME...}
    kCommand,  // $(...), `...`, <(...): never evaluated
    kArith,    // $((...))
  };
  Kind kind = Kind::kText;
  bool quoted = false;  // then not split into words
  SourceRange range;
  std::string text;                    // kText: the bytes; kCommand: as written
  std::vector<std::uint32_t> at;       // kText: offset of each byte
  std::string name;                    // kParam
  std::string subscript;               // kParam: "" | "@" | "*" | an index expression
  std::string op;                      // kParam: "" | ":-" | "%" | "len" | "indirect" | ...
  std::shared_ptr<ShellWord> operand;  // kParam: after the operator; kArith: the expression
};

struct ShellWord {
  std::vector<Part> parts;
  SourceRange range;
  // The word's bytes if it is one literal without quotes (a reserved word, a name), else empty.
  std::string bare() const {
    if (parts.size() != 1 || parts[0].kind != Part::Kind::kText || parts[0].quoted) return {};
    return parts[0].text;
  }
};

struct Assignment {
  std::string name;
  std::string subscript;
  bool append = false;
  bool is_array = false;
  ShellWord value;                  // scalar
  std::vector<ShellWord> elements;  // array
  SourceRange range;
};

struct HereDoc {
  ShellWord body;
};

struct Redirect {
  std::string op;  // ">", ">>", "<", "<<", "<<<", "&>", ...
  ShellWord target;
  std::shared_ptr<HereDoc> here;
};

// A token of [[ ]]: an operator, or a word.
struct TestToken {
  std::string op;
  ShellWord word;
};

struct CaseArm;

struct Command {
  enum class Kind {
    kSimple,
    kSequence,  // children in order
    kAndOr,     // children; name holds one '&' or '|' between each two (left-associative)
    kNot,       // one child
    kPipeline,  // children
    kIf,        // condition, body, condition, body, ..., [else body]
    kFor,       // name, words; child: body
    kLoop,      // while, until, C-style for, select: condition (may be null), body
    kCase,      // words[0], arms
    kFunction,  // name; child: body
    kGroup,     // one child
    kSubshell,  // one child
    kTest,      // [[ ]]
    kArith,     // (( )): words[0]
  };
  Kind kind = Kind::kSimple;
  std::uint32_t offset = 0;
  std::uint32_t end = 0;
  std::string name;
  bool until = false;     // kLoop: until
  bool bare_for = false;  // kFor without "in": the positional parameters
  std::vector<Assignment> assigns;
  std::vector<ShellWord> words;
  std::vector<Redirect> redirects;
  std::vector<TestToken> test;
  std::vector<CaseArm> arms;
  std::vector<std::shared_ptr<Command>> children;
};

struct CaseArm {
  std::vector<ShellWord> patterns;
  std::shared_ptr<Command> body;
  bool falls_through = false;  // ;& or ;;&
};

}  // namespace culprit::launch::shell
