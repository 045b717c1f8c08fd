#!/usr/bin/env bash
# culprit run --from: bad scripts and sizes that are not known end with 2, a reason, and nothing written.
#   launch_input_test.sh CULPRIT_BINARY
set -u
culprit=$1
folder=$(mktemp -d)
trap 'chmod -R u+rwx "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
failed=0

# NAME, what stderr must hold; the flags after it are handed on.
refused() {
  local name=$1 wanted=$2 status
  shift 2
  "$culprit" run --from "$name" --out out "$@" >stdout.txt 2>stderr.txt
  status=$?
  if [ "$status" != 2 ] || ! grep -qF -- "$wanted" stderr.txt || [ -e out ] || [ -s stdout.txt ]; then
    printf 'FAILED %s %s: exit status %s, expected 2 and "%s"; stderr:\n' "$name" "$*" "$status" "$wanted"
    cat -v stderr.txt
    failed=1
    rm -rf out
  fi
  if LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f]' stderr.txt; then
    printf 'FAILED %s: a control character reaches the terminal\n' "$name"
    failed=1
  fi
}

launch='torchrun --nproc_per_node 2 a.py'
printf 'a\n%s "x\n' "$launch" >quote.sh
printf '\177ELF\0\0' >binary.sh
printf 'a\n\0b\n' >nul.sh
: >empty.sh
head -c 2097152 /dev/zero | tr '\0' '#' >huge.sh
{ printf '%s ' "$launch"; head -c 1000000 /dev/zero | tr '\0' 'y'; printf '\n'; } >long.sh
{ for i in $(seq 2000); do printf 'if true; then '; done; printf '%s\n' "$launch"; for i in $(seq 2000); do printf 'fi\n'; done; } >deep.sh
printf 'A=$A\nA=$A$A\n%s \\\n --tensor_parallel_degree $A\n' "$launch" >self.sh
printf 'f() { f; }\nf\n' >calls_itself.sh
printf "%s --tensor_parallel_degree \$'\\\\x1b[2J'\n" "$launch" >control.sh
printf '%s --tensor_parallel_degree 2 --tensor_parallel_degree 4\n' "$launch" >twice.sh
printf 'bash ./other.sh\n' >other.sh
mkdir folder.sh
ln -s loop.sh loop.sh
mkfifo fifo.sh

refused quote.sh 'line 2: unterminated double quote'
refused binary.sh 'line 1: a NUL byte'
refused nul.sh 'line 2: a NUL byte'
refused empty.sh 'is empty'
refused huge.sh 'is larger than 1048576 bytes'
refused long.sh 'line 1: a value of more than 262144 bytes'
refused deep.sh 'nests deeper than 100 levels'
refused calls_itself.sh 'commands nest too deep'
refused control.sh 'line 1: --tensor_parallel_degree \x1B[2J: expected a whole number'
refused twice.sh 'contradicts'
refused other.sh 'line 1 runs another script, which is not followed: ./other.sh'
refused folder.sh 'is a folder'
refused loop.sh 'no such file'
refused fifo.sh 'not a regular file'
refused none.sh 'no such file'
refused '' 'got an empty value'
if [ "$(id -u)" != 0 ]; then
  printf '%s --tensor_parallel_degree 2\n' "$launch" >secret.sh
  chmod 000 secret.sh
  refused secret.sh "can't be read"
fi
# A size that the script does not say is not guessed, and one that it says is not overruled.
refused self.sh "--tensor_parallel_degree (line 4) is not known"
refused self.sh 'say it with --tp N'
printf '%s --tensor_parallel_degree 2\r\n' "$launch" >known.sh
refused known.sh 'leave the flag out' --tp 2

# Windows line ends, no final newline, and a size from the command line: read.
printf '%s \\\r\n  --tensor_parallel_degree 2' "$launch" >crlf.sh
for arguments in 'crlf.sh' 'self.sh --tp 2'; do
  if ! "$culprit" run --from $arguments --out out >stdout.txt 2>stderr.txt; then
    printf 'FAILED --from %s:\n' "$arguments"
    cat stderr.txt
    failed=1
  fi
  rm -rf out
done
exit "$failed"
