"""What the formats of all integrations share. All of it is pure.

Read `transcript` (what a reader builds), then `outgoing` (what a writer gets), then the folder of an integration.
"""
