// Sizes that follow from others.
#include "launch/launch_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.hpp"

namespace culprit::launch {

namespace {

std::optional<long long> whole(std::string_view text) {
  long long value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 1000000)
    return std::nullopt;
  return value;
}

// A launcher flag by any of its names. Unknown values count as not given, with `unknown` set.
class LauncherFlags {
 public:
  explicit LauncherFlags(const Launch& launch) : words_(launch.launcher_args) {}

  std::optional<std::string> text(std::initializer_list<std::string_view> names) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const LaunchWord& word = words_[i];
      if (!word.text.starts_with('-')) continue;
      const std::string name = normalise_flag(word.text);
      const bool single = word.text.size() > 1 && word.text[1] != '-';
      for (const std::string_view wanted : names) {
        const bool short_form = wanted.starts_with('-');
        if (short_form ? (!single || word.text != wanted) : name != wanted) continue;
        const std::size_t equals = word.text.find('=');
        const bool inline_value = equals != std::string::npos;
        if (!inline_value && i + 1 >= words_.size()) return std::nullopt;
        const LaunchWord& value = inline_value ? word : words_[i + 1];
        line = word.line;
        if (!value.known) {
          unknown = value.why_unknown;
          return std::nullopt;
        }
        return inline_value ? word.text.substr(equals + 1) : value.text;
      }
    }
    return std::nullopt;
  }

  std::optional<long long> number(std::initializer_list<std::string_view> names) {
    const auto value = text(names);
    return value ? whole(*value) : std::nullopt;
  }

  std::string unknown;
  int line = 0;

 private:
  const std::vector<LaunchWord>& words_;
};

// "0,1,2,3" or "gpu:0,1": how many.
std::optional<long long> count_list(const std::string& text) {
  if (text.empty() || text == "auto" || text == "all") return std::nullopt;
  long long count = 0;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin || text.find_first_not_of("0123456789 ", begin) < end) return std::nullopt;
    ++count;
    begin = end + 1;
  }
  return count;
}

// How many of its processes a launch starts; nullopt with `why` where it does not say.
class WorldSize {
 public:
  WorldSize(const Launch& launch, const BatchRequest& batch)
      : launcher_(launch.launcher), batch_(batch), flags_(launch) {}

  std::optional<long long> get(std::string& why) {
    std::optional<long long> world;
    switch (launcher_) {
      case Launcher::kSlurm:
        world = slurm();
        break;
      case Launcher::kMpi:
        world = flags_.number({"-np", "np", "-n", "n"});
        break;
      case Launcher::kPaddle:
        world = times_nodes(devices({"devices", "gpus", "npus", "xpus", "selected_gpus"}), "ips");
        break;
      case Launcher::kDeepSpeed:
        world = deepspeed();
        break;
      case Launcher::kTorch:
        world = flags_.number({"num_processes"});  // accelerate: of all machines
        if (!world) world = times_nodes(flags_.number({"nproc_per_node"}), {});
        break;
      case Launcher::kPython:
        break;
    }
    if (flags_.unknown.empty() && world) return world;
    why = !flags_.unknown.empty() ? flags_.unknown
          : !why_.empty()         ? why_
                                  : "the launcher does not say how many processes it starts";
    return std::nullopt;
  }

 private:
  // What srun's own flags leave open is as the job asked for.
  std::optional<long long> slurm() {
    if (const auto tasks = flags_.number({"ntasks", "-n"})) return tasks;
    std::optional<long long> nodes = flags_.number({"nodes", "-N"});
    std::optional<long long> per_node = flags_.number({"ntasks_per_node", "tasks_per_node"});
    if (!nodes && !per_node && batch_.tasks) return batch_.tasks->value;
    if (!nodes && batch_.nodes) nodes = batch_.nodes->value;
    if (!per_node && batch_.tasks_per_node) per_node = batch_.tasks_per_node->value;
    if (!nodes) why_ = "how many nodes the job has is not said";
    return nodes && per_node ? std::optional(*nodes * *per_node) : std::nullopt;
  }

  std::optional<long long> deepspeed() {
    if (const auto include = flags_.text({"include", "-i"})) {
      // host:0,1@other:0,1
      long long count = 0;
      for (std::size_t begin = 0; begin < include->size();) {
        const std::size_t end = std::min(include->find('@', begin), include->size());
        const std::size_t colon = include->find(':', begin);
        const auto slots =
            colon < end ? count_list(include->substr(colon + 1, end - colon - 1)) : std::nullopt;
        if (!slots) return std::nullopt;
        count += *slots;
        begin = end + 1;
      }
      return count > 0 ? std::optional(count) : std::nullopt;
    }
    const bool hosts = flags_.text({"hostfile", "-H"}).has_value();
    if (hosts && !flags_.text({"num_nodes"})) {
      why_ = "how many nodes there are stands in a host file";
      return std::nullopt;
    }
    return times_nodes(flags_.number({"num_gpus"}), {});
  }

  std::optional<long long> devices(std::initializer_list<std::string_view> names) {
    if (const auto processes = flags_.number({"nproc_per_node"})) return processes;
    const auto list = flags_.text(names);
    return list ? count_list(*list) : std::nullopt;
  }

  // One node where neither their number nor their list (`list_name`) is given.
  std::optional<long long> times_nodes(std::optional<long long> processes,
                                       std::string_view list_name) {
    std::optional<long long> nodes = 1;
    if (const auto given = flags_.text({"nnodes", "num_nodes"})) {
      nodes = whole(*given);
      if (!nodes) why_ = "how many nodes there are is decided at run time: " + *given;
    } else if (!list_name.empty()) {
      if (const auto list = flags_.text({list_name}))
        nodes = std::count(list->begin(), list->end(), ',') + 1;
    }
    return processes && nodes ? std::optional(*processes * *nodes) : std::nullopt;
  }

  Launcher launcher_;
  const BatchRequest& batch_;
  LauncherFlags flags_;
  std::string why_;
};

}  // namespace

void derive_sizes(const LaunchScript& script, LaunchMapping& mapping, const BatchSizes& batch) {
  const auto note = [&](int line, std::string text) {
    mapping.notes.push_back({line, std::move(text)});
  };
  const auto given_but_unknown = [&](Setting setting) {
    return std::any_of(mapping.flags.begin(), mapping.flags.end(), [&](const MappedFlag& flag) {
      return flag.setting == setting && !flag.known;
    });
  };
  // The frameworks' defaults hold where the flags are all there: none of them in a file or a
  // variable that is not known.
  const bool takes_defaults =
      std::any_of(mapping.flags.begin(), mapping.flags.end(),
                  [](const MappedFlag& flag) { return flag.dialects != 0; }) &&
      std::none_of(mapping.flags.begin(), mapping.flags.end(), [](const MappedFlag& flag) {
        const bool positional = flag.flag_word != kNoWord && !flag.name.starts_with('-');
        const bool other_config = flag.name == "-c" || flag.name == "-o" || flag.name == "--config";
        // A file that could not be read, of JSON or of YAML.
        const bool lost_file = (flag.flag_word == kNoWord && flag.file.empty()) ||
                               (!flag.known && flag.note.find("YAML") != std::string::npos);
        return (positional && !flag.known) || other_config || lost_file;
      });
  if (takes_defaults && !mapping.tp && !given_but_unknown(Setting::kTp)) {
    mapping.tp = 1;
    note(0, "tensor parallel degree not given: 1");
  }
  if (takes_defaults && !mapping.pp && !given_but_unknown(Setting::kPp)) {
    mapping.pp = 1;
    note(0, "pipeline stages not given: 1");
  }

  std::string why;
  int line = 0;
  for (const Launch& launch : script.launches) {
    const auto world = WorldSize(launch, script.batch).get(why);
    if (!world) continue;
    if (mapping.world_size && *mapping.world_size != *world) {
      note(launch.line,
           fmt::format("launches start {} and {} processes", *mapping.world_size, *world));
      mapping.world_size.reset();
      why = "the script's launches differ in it";
      break;
    }
    mapping.world_size = static_cast<int>(std::min<long long>(*world, 1000000000));
    line = launch.line;
  }

  if (mapping.world_size && mapping.tp && mapping.pp &&
      !given_but_unknown(Setting::kContextParallel) && !given_but_unknown(Setting::kSepParallel)) {
    const long long model =
        static_cast<long long>(*mapping.tp) * *mapping.pp * batch.sequence_split;
    if (*mapping.world_size % model == 0) {
      mapping.data_parallel = static_cast<int>(*mapping.world_size / model);
    } else {
      why = fmt::format("{} processes are no multiple of tensor x pipeline x context parallel = {}",
                        *mapping.world_size, model);
      note(line, why);
    }
  }

  const bool can_derive = batch.micro && batch.global && mapping.data_parallel;
  const long long step =
      can_derive ? static_cast<long long>(*batch.micro) * *mapping.data_parallel : 0;
  if (mapping.acc) {
    if (can_derive && *batch.global != step * *mapping.acc) {
      throw UsageError(fmt::format(
          "[launch.map] {}: global batch {} contradicts micro-batch {} x data parallel {} x {} "
          "micro-batches",
          script.path.string(), *batch.global, *batch.micro, *mapping.data_parallel, *mapping.acc));
    }
    return;
  }
  if (given_but_unknown(Setting::kAcc)) return;
  if (batch.local && batch.micro) {
    if (*batch.local % *batch.micro != 0) {
      mapping.why_no_acc =
          fmt::format("micro-batches can't be derived: {} samples a rank are no multiple of {}",
                      *batch.local, *batch.micro);
      note(0, mapping.why_no_acc);
    } else {
      mapping.acc = *batch.local / *batch.micro;
      note(0, fmt::format("{} micro-batches: {} samples a rank / micro-batch {}", *mapping.acc,
                          *batch.local, *batch.micro));
    }
  } else if (can_derive && *batch.global % step == 0) {
    mapping.acc = static_cast<int>(*batch.global / step);
    note(line,
         fmt::format("{} micro-batches: global batch {} / (micro-batch {} x data parallel {})",
                     *mapping.acc, *batch.global, *batch.micro, *mapping.data_parallel));
  } else if (can_derive) {
    mapping.why_no_acc =
        fmt::format("micro-batches can't be derived: global batch {} is no multiple of {} x {}",
                    *batch.global, *batch.micro, *mapping.data_parallel);
    note(line, mapping.why_no_acc);
  } else if (batch.global) {
    const std::string missing = !batch.micro ? "the micro-batch size is not known" : why;
    mapping.why_no_acc = "micro-batches can't be derived from the global batch: " + missing;
    mapping.unknowns.push_back({line, mapping.why_no_acc});
  } else if (takes_defaults && !batch.local && !given_but_unknown(Setting::kGlobalBatch) &&
             !given_but_unknown(Setting::kLocalBatch)) {
    mapping.acc = 1;
    note(0, "micro-batches a step not given: 1");
  }
}

}  // namespace culprit::launch
