# What the agent of the example leaves; the tests of the bridge run the agent itself before the same commands.
id=$(segue new --store journal:agents --agent claude-agent-sdk --title "How is the weather in Bonn?")
segue add --store journal:agents "$id" --jsonl > /dev/null <<'TURNS'
{"role": "user", "content": "How is the weather in Bonn?"}
{"role": "assistant", "content": "", "parts": [{"type": "tool_call", "id": "1", "name": "mcp__weather__get_weather", "arguments": {"city": "Bonn"}}]}
{"role": "tool", "content": "In Bonn it is sunny.", "parts": [{"type": "tool_result", "id": "1"}]}
{"role": "assistant", "content": "In Bonn it is sunny.", "usage": {"input_tokens": 20, "output_tokens": 8}}
{"role": "user", "content": "And in Ghent?"}
{"role": "assistant", "content": "", "parts": [{"type": "tool_call", "id": "2", "name": "mcp__weather__get_weather", "arguments": {"city": "Ghent"}}]}
{"role": "tool", "content": "In Ghent it is sunny.", "parts": [{"type": "tool_result", "id": "2"}]}
{"role": "assistant", "content": "In Ghent it is sunny.", "usage": {"input_tokens": 20, "output_tokens": 8}}
TURNS
