"""The only code that writes files, takes locks and makes paths. The crash tests show that it keeps its promises.

Read `kernel` (every system call), then `folder`, `log` and `snapshot` (how bytes become durable), then `lock` (one
writer), then `file_store`, `head_cache`, `trash` and `blobs` (what every folder of sessions has, in any format).
"""
