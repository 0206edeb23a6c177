"""The gptel dialect: `segue gptel`, for sessions in folders of files that users edit in Emacs.

Read `paths` (from a path to its session and branch), `branch_files` (what the files of a branch contain),
`branch_details` (all that an editor needs), then `lifecycle` (create, save, branch, migrate).
"""
