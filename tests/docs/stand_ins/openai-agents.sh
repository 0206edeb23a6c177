# What the agent of the example leaves; the tests of the bridge run the agent itself before the same commands.
segue --store journal:agents new --id user-42-7 --agent openai-agents --title "user/42" > /dev/null
segue --store journal:agents add user-42-7 --jsonl > /dev/null <<'TURNS'
{"role": "user", "content": "What is the weather in Oslo?"}
{"role": "assistant", "content": "", "usage": {"input_tokens": 20, "output_tokens": 8}, "parts": [{"type": "tool_call", "id": "call-1", "name": "transfer_to_forecaster", "arguments": {}}]}
{"role": "tool", "content": "{\"assistant\": \"forecaster\"}", "parts": [{"type": "tool_result", "id": "call-1"}]}
{"role": "assistant", "content": "", "usage": {"input_tokens": 60, "output_tokens": 8}, "parts": [{"type": "tool_call", "id": "call-2", "name": "get_weather", "arguments": {"city": "Oslo"}}]}
{"role": "tool", "content": "In Oslo it is sunny.", "parts": [{"type": "tool_result", "id": "call-2"}]}
{"role": "assistant", "content": "In Oslo it is sunny.", "usage": {"input_tokens": 100, "output_tokens": 8}}
{"role": "user", "content": "And in Lima?"}
{"role": "assistant", "content": "", "usage": {"input_tokens": 140, "output_tokens": 8}, "parts": [{"type": "tool_call", "id": "call-3", "name": "transfer_to_forecaster", "arguments": {}}]}
{"role": "tool", "content": "{\"assistant\": \"forecaster\"}", "parts": [{"type": "tool_result", "id": "call-3"}]}
{"role": "assistant", "content": "", "usage": {"input_tokens": 180, "output_tokens": 8}, "parts": [{"type": "tool_call", "id": "call-4", "name": "get_weather", "arguments": {"city": "Lima"}}]}
{"role": "tool", "content": "In Lima it is sunny.", "parts": [{"type": "tool_result", "id": "call-4"}]}
{"role": "assistant", "content": "In Lima it is sunny.", "usage": {"input_tokens": 220, "output_tokens": 8}}
TURNS
