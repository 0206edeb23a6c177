# What the agent of the example leaves; the tests of the bridge run the agent itself before the same commands.
segue --store journal:agents new --id trip-7 --agent strands --title "trip" > /dev/null
segue --store journal:agents fork trip-7 --at 0 --name forecaster > /dev/null
segue --store journal:agents add trip-7 --jsonl > /dev/null <<'TURNS'
{"role": "user", "content": "What is the weather in Oslo?"}
{"role": "assistant", "content": "", "usage": {"input_tokens": 20, "output_tokens": 8}, "parts": [{"type": "tool_call", "id": "call-Oslo", "name": "get_weather", "arguments": {"city": "Oslo"}}]}
{"role": "tool", "content": "In Oslo it is sunny.", "parts": [{"type": "tool_result", "id": "call-Oslo"}]}
{"role": "assistant", "content": "In Oslo it is sunny.", "usage": {"input_tokens": 20, "output_tokens": 8}}
{"role": "user", "content": "And in Rome?"}
{"role": "assistant", "content": "", "usage": {"input_tokens": 20, "output_tokens": 8}, "parts": [{"type": "tool_call", "id": "call-Rome", "name": "get_weather", "arguments": {"city": "Rome"}}]}
{"role": "tool", "content": "In Rome it is sunny.", "parts": [{"type": "tool_result", "id": "call-Rome"}]}
{"role": "assistant", "content": "In Rome it is sunny.", "usage": {"input_tokens": 20, "output_tokens": 8}}
TURNS
