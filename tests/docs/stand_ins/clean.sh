# A session of 2020, and one of today.
sessions="$HOME/.local/state/segue/sessions"
mkdir -p "$sessions"
echo '{"type":"metadata","session_id":"old","agent":"qa","created_at":"2020-01-01T00:00:00Z"}' > "$sessions/old.jsonl"
touch -d 2020-01-01 "$sessions/old.jsonl"
segue new --id today > /dev/null
