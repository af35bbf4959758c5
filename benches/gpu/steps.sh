# The common parts of scripts that end with one table: each figure beside its limit. To be sourced, by bash.
# OVERTAKE_BIN names the folder of the programs, and OUT the folder of their output.
set -uo pipefail
bin=${OVERTAKE_BIN:+$OVERTAKE_BIN/}
export OUT=${OUT:-$(mktemp -d)} OVERTAKE_BACKEND=${OVERTAKE_BACKEND:-cuda}
rows=()

# step NAME LIMIT_S COMMAND...: a row for the command, and rows for the figures that it prints beside their limits.
step() {
  local name=$1 limit_s=$2 status=0 began=$SECONDS said=$OUT/${1// /-}.txt outcome=holds
  shift 2
  printf '\n$ %s\n' "$*"
  timeout -k 5 "$limit_s" "$@" 2>&1 | tee "$said" || status=${PIPESTATUS[0]}
  case $status in
    0) ;;
    124 | 137) outcome="OUT OF TIME" ;;
    *) outcome="FAILS ($status)" ;;
  esac
  rows+=("$name|$((SECONDS - began)) s|$outcome")
  local line figure
  while IFS= read -r line; do
    case $line in
      *' missed their deadline')
        outcome=
        if [[ $line == dispatcher* || $line == pipeline* ]]; then
          outcome=holds
          [[ $line == *': 0 of '* ]] || outcome='DOES NOT HOLD'
        fi
        rows+=("  ${line%%:*}|${line#*: }|$outcome")
        ;;
      *'(limit '*'): '*)
        figure=$(sed 's/.*: \(.*(limit [^)]*)\): .*/\1/' <<<"$line")
        rows+=("  ${line%: *(limit *}|$figure|${line##*: }")
        ;;
      *'limit '*', goal '*': '*)
        figure=$(sed 's/: [^:]*$//; s/  */ /g' <<<"${line:44}")
        rows+=("  ${line:0:44}|$figure|${line##*: }")
        ;;
    esac
  done <"$said"
}

# program NAME LIMIT_S COMMAND...: as step, if its program is there.
program() {
  if command -v "$3" >/dev/null; then step "$@"; else rows+=("$1|-|left out: there is no $3"); fi
}

# table: prints all rows. Returns 1 if one of them does not hold.
table() {
  printf '\nresults in %s, %s s in all\n\n%-52s | %-40s | %s\n' "$OUT" "$SECONDS" what figure outcome
  local row what figure outcome failed=0
  for row in "${rows[@]}"; do
    IFS='|' read -r what figure outcome <<<"$row"
    printf '%-52s | %-40s | %s\n' "$what" "$figure" "$outcome"
    case $outcome in
      *'NOT HOLD' | ABOVE* | OUT* | FAILS*) failed=1 ;;
    esac
  done
  return $failed
}
