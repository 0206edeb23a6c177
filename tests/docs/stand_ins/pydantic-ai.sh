# What the agent of the example leaves; the tests of the bridge run the agent itself before the same commands.
segue --store journal:agents new --id trip-7 --agent pydantic-ai --title "How is the weather in Bonn?" > /dev/null
segue --store journal:agents add trip-7 --jsonl > /dev/null <<'TURNS'
{"role": "user", "content": "How is the weather in Bonn?"}
{"role": "assistant", "content": "", "usage": {"input_tokens": 20, "output_tokens": 8}, "parts": [{"type": "tool_call", "id": "call-Bonn", "name": "get_weather", "arguments": {"city": "Bonn"}}]}
{"role": "tool", "content": "In Bonn it is sunny.", "parts": [{"type": "tool_result", "id": "call-Bonn"}]}
{"role": "assistant", "content": "In Bonn it is sunny.", "usage": {"input_tokens": 20, "output_tokens": 8}}
{"role": "user", "content": "And in Ghent?"}
{"role": "assistant", "content": "", "usage": {"input_tokens": 20, "output_tokens": 8}, "parts": [{"type": "tool_call", "id": "call-Ghent", "name": "get_weather", "arguments": {"city": "Ghent"}}]}
{"role": "tool", "content": "In Ghent it is sunny.", "parts": [{"type": "tool_result", "id": "call-Ghent"}]}
{"role": "assistant", "content": "In Ghent it is sunny.", "usage": {"input_tokens": 20, "output_tokens": 8}}
TURNS
