// Where frameworks and their releases differ. Every other rule is the engine itself; a new release becomes a row of
// rules_of, and a new difference a field. The numbers are those of docs/semantics.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace culprit {

// The defaults are PaddlePaddle's.
struct FrameworkRules {
  std::string name;
  // Whose words an error has; no outcome hangs on it.
  bool speaks_torch = false;
  // Rule 7: the new object handed out for an output marked as not in-place stops gradients.
  bool marked_output_stops_gradient = false;
  // Rule 18: a none saved through the saved-tensor hooks is allowed.
  bool hooks_accept_none = true;
  // Rules 6 and 21: an input that forward returns counts as written in place. Else only one that is marked dirty does, and
  // any other is given out as a new handle.
  bool returned_input_is_inplace = true;
  // Rules 22 and 23: a function can mark an output as dirty or as not differentiable.
  bool has_output_marks = false;
  // Rules 8 and 24: a gradient that a function gives for an input that needs none is an error, else dropped.
  bool unneeded_gradient_is_error = true;
  // Rules 4 and 25: an operator that no gradient reached gives none on; else it is given zeros.
  bool missing_gradient_stays_none = false;
  // Rules 4 and 26: backward from a tensor that stops gradients is an error.
  bool stopped_root_is_error = false;
  // Rules 5 and 27: what a function saves is checked as an operator's is, from the end of its forward on.
  bool function_saves_are_checked = false;
  // Rules 3 and 27: a matmul saves only what a wanted gradient needs.
  bool matmul_saves_what_it_needs = false;
  // Rules 3 and 27: a scale is freed by its backward, like an operator that saves values.
  bool scale_is_freed = false;
  // Rule 28: the sides of an add share one gradient, and a leaf's first gradient has memory of its own.
  bool add_shares_gradient = false;
  // Rule 28: of the nodes that are ready the one made last runs first; else the one that was ready first.
  bool newest_node_first = false;
  // Rules 15 and 30: a block's inputs are saved and checked like any value.
  bool replay_checks_inputs = false;
  // Rule 30: the second run ends once it has saved as much as the first.
  bool replay_stops_early = false;
  // Rules 15 and 30: a value that comes back through hooks needs a gradient if the one that was saved did; else it stops them.
  bool supplied_value_keeps_need = false;
  // Rules 15 and 30: saved-tensor hooks nest, and a value saved by a second run can be read during it.
  bool hooks_nest = false;
  // Rules 1 and 21: a reshape to the tensor's own shape is a view; else the tensor itself.
  bool reshape_gives_view = false;
  // Rules 16 and 31: a pipeline releases an output that it sent at any in-place version; else at version 0 only.
  bool releases_any_version = false;
  // Rule 31: a pipeline that releases a view is an error.
  bool release_refuses_views = false;
  // Rules 16 and 31: what becomes of a released output that is read is known: an error.
  bool models_released_reads = true;
};

// A framework by name: "paddle@3.3.1" (default), or one of it with a single rule of another, "paddle@3.3.1+new_handle".
// Errors: UsageError naming the known ones.
const FrameworkRules& rules_of(std::string_view framework);
// Without single rules.
std::vector<std::string> known_frameworks();

// A rule in which frameworks differ and that can be taken over by itself.
struct NamedRule {
  std::string name;     // as in "paddle@3.3.1+new_handle"
  std::string meaning;  // in words, PyTorch's side: "a new handle for an input returned as is"
  bool FrameworkRules::* field;
};
// Those that are most often the reason stand first.
const std::vector<NamedRule>& named_rules();

// PyTorch's release, whose rules a failure under another framework's is tried with.
inline constexpr std::string_view kComparedFramework = "torch@2.15.0";

}  // namespace culprit
