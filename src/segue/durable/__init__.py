"""The only code that writes files, takes locks and makes paths: what it promises, the crash tests show.

Read `kernel` (the one seam), then `folder` and `log` (how bytes become durable), then `lock` (one writer).
"""
