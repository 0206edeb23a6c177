"""The only code that writes files, takes locks and makes paths: what it promises, the crash tests show.

Read `kernel` (the one seam), then `folder`, `log` and `snapshot` (how bytes become durable), then `lock` (one writer),
then `shelf`, `listing` and `blobs` (what every folder of sessions has, whatever is in the files).
"""
