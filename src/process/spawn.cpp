// vfork and exec by hand rather than posix_spawn, which can set neither a parent-death signal nor
// close-on-exec for descriptors that other code of this process forgot to mark.
#include "process/spawn.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "process/program_path.hpp"
#include "process/progress_counter.hpp"

namespace culprit {
namespace {

struct Failure {
  int error;
  char step;  // 'c' chdir, 'f' descriptors, 'e' exec
};

struct Plan {
  const char* program;
  char* const* argv;
  char* const* script_argv;  // /bin/sh program args..., for a script without a #! line
  char* const* environment;
  const char* directory;  // null: inherited
  SpawnFds fds;
  int failure_fd;
  pid_t parent;
  const sigset_t* signal_mask;
};

[[noreturn]] void fail(int fd, int error, char step) {
  const Failure failure{error, step};
  [[maybe_unused]] const auto written = ::write(fd, &failure, sizeof failure);
  ::_exit(127);
}

// Runs in the child, which shares the parent's memory until exec: async-signal-safe calls only, and
// no signal may run one of the parent's handlers, hence default dispositions before the mask is
// lifted.
[[noreturn]] void run_child(const Plan& plan) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);  // it died before the line above
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0) continue;
    const bool is_ignored = action.sa_handler == SIG_IGN;
    // Ignored SIGHUP means nohup, and is meant for the children too; other ignores are our own
    // business.
    if (action.sa_handler == SIG_DFL || (is_ignored && number == SIGHUP)) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, plan.signal_mask, nullptr);
  if (::dup2(plan.fds.stdin_fd, 0) < 0 || ::dup2(plan.fds.stdout_fd, 1) < 0 ||
      ::dup2(plan.fds.stderr_fd, 2) < 0)
    fail(plan.failure_fd, errno, 'f');
  constexpr unsigned kCloseOnExec =
      4;  // CLOSE_RANGE_CLOEXEC; an old kernel refuses, ours are marked anyway
  ::syscall(SYS_close_range, 3U, ~0U, kCloseOnExec);
  if (plan.fds.progress_fd >= 0) {
    const bool is_in_place = plan.fds.progress_fd == kProgressFd;
    if ((is_in_place ? ::fcntl(kProgressFd, F_SETFD, 0)
                     : ::dup2(plan.fds.progress_fd, kProgressFd)) < 0)
      fail(plan.failure_fd, errno, 'f');
  }
  if (plan.directory && ::chdir(plan.directory) != 0) fail(plan.failure_fd, errno, 'c');
  ::execve(plan.program, plan.argv, plan.environment);
  if (errno == ENOEXEC) ::execve("/bin/sh", plan.script_argv, plan.environment);
  fail(plan.failure_fd, errno, 'e');
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (const std::string& text : strings) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

std::string_view search_path(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment)
    if (entry.starts_with("PATH=")) return std::string_view(entry).substr(5);
  return "/usr/local/bin:/usr/bin:/bin";
}

}  // namespace

Spawned spawn_process(const std::vector<std::string>& argv,
                      const std::vector<std::string>& environment, const std::string& directory,
                      const SpawnFds& fds) {
  if (argv.empty()) return {-1, EINVAL, "find"};
  const ProgramPath program = find_program(argv[0], search_path(environment), directory);
  if (program.path.empty()) return {-1, program.error, "find"};

  int failure_pipe[2];
  if (::pipe2(failure_pipe, O_CLOEXEC) != 0) return {-1, errno, "fork"};
  UniqueFd failure_read(failure_pipe[0]);
  UniqueFd failure_write(failure_pipe[1]);
  if (failure_write.get() == kProgressFd) {  // the child is going to use that number
    failure_write.reset(::fcntl(failure_pipe[1], F_DUPFD_CLOEXEC, kProgressFd + 1));
    if (!failure_write) return {-1, errno, "fork"};
  }

  std::vector<std::string> script = argv;
  script[0] = program.path;
  script.insert(script.begin(), "/bin/sh");
  const std::vector<char*> argv_pointers = pointers(argv);
  const std::vector<char*> script_pointers = pointers(script);
  const std::vector<char*> environment_pointers = pointers(environment);
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  const Plan plan{program.path.c_str(),
                  argv_pointers.data(),
                  script_pointers.data(),
                  environment_pointers.data(),
                  directory.empty() ? nullptr : directory.c_str(),
                  fds,
                  failure_write.get(),
                  ::getpid(),
                  &before};
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::vfork();
  if (pid == 0) run_child(plan);
  const int fork_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return {-1, fork_error, "fork"};

  failure_write.reset();
  Failure failure{};
  ssize_t got = 0;
  do
    got =
        ::read(failure_read.get(), &failure, sizeof failure);  // ends at once: exec closes the pipe
  while (got < 0 && errno == EINTR);
  if (got != sizeof failure) return {pid, 0, ""};

  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return {-1, failure.error, failure.step == 'c' ? "chdir" : failure.step == 'f' ? "fork" : "exec"};
}

}  // namespace culprit
