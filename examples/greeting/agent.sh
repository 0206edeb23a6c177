#!/bin/sh
# An agent as small as can be: it reads its prompt, does its story, and says so. It always misspells at first.
set -eu
prompt=$(cat)

case $RALPH_STORY in
1)
    word=Helo
    case $prompt in *'What failed last time'*) word=Hello ;; esac
    printf 'echo "%s, ${1:-world}!"\n' "$word" >greet.sh
    echo "I wrote greet.sh."
    $RALPHTOOL agent task done 1.1 >/dev/null
    $RALPHTOOL agent task done 1.2 >/dev/null
    $RALPHTOOL agent learn 'The shell has defaults: ${1:-world}' --task 1.2 >/dev/null
    ;;
2)
    printf '# Greeting\n\n    sh greet.sh Ada\n' >GREETING.md
    echo "I wrote GREETING.md."
    $RALPHTOOL agent task done 2.1 >/dev/null
    $RALPHTOOL agent pattern 'Pages' 'Begin with an example' >/dev/null
    ;;
esac
