# What the graph of the example leaves; the tests of the bridge run the graph itself before the same commands.
segue --store journal:agents new --id trip-7 --agent langgraph --title "trip" > /dev/null
segue --store journal:agents add trip-7 --jsonl > /dev/null <<'TURNS'
{"role": "user", "content": "What is the weather in Bern?"}
{"role": "assistant", "content": "", "usage": {"input_tokens": 20, "output_tokens": 8}, "parts": [{"type": "tool_call", "id": "call-1", "name": "get_weather", "arguments": {"city": "Bern"}}]}
{"role": "tool", "content": "In Bern it is sunny.", "parts": [{"type": "tool_result", "id": "call-1"}]}
{"role": "assistant", "content": "In Bern it is sunny.", "usage": {"input_tokens": 20, "output_tokens": 8}}
{"role": "user", "content": "And in Rome?"}
{"role": "assistant", "content": "", "usage": {"input_tokens": 20, "output_tokens": 8}, "parts": [{"type": "tool_call", "id": "call-5", "name": "get_weather", "arguments": {"city": "Rome"}}]}
{"role": "tool", "content": "In Rome it is sunny.", "parts": [{"type": "tool_result", "id": "call-5"}]}
{"role": "assistant", "content": "In Rome it is sunny.", "usage": {"input_tokens": 20, "output_tokens": 8}}
TURNS
segue --store journal:agents fork trip-7 --at 4 --name branch-2 > /dev/null
segue --store journal:agents add trip-7 --jsonl > /dev/null <<'TURNS'
{"role": "user", "content": "And in Oslo?"}
{"role": "assistant", "content": "", "usage": {"input_tokens": 20, "output_tokens": 8}, "parts": [{"type": "tool_call", "id": "call-5", "name": "get_weather", "arguments": {"city": "Oslo"}}]}
{"role": "tool", "content": "In Oslo it is sunny.", "parts": [{"type": "tool_result", "id": "call-5"}]}
{"role": "assistant", "content": "In Oslo it is sunny.", "usage": {"input_tokens": 20, "output_tokens": 8}}
TURNS
