"""gptel's dialect: `segue gptel`, over session folders that people edit in Emacs.

Read `paths` (from paths to sessions), `branch_files` (what the files of a branch contain), `opening`, then
`lifecycle`.
"""
